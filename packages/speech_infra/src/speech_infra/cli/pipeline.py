"""Verbs for who may deploy from GitHub: pipeline synth|deploy|destroy."""

from __future__ import annotations

from typing import Annotated

import typer

from speech_infra.cli.situation import DEFAULT_MODEL, Situation, situated

app = typer.Typer(no_args_is_help=True, help="The roles with which GitHub's workflows deploy a stage, without a key.")
RepositoryOption = Annotated[
    str, typer.Option(help="owner/name, or owner@id/name@id where token subjects have numbers.", metavar="REPOSITORY")
]
EnvironmentOption = Annotated[
    str, typer.Option(help="The GitHub environment whose jobs deploy.", metavar="NAME", show_default=True)
]


@app.command("synth", epilog="Example: speech-infra pipeline synth --repository example/voice")
@situated
def pipeline_synth(
    *, here: Situation, repository: RepositoryOption, environment: EnvironmentOption = "production"
) -> None:
    """Make the template of the roles, without credentials."""
    from infra_common.deployment_target import PLACEHOLDER_ACCOUNT, PLACEHOLDER_REGION

    from speech_infra.names import Names
    from speech_infra.pipeline import Pipeline
    from speech_infra.pipeline_deployment import make_assembly

    names = Names(here.stage, DEFAULT_MODEL, PLACEHOLDER_ACCOUNT, here.region or PLACEHOLDER_REGION)
    pipeline = Pipeline(names, repository, environment)
    assembly = make_assembly(here.target(DEFAULT_MODEL), pipeline)
    path = assembly.directory / f"{pipeline.stack}.template.json"
    here.console.result({"directory": str(assembly.directory), "stacks": assembly.stacks})
    here.console.line(str(path))


@app.command("deploy", epilog="Example: speech-infra pipeline deploy --repository example/voice --stage prod")
@situated
def pipeline_deploy(
    *, here: Situation, repository: RepositoryOption, environment: EnvironmentOption = "production"
) -> None:
    """Make the roles, or bring them up to date, and say what the repository's variables must be.

    Whoever can change a workflow of that environment can deploy this stage: protect the environment in GitHub.
    """
    from speech_infra.pipeline import Pipeline, must_make_provider
    from speech_infra.pipeline_deployment import deploy_roles

    target = here.target(DEFAULT_MODEL)
    Pipeline(target.names, repository, environment)  # refused before AWS is asked anything more
    makes = must_make_provider(target.client("iam"), target.cloudformation, here.stage)
    done = deploy_roles(target, Pipeline(target.names, repository, environment, makes))
    variables = _variables(done.state.outputs, target.session.region, here.stage)
    here.console.result({"changed": done.has_changed, "variables": variables, "environment": environment})
    here.console.line("Set these as variables of the repository:")
    for name, value in variables.items():
        here.console.line(f"  gh variable set {name} --body {value}")


@app.command("destroy", epilog="Example: speech-infra pipeline destroy --stage prod")
@situated
def pipeline_destroy(*, here: Situation) -> None:
    """Take the roles away. GitHub's provider stays, which costs nothing and others may use."""
    from infra_common.stack_removal import remove_stack

    from speech_infra.pipeline import owner_of, stack_of

    target = here.target(DEFAULT_MODEL)
    stack = stack_of(here.stage)
    here.console.confirm(f"Delete {stack}? No workflow can deploy stage {here.stage} after that.", stack)
    was_there = remove_stack(target.cloudformation, stack, owner_of(here.stage), here.console)
    here.console.result({"deleted": [stack] if was_there else []})
    here.console.line(f"Deleted: {stack}" if was_there else "There was no stack to delete.")


def _variables(outputs: dict[str, str], region: str, stage: str) -> dict[str, str]:
    return {
        "AWS_DEPLOY_ROLE_ARN": outputs["DeployRoleArn"],
        "AWS_DIFF_ROLE_ARN": outputs["DiffRoleArn"],
        "AWS_REGION": region,
        "SPEECH_STAGE": stage,
    }
