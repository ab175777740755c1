"""CloudWatch Transaction Search: an agent's spans become searchable. A setting of the account and region.

So it is made only where nobody has switched it on yet (a second one is refused as AlreadyExists), and kept when the
stack goes: others may lean on it by then. Spans cost as CloudWatch Logs do; the first percent of them is indexed free
of charge.
"""

from __future__ import annotations

import json

import aws_cdk as cdk
from aws_cdk import aws_logs as logs
from aws_cdk import aws_xray as xray
from constructs import Construct

from agent_infra.names import Names

INDEXED_PERCENT = 1


def transaction_search(scope: Construct, names: Names) -> None:
    """X-Ray may write spans into CloudWatch Logs, and does."""
    stack = cdk.Stack.of(scope)
    where = f"arn:{stack.partition}:logs:{stack.region}:{stack.account}:log-group"
    policy = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "XRayWritesSpans",
                "Effect": "Allow",
                "Principal": {"Service": "xray.amazonaws.com"},
                "Action": "logs:PutLogEvents",
                "Resource": [f"{where}:aws/spans:*", f"{where}:/aws/application-signals/data:*"],
                "Condition": {
                    "ArnLike": {"aws:SourceArn": f"arn:{stack.partition}:xray:{stack.region}:{stack.account}:*"},
                    "StringEquals": {"aws:SourceAccount": stack.account},
                },
            }
        ],
    }
    may_write = logs.CfnResourcePolicy(
        scope, "XRayMayWrite", policy_name=f"{names.deployment}-spans", policy_document=json.dumps(policy)
    )
    search = xray.CfnTransactionSearchConfig(scope, "Search", indexing_percentage=INDEXED_PERCENT)
    search.add_dependency(may_write)
    for each in (may_write, search):
        each.apply_removal_policy(cdk.RemovalPolicy.RETAIN)
