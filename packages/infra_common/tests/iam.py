"""A template's roles as text that a reviewer can read: who may take each, and what it may do to what."""

from collections.abc import Iterator, Mapping
from typing import Any


def described(template: Mapping[str, Any]) -> Iterator[str]:
    """A paragraph a role, and one a policy of a role that another stack has made."""
    resources = template["Resources"]
    for name, role in sorted(resources.items()):
        if role["Type"] != "AWS::IAM::Role":
            continue
        yield f"role {name}"
        for statement in role["Properties"]["AssumeRolePolicyDocument"]["Statement"]:
            ((kind, taker),) = statement["Principal"].items()
            yield f"  taken by {kind.lower()} {_text(taker)}{_where(statement)}"
        policies = [
            policy["Properties"]["PolicyDocument"]
            for policy in resources.values()
            if policy["Type"] == "AWS::IAM::Policy" and {"Ref": name} in policy["Properties"]["Roles"]
        ]
        for document in policies:
            yield from _allowed(document)
    for name, policy in sorted(resources.items()):
        if policy["Type"] == "AWS::IAM::Policy":
            elsewhere = [role for role in policy["Properties"]["Roles"] if role.get("Ref") not in resources]
            for role in elsewhere:
                yield f"policy {name} of role {_text(role)}"
                yield from _allowed(policy["Properties"]["PolicyDocument"])


def _allowed(document: Mapping[str, Any]) -> Iterator[str]:
    for statement in document["Statement"]:
        for action in _listed(statement["Action"]):
            for resource in _listed(statement["Resource"]):
                yield f"  {statement['Effect'].lower()} {action} on {_text(resource)}{_where(statement)}"


def _where(statement: Mapping[str, Any]) -> str:
    tests = [
        f"{key} {test} {', '.join(_text(value) for value in _listed(wanted))}"
        for test, keys in sorted(statement.get("Condition", {}).items())
        for key, wanted in sorted(keys.items())
    ]
    return f" where {' and '.join(tests)}" if tests else ""


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if "Fn::Join" in value:
        return "".join(_text(part) for part in value["Fn::Join"][1])
    if "Fn::GetAtt" in value:
        return f"<{'.'.join(value['Fn::GetAtt'])}>"
    if "Fn::ImportValue" in value:
        return f"<{value['Fn::ImportValue'].rpartition(':')[2]}>"
    if "Ref" in value:
        return f"<{value['Ref']}>"
    raise AssertionError(f"a form of resource that this snapshot does not know: {value}")
