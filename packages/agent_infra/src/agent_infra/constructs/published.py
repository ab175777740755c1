"""SSM parameters: where the agent is, what is released, and, beneath its voice, that somebody uses it.

The last is how `speech-infra destroy` knows that it would take an agent's voice away. Standard parameters are free.
"""

from __future__ import annotations

from aws_cdk import aws_ssm as ssm
from constructs import Construct, IDependable
from infra_common.endpoint_parameters import EndpointParameters, EndpointUser

from agent_infra.names import Names
from agent_infra.plan import Plan


class Published(Construct):
    """Written after the endpoint is where it should be, so that they never promise what is not there."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        names: Names,
        plan: Plan,
        runtime_arn: str,
        after: IDependable,
    ) -> None:
        super().__init__(scope, id)
        user = EndpointUser("agent", names.deployment, plan.removal)
        voice = EndpointParameters(names.stage, plan.release.options.speech_model)
        for key, name, value, what in (
            ("RuntimeArn", names.runtime_parameter, runtime_arn, "what a caller of the agent names"),
            ("Release", names.release_parameter, plan.release.render(), "what is live; its versions are the history"),
            ("User", voice.user(names.deployment), user.render(), "an agent that speaks with this endpoint"),
        ):
            parameter = ssm.StringParameter(self, key, parameter_name=name, string_value=value, description=what)
            parameter.node.add_dependency(after)
