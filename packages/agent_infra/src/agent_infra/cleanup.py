"""`cleanup`: what an agent's deployment has left in the account, found by asking AWS, from any machine.

Everything of ours is under names that follow from stage and agent, and carries our tags; log groups go by name alone,
since AgentCore makes some of them. A name begins with the runtime's, which is this agent's in this stage and no
other's.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from infra_common.console import Console
from infra_common.kept_resources import KeptResources
from infra_common.leftovers import Leftover
from infra_common.resource_tags import bucket_tags
from infra_common.session import AwsSession

from agent_infra.target import DEFAULT_AGENT, Target


def leftovers_of(target: Target) -> list[Leftover]:
    """Of one agent in one stage. Raises what botocore raises."""
    names = target.names
    kept = KeptResources(target, target.owner, target.command("destroy"), target.command("cleanup", "--purge"))
    return [
        *kept.stacks(names.stacks, partial(_destroy, target)),
        *_orphans(target),
        *kept.bucket(names.source_bucket, "sources of images, which go after a day"),
        *kept.repository(names.repository),
        *kept.log_groups(names.log_group_prefix, lambda _: True, "what the agent said stays to be read"),
    ]


def leftovers_of_stage(stage: str, session: AwsSession, console: Console) -> list[Leftover]:
    """Of every agent whose foundation or repository is in the stage, found by name."""
    return [
        each for agent in agents_of(stage, session) for each in leftovers_of(Target.of(agent, stage, session, console))
    ]


def agents_of(stage: str, session: AwsSession) -> list[str]:
    """Names of agents that have a repository in the stage, and the usual one, which may have left only logs."""
    prefix = f"agent/{stage}/"
    pages = session.client("ecr").get_paginator("describe_repositories").paginate()
    names = {each["repositoryName"] for page in pages for each in page["repositories"]}
    found = {name.removeprefix(prefix) for name in names if name.startswith(prefix)}
    return sorted(found | {DEFAULT_AGENT})


def log_groups_of(target: Target) -> list[str]:
    """The runtime's log groups, ours and those that AgentCore has made."""
    pages = target.client("logs").get_paginator("describe_log_groups")
    return [
        group["logGroupName"]
        for page in pages.paginate(logGroupNamePrefix=target.names.log_group_prefix)
        for group in page["logGroups"]
    ]


def empty_source_bucket(target: Target) -> None:
    """A bucket that holds sources cannot go with its stack. Only one with our tags is emptied."""
    s3, bucket = target.client("s3"), target.names.source_bucket
    tags = bucket_tags(s3, bucket)
    if tags is None or not target.owner.owns(tags):
        return
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
        keys = [{"Key": each["Key"]} for each in page.get("Contents", [])]
        if keys:
            s3.delete_objects(Bucket=bucket, Delete={"Objects": keys, "Quiet": True})


def _orphans(target: Target) -> Iterator[Leftover]:
    """A runtime of our name without its stack: it costs nothing while nobody talks to it, but it answers."""
    if target.stack(target.names.runtime_stack) is not None:
        return
    control = target.client("bedrock-agentcore-control")
    for page in control.get_paginator("list_agent_runtimes").paginate():
        for each in page["agentRuntimes"]:
            if each["agentRuntimeName"] != target.names.runtime:
                continue
            tags = control.list_tags_for_resource(resourceArn=each["agentRuntimeArn"]).get("tags", {})
            ours = target.owner.owns(tags)
            why = "its stack is gone" if ours else "somebody else made it: no tags of this stage; it is never touched"
            delete = partial(control.delete_agent_runtime, agentRuntimeId=each["agentRuntimeId"])
            command = target.command("cleanup", "--purge") if ours else "–"
            yield Leftover(
                "runtime", each["agentRuntimeId"], each["status"], 0.0, why, command, delete if ours else None
            )


def _destroy(target: Target) -> Any:
    from agent_infra.removal import destroy

    return destroy(target)
