"""What lasts: where weights and images lie, and the role that may read them. Cheap, and kept when the rest goes."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
from constructs import Construct
from infra_common.constructs.image_repository import image_repository

from speech_infra.constructs.encryption_key import encryption_key
from speech_infra.constructs.execution_role import ExecutionRole
from speech_infra.constructs.weights_store import WeightsStore
from speech_infra.names import Names
from speech_infra.options import EndpointOptions


class FoundationStack(cdk.Stack):
    """Attributes are what the endpoint's stack names."""

    def __init__(self, scope: Construct, names: Names, options: EndpointOptions, **settings: Any) -> None:
        super().__init__(scope, names.foundation_stack, **settings)
        self.key = encryption_key(self, names, options)
        self.weights = WeightsStore(self, "Store", names, self.key)
        self.repository = image_repository(self, names.repository, self.key)
        self.execution = ExecutionRole(
            self,
            "Execution",
            names=names,
            bucket=self.weights.bucket,
            repository=self.repository,
            key=self.key,
            in_vpc=options.use_vpc,
        )
        cdk.CfnOutput(self, "WeightsBucket", value=self.weights.bucket.bucket_name)
        cdk.CfnOutput(self, "Repository", value=self.repository.repository_name)
        cdk.CfnOutput(self, "ExecutionRoleArn", value=self.execution.role.role_arn)
