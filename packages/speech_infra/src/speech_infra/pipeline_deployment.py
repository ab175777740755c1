"""The roles of a pipeline into the account: template, the pinned CDK command, and words where it fails."""

from __future__ import annotations

from typing import Any

from infra_common.assembly import Assembly, synthesise
from infra_common.aws_errors import explained
from infra_common.checks import require_passed, run_checks
from infra_common.errors import NotOurs
from infra_common.failure import COMMON_CAUSES, explain
from infra_common.preflight import account_checks, tool_checks
from infra_common.stack_deployment import Deployed, StackDeployment

from speech_infra.pipeline import COMPONENT, Pipeline, owner_of
from speech_infra.target import Target


def make_assembly(target: Target, pipeline: Pipeline) -> Assembly:
    """The template. CDK is imported here. Raises OutcomeError where a house rule is broken."""

    def build(into: Any) -> Any:
        from speech_infra.app import build_pipeline

        return build_pipeline(pipeline, into)

    with target.console.step("make the template"):
        return synthesise(build, target.assembly_directory.with_name(f"speech-{pipeline.names.stage}-{COMPONENT}"))


def deploy_roles(target: Target, pipeline: Pipeline) -> Deployed:
    """Bring the stack to what `pipeline` says. Raises CheckFailed, NotOurs, DeploymentFailed."""
    with target.console.step("doctor") as say:
        planned = [*account_checks(target.session, "sagemaker", "SageMaker"), *tool_checks(target.root)]
        require_passed(run_checks(planned, explained, lambda each: say(f"{each.id}: {each.finding.result}")))
    state = target.stack(pipeline.stack)
    if state is not None and not owner_of(target.stage).owns(state.tags):
        raise NotOurs(
            f"stack {pipeline.stack} does not carry the tags of stage {target.stage}: somebody else made it",
            fix="choose another --stage",
        )
    target.install_cdk()
    again = f"speech-infra pipeline deploy --stage {target.stage} --repository {pipeline.repository}"
    deployment = StackDeployment(
        cloudformation=target.cloudformation,
        cdk=target.cdk,
        console=target.console,
        explain=lambda events: explain(events, COMMON_CAUSES, lambda _event: (), again),
    )
    return deployment.deploy(make_assembly(target, pipeline), pipeline.stack)
