"""The key that `--kms-key create` made before: what it has encrypted can be read with it alone, so it is used again.

CloudFormation cannot adopt a key, which has no name; a stack that is made anew over kept weights and images would bring
a second one, and a role that may use only that. A kept key is therefore named by its ARN, as somebody else's would be.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from infra_common.aws_errors import code_of
from infra_common.ownership import Owner, tag_map

from speech_infra.options import CREATE_KEY, EndpointOptions
from speech_infra.target import Target


def owned_keys(kms: Any, owner: Owner) -> Iterator[str]:
    """ARNs of the enabled keys with the owner's tags. Raises what botocore raises."""
    for page in kms.get_paginator("list_keys").paginate():
        for each in page["Keys"]:
            try:
                described = kms.describe_key(KeyId=each["KeyId"])["KeyMetadata"]
                is_candidate = described["KeyManager"] == "CUSTOMER" and described["KeyState"] == "Enabled"
                if is_candidate and owner.owns(tag_map(kms.list_resource_tags(KeyId=each["KeyId"])["Tags"])):
                    yield str(described["Arn"])
            except kms.exceptions.ClientError as error:
                if code_of(error) != "AccessDeniedException":  # somebody else's, who does not let us look
                    raise


def with_kept_key(target: Target, options: EndpointOptions) -> EndpointOptions:
    """`options` with a kept key instead of a new one, where there is one that the foundation's stack does not hold."""
    if options.kms_key != CREATE_KEY:
        return options
    held = _held_by_stack(target)
    for arn in owned_keys(target.client("kms"), target.owner):
        if arn.rpartition("/")[2] not in held:
            target.console.note(f"key {arn} was kept by an earlier deployment and is used again")
            return replace(options, kms_key=arn)
    return options


def _held_by_stack(target: Target) -> set[str]:
    if target.stack(target.names.foundation_stack) is None:
        return set()
    found = target.cloudformation.describe_stack_resources(StackName=target.names.foundation_stack)
    return {each["PhysicalResourceId"] for each in found["StackResources"] if each["ResourceType"] == "AWS::KMS::Key"}
