"""What the agent may ask of Bedrock and SageMaker: its model, and its voice, and nothing else of either.

The policy's id holds what it allows. Another model or voice makes another policy: it is there before the runtime's new
version needs it, and the old one goes after the old version has, so that an update never leaves an agent without its
model.
"""

from __future__ import annotations

import hashlib

from aws_cdk import aws_iam as iam
from constructs import Construct
from infra_common.constructs.statements import allow

from agent_infra.model_access import ModelAccess
from agent_infra.voice import Voice

_ASK = ["bedrock:InvokeModelWithResponseStream"]
"""What ConverseStream needs; the agent never asks for a whole answer."""
_SPEAK = ["sagemaker:InvokeEndpointWithBidirectionalStream", "sagemaker:InvokeEndpointWithResponseStream"]


def permissions(scope: Construct, model: ModelAccess, voice: Voice, role: iam.IRole) -> iam.Policy:
    """Attached to `role`."""
    statements = [allow("Speak", _SPEAK, [voice.endpoint_arn])]
    if model.profile_arn is None:
        statements.append(allow("Write", _ASK, list(model.model_arns)))
    else:
        through = {"StringEquals": {"bedrock:InferenceProfileArn": model.profile_arn}}
        statements += [
            allow("WriteThroughProfile", _ASK, [model.profile_arn]),
            allow("WriteWithItsModels", _ASK, list(model.model_arns), through),
        ]
    what = "\0".join((voice.endpoint_arn, model.profile_arn or "", *model.model_arns))
    policy = iam.Policy(
        scope, f"May{hashlib.sha256(what.encode()).hexdigest()[:8]}", roles=[role], statements=statements
    )
    resource = policy.node.default_child
    assert isinstance(resource, iam.CfnPolicy)  # noqa: S101 - narrows the type; CDK gives no other
    # cfn-lint's list of actions is older than the bidirectional one.
    resource.add_metadata("cfn-lint", {"config": {"ignore_checks": ["W3037"]}})
    return policy
