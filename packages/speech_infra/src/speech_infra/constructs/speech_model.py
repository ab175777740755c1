"""Model and endpoint configuration: which image with which weights on which machine. They cost nothing by themselves.

Both get generated names, because SageMaker never changes them: another image or other weights make new ones, and the
old are deleted once the endpoint has moved.
"""

from __future__ import annotations

from aws_cdk import aws_kms as kms
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct, IDependable

from speech_infra.catalogue import SpeechModel
from speech_infra.names import VARIANT
from speech_infra.release import Release

START_UP_S = 600
"""Weights are read, the GPU is warmed up and a sentence is spoken before /ping says 200."""
DOWNLOAD_S = 600


class HostedModel(Construct):
    """`config_name` is what an endpoint names."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        model: SpeechModel,
        release: Release,
        image_uri: str,
        weights_uri: str,
        role_arn: str,
        key: kms.IKey | None = None,
        network: sagemaker.CfnModel.VpcConfigProperty | None = None,
        after: IDependable | None = None,
    ) -> None:
        super().__init__(scope, id)
        options = release.options
        hosted = sagemaker.CfnModel(
            self,
            "Model",
            execution_role_arn=role_arn,
            enable_network_isolation=True,
            vpc_config=network,
            primary_container=sagemaker.CfnModel.ContainerDefinitionProperty(
                image=image_uri,
                environment={
                    "SPEECH_ENGINE": model.engine,
                    "SPEECH_HOST": "0.0.0.0",  # noqa: S104 - inside the container; SageMaker asks it there
                    "SPEECH_METRICS": "emf",
                    "SPEECH_WEIGHTS": "/opt/ml/model",
                },
                model_data_source=sagemaker.CfnModel.ModelDataSourceProperty(
                    s3_data_source=sagemaker.CfnModel.S3DataSourceProperty(
                        s3_uri=weights_uri, s3_data_type="S3Prefix", compression_type="None"
                    )
                ),
            ),
        )
        if after is not None:
            hosted.node.add_dependency(after)
        self.config = sagemaker.CfnEndpointConfig(
            self,
            "Config",
            kms_key_id=key.key_arn if key and _has_block_storage(options.instance_type) else None,
            production_variants=[
                sagemaker.CfnEndpointConfig.ProductionVariantProperty(
                    variant_name=VARIANT,
                    model_name=hosted.attr_model_name,
                    instance_type=options.instance_type,
                    initial_instance_count=options.instances,
                    initial_variant_weight=1.0,
                    container_startup_health_check_timeout_in_seconds=START_UP_S,
                    model_data_download_timeout_in_seconds=DOWNLOAD_S,
                    inference_ami_version=model.gpu_machine_image,
                    routing_config=sagemaker.CfnEndpointConfig.RoutingConfigProperty(
                        routing_strategy="LEAST_OUTSTANDING_REQUESTS"
                    ),
                )
            ],
        )
        self.config_name = self.config.attr_endpoint_config_name


def _has_block_storage(instance_type: str) -> bool:
    """SageMaker refuses a KMS key for families with local NVMe disks, which encrypt by themselves (API: KmsKeyId)."""
    family = instance_type.split(".")[1]
    return not (family.startswith(("g4dn", "g5", "g6")) or family.endswith("d"))
