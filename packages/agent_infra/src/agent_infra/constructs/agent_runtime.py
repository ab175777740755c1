"""The runtime and the endpoint that callers are given. Neither costs anything while nobody talks to it.

A change of the runtime makes a new version of it; the endpoint is moved to that version by the same deployment, and not
before the version is ready. AgentCore checks at creation that the role can pull the image, so the policies come first.
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_bedrockagentcore as agentcore
from aws_cdk import aws_logs as logs
from constructs import Construct, IDependable

from agent_infra.constructs.egress_network import EgressNetwork
from agent_infra.names import ENDPOINT, Names
from agent_infra.options import AgentOptions
from agent_infra.release import Release

_Runtime = agentcore.CfnRuntime
_TRACED = {
    "AGENT_OBSERVABILITY_ENABLED": "true",
    "OTEL_PYTHON_DISTRO": "aws_distro",
    "OTEL_PYTHON_CONFIGURATOR": "aws_configurator",
    "OTEL_TRACES_EXPORTER": "otlp",
    "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
    "OTEL_LOGS_EXPORTER": "none",
    "OTEL_METRICS_EXPORTER": "none",
}
"""What has the container start under AWS's distribution of OpenTelemetry, and send spans to X-Ray."""


class AgentRuntime(Construct):
    """`runtime_arn` is what a caller names, with the endpoint's name as qualifier."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        names: Names,
        release: Release,
        image_uri: str,
        role_arn: str,
        network: EgressNetwork | None,
        after: IDependable,
    ) -> None:
        super().__init__(scope, id)
        options = release.options
        runtime = _Runtime(
            self,
            "Runtime",
            agent_runtime_name=names.runtime,
            description=f"{names.deployment}: {options.bedrock_model_id} speaks with {release.voice.endpoint_name}"[
                :1200
            ],
            role_arn=role_arn,
            agent_runtime_artifact=_Runtime.AgentRuntimeArtifactProperty(
                container_configuration=_Runtime.ContainerConfigurationProperty(container_uri=image_uri)
            ),
            network_configuration=_network(network),
            protocol_configuration="HTTP",
            lifecycle_configuration=_Runtime.LifecycleConfigurationProperty(
                idle_runtime_session_timeout=options.idle_s, max_lifetime=options.life_s
            ),
            environment_variables=_environment(release, names, cdk.Stack.of(self).region),
            request_header_configuration=_Runtime.RequestHeaderConfigurationProperty(
                request_header_allowlist=list(options.headers)
            )
            if options.headers
            else None,
            authorizer_configuration=_authoriser(options),
        )
        runtime.node.add_dependency(after)
        # AgentCore would make the group itself, when the endpoint is first called, and keep its lines for ever.
        group = logs.LogGroup(
            self,
            "Log",
            log_group_name=f"/aws/bedrock-agentcore/runtimes/{runtime.attr_agent_runtime_id}-{ENDPOINT}",
            removal_policy=cdk.RemovalPolicy.RETAIN,
        )
        resource = group.node.default_child
        assert isinstance(resource, logs.CfnLogGroup)  # noqa: S101 - narrows the type; CDK gives no other
        resource.retention_in_days = options.log_days
        self.endpoint = agentcore.CfnRuntimeEndpoint(
            self,
            "Endpoint",
            agent_runtime_id=runtime.attr_agent_runtime_id,
            agent_runtime_version=runtime.attr_agent_runtime_version,
            name=ENDPOINT,
            description=f"what callers of {names.deployment} are given",
        )
        self.endpoint.node.add_dependency(group)
        self.runtime_arn = runtime.attr_agent_runtime_arn
        self.version = runtime.attr_agent_runtime_version


def _environment(release: Release, names: Names, region: str) -> dict[str, str]:
    traced = _TRACED | {"OTEL_SERVICE_NAME": names.deployment} if release.options.use_transaction_search else {}
    return (
        release.options.settings
        | traced
        | {
            "AWS_REGION": region,
            "AWS_DEFAULT_REGION": region,
            "BEDROCK_MODEL_ID": release.options.bedrock_model_id,
            "SPEECH_ENDPOINT_NAME": release.voice.endpoint_name,
        }
    )


def _network(network: EgressNetwork | None) -> agentcore.CfnRuntime.NetworkConfigurationProperty:
    if network is None:
        return _Runtime.NetworkConfigurationProperty(network_mode="PUBLIC")
    return _Runtime.NetworkConfigurationProperty(
        network_mode="VPC",
        network_mode_config=_Runtime.VpcConfigProperty(
            subnets=network.subnet_ids, security_groups=network.security_group_ids
        ),
    )


def _authoriser(options: AgentOptions) -> agentcore.CfnRuntime.AuthorizerConfigurationProperty | None:
    if options.jwt_discovery is None:
        return None
    return _Runtime.AuthorizerConfigurationProperty(
        custom_jwt_authorizer=_Runtime.CustomJWTAuthorizerConfigurationProperty(
            discovery_url=options.jwt_discovery,
            allowed_clients=list(options.jwt_clients) or None,
            allowed_audience=list(options.jwt_audiences) or None,
        )
    )
