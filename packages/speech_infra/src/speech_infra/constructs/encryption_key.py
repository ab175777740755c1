"""A KMS key of our own, where somebody asks for one. 1 USD a month, kept when its stack goes.

It outlives the stack because what it has encrypted does: a bucket's objects without their key are lost.
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from constructs import Construct

from speech_infra.names import Names
from speech_infra.options import CREATE_KEY, EndpointOptions


def encryption_key(scope: Construct, names: Names, options: EndpointOptions) -> kms.IKey | None:
    """The key to encrypt with, None where the services' own are used."""
    if options.kms_key is None:
        return None
    if options.kms_key != CREATE_KEY:
        return kms.Key.from_key_arn(scope, "Key", options.kms_key)
    return kms.Key(
        scope,
        "Key",
        description=f"weights and images of {names.endpoint}",
        enable_key_rotation=True,
        removal_policy=cdk.RemovalPolicy.RETAIN,
    )
