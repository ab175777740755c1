"""Everything that can be known before anything is made: can this deployment work, and if not, which command helps."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from infra_common.aws_errors import code_of
from infra_common.checks import Check, Finding, failed, ok, warning
from infra_common.container_engine import ContainerEngine
from infra_common.image_recipe import ImageRecipe
from infra_common.preflight import account_checks, disk_check, engine_checks, package_check, tool_checks
from infra_common.resource_tags import bucket_tags, repository_tags, require_ours

from agent_infra.data_plane import voice_transport
from agent_infra.image_build import Builder
from agent_infra.images import PLATFORM
from agent_infra.model_access import is_profile, profile_for
from agent_infra.options import AgentOptions
from agent_infra.target import Target
from agent_infra.voice import published_voice, speech_command

PACKAGES: Final = {"aws-cdk-lib": "2.275.0", "boto3": "1.42", "aws-sdk-sagemaker-runtime-http2": "0.12.0"}
_IMAGE_BYTES: Final = 1_500_000_000
"""A build's layers and its context."""
_WORD: Final = "Hello"


def checks(
    target: Target, options: AgentOptions, recipe: ImageRecipe | None, engine: ContainerEngine, builder: Builder
) -> list[Check]:
    """In the order in which a person would look. `recipe` None: an image that is there is used."""

    def image_is_there() -> bool:
        return recipe is None or target.images.find(recipe.content_tag()) is not None

    def names() -> Finding:
        _require_ours(target)
        return ok(f"stage {target.stage}: nothing of somebody else's is in the way")

    reachable = ("identity", "region")
    build = (
        engine_checks(engine, PLATFORM, image_is_there, "add --builder codebuild, which builds on ARM in the account")
        if builder == "docker"
        else [Check("codebuild", lambda: _codebuild(target), needs=reachable)]
    )
    return [
        *account_checks(target.session, "bedrock-agentcore-control", "AgentCore"),
        Check("agentcore", lambda: _agentcore(target), needs=reachable),
        Check("voice", lambda: _voice(target, options), needs=reachable),
        Check("protocol", lambda: _protocol(target, options), needs=("voice",)),
        Check("model", lambda: _model(target, options), needs=reachable),
        Check("answer", lambda: _answer(target, options), needs=("model",)),
        Check("names", names, needs=reachable),
        *build,
        *tool_checks(target.root),
        package_check(PACKAGES),
        disk_check(target.root, _IMAGE_BYTES, "an image build"),
    ]


def _agentcore(target: Target) -> Finding:
    from botocore.exceptions import EndpointConnectionError

    try:
        target.client("bedrock-agentcore-control").list_agent_runtimes(maxResults=1)
    except EndpointConnectionError:
        return failed(
            f"AgentCore does not answer in {target.session.region}: not offered there, or the network is in the way",
            "add --region with one that has it, e.g. us-east-1",
        )
    return ok(f"AgentCore answers in {target.session.region}")


def _voice(target: Target, options: AgentOptions) -> Finding:
    model, stage = options.speech_model, target.stage
    voice = published_voice(target.client("ssm"), stage, model, target.session.region)
    sagemaker = target.client("sagemaker")
    try:
        status = sagemaker.describe_endpoint(EndpointName=voice.endpoint_name)["EndpointStatus"]
    except sagemaker.exceptions.ClientError as error:
        if code_of(error) != "ValidationException":  # SageMaker's word for "could not find"
            raise
        return failed(f"{voice.endpoint_name} is paused: there is no endpoint", speech_command("resume", stage, model))
    if status == "Updating":
        return ok(f"{voice.endpoint_name} is InService while it is updated")
    if status != "InService":
        return failed(f"{voice.endpoint_name} is {status}", speech_command("status", stage, model))
    return ok(f"{voice.endpoint_name} is InService")


def _protocol(target: Target, options: AgentOptions) -> Finding:
    from speech_client import SpeechError, SpeechSession
    from speech_protocol import PROTOCOL_VERSION

    model, stage = options.speech_model, target.stage
    voice = published_voice(target.client("ssm"), stage, model, target.session.region)

    async def greeted() -> str:
        async with SpeechSession.connect(voice_transport(target, voice.endpoint_name)) as session:
            return session.capabilities.protocol_version

    try:
        theirs = asyncio.run(greeted())
    except SpeechError as error:
        return failed(f"{voice.endpoint_name} does not answer: {error}", speech_command("smoke-test", stage, model))
    if _major(theirs) != _major(PROTOCOL_VERSION):
        return failed(
            f"{voice.endpoint_name} speaks protocol {theirs}, the agent {PROTOCOL_VERSION}",
            f"{speech_command('deploy', stage, model)}   (from the same version of this project as the agent)",
        )
    return ok(f"{voice.endpoint_name} speaks protocol {theirs}")


def _model(target: Target, options: AgentOptions) -> Finding:
    model_id, region = options.bedrock_model_id, target.session.region
    bedrock = target.client("bedrock")
    try:
        if is_profile(model_id):
            found = target.profiles.look_up(model_id, region, lambda: bedrock)
            return ok(f"{model_id} sends requests to {', '.join(found.regions)}")
        details = bedrock.get_foundation_model(modelIdentifier=model_id)["modelDetails"]
    except bedrock.exceptions.ClientError as error:
        if code_of(error) not in {"ResourceNotFoundException", "ValidationException"}:
            raise
        what = "inference profile" if is_profile(model_id) else "model"
        command = "list-inference-profiles" if is_profile(model_id) else "list-foundation-models"
        return failed(f"Bedrock has no {what} {model_id} in {region}", f"aws bedrock {command} --region {region}")
    if "ON_DEMAND" not in details.get("inferenceTypesSupported", ["ON_DEMAND"]):
        return _needs_profile(model_id, region)
    if not details.get("responseStreamingSupported", True):
        return failed(f"{model_id} cannot stream its answers", "choose a model that can")
    return ok(f"{model_id} answers in {region}")


def _answer(target: Target, options: AgentOptions) -> Finding:
    """One token: access, quota and region are only known once somebody asks."""
    model_id, region = options.bedrock_model_id, target.session.region
    runtime = target.client("bedrock-runtime")
    try:
        runtime.converse(
            modelId=model_id,
            messages=[{"role": "user", "content": [{"text": _WORD}]}],
            inferenceConfig={"maxTokens": 1},
        )
    except runtime.exceptions.ClientError as error:
        return _refusal(error, model_id, region)
    return ok(f"{model_id} has answered with a token")


def _refusal(error: Any, model_id: str, region: str) -> Finding:
    message = str(error.response["Error"].get("Message", "")).strip()
    match code_of(error):
        case "AccessDeniedException":
            return failed(
                f"these credentials may not ask {model_id}: {message}",
                f"ask for access to the model in Bedrock's console, region {region}, and for bedrock:InvokeModel",
            )
        case "ValidationException" if "on-demand throughput" in message:
            return _needs_profile(model_id, region)
        case "ThrottlingException" | "ServiceUnavailableException" | "ModelNotReadyException":
            return warning(f"{model_id} is busy: {message}", "try again in a minute; the agent retries by itself")
        case "ResourceNotFoundException" | "ValidationException":
            return failed(f"Bedrock cannot ask {model_id} in {region}: {message}", "choose another --bedrock-model-id")
        case _:
            raise error


def _needs_profile(model_id: str, region: str) -> Finding:
    return failed(
        f"{model_id} cannot be asked by its plain id: it is there through inference profiles only",
        f"--bedrock-model-id {profile_for(model_id, region)}   (or another of "
        f"`aws bedrock list-inference-profiles --region {region}`)",
    )


def _codebuild(target: Target) -> Finding:
    target.client("codebuild").batch_get_projects(names=[target.names.builder])
    return ok("CodeBuild answers; it builds for linux/arm64")


def _require_ours(target: Target) -> None:
    names = target.names
    stacks = {f"stack {name}": target.stack(name) for name in names.stacks}
    require_ours(
        {
            f"repository {names.repository}": repository_tags(target.client("ecr"), names.repository),
            f"bucket {names.source_bucket}": bucket_tags(target.client("s3"), names.source_bucket),
        }
        | {what: None if state is None else state.tags for what, state in stacks.items()},
        target.owner,
    )


def _major(version: str) -> str:
    return version.partition(".")[0]
