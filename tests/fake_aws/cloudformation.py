"""CloudFormation's API as the CDK CLI and boto3 call it, over the stack engine.

An operation runs in a thread of its own. The call that started it waits a moment, so that clients which poll every five
seconds do not; an operation that is held up (see Faults.endpoint_is_held) goes on behind the answer, as in the service.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from .change_set import NO_CHANGES, ChangeSet
from .errors import AwsRefusal, validation
from .stack import Stack, Surroundings
from .stack_engine import Provider, StackEngine
from .stack_register import StackRegister
from .template import Template, template_place
from .wire import Answer, Call, query_answer, query_parameters

_QUICK_S: Final = 20.0


@dataclass(frozen=True, slots=True)
class Account:
    """What the face needs of the rest of the account."""

    read_object: Callable[[str, str], str]
    """Bucket and key to text."""
    read_parameter: Callable[[str, str], str]
    """Region and SSM name to value."""
    provider: Callable[[str, str], Provider]
    """Region and resource type to who makes it."""
    rollback_failure: Callable[[], str]
    is_held: Callable[[], bool]
    """Whether operations are being held up, so that nobody should wait for them."""


class CloudFormation:
    """All stacks of all regions of one account."""

    def __init__(self, account_id: str, account: Account) -> None:
        self._account_id = account_id
        self._account = account
        self._stacks = StackRegister(account_id)
        self._change_sets: list[ChangeSet] = []
        self._operations: list[threading.Thread] = []
        self._lock = threading.RLock()

    def reset(self) -> None:
        """Forget every stack."""
        with self._lock:
            self._stacks.clear()
            self._change_sets.clear()

    def answer(self, call: Call) -> Answer:
        """Carry out one API call."""
        asked = query_parameters(call.body)
        handler = _HANDLERS.get(call.action)
        if handler is None:
            raise AwsRefusal("InvalidAction", f"Could not find operation {call.action} for version 2010-05-15")
        with self._lock:
            result = handler(self, call.region, asked)
            started, self._operations = self._operations, []
        if not self._account.is_held():
            for operation in started:
                operation.join(_QUICK_S)
        return query_answer(call.action, result)

    # what clients ask

    def _create_change_set(self, region: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        kind = asked.get("ChangeSetType", "UPDATE")
        present = self._stacks.find(region, asked["StackName"])
        if kind == "CREATE":
            if present is not None and present.status != "REVIEW_IN_PROGRESS":
                raise AwsRefusal("AlreadyExistsException", f"Stack [{asked['StackName']}] already exists")
            stack = present or self._stacks.new(region, asked["StackName"], "REVIEW_IN_PROGRESS")
        else:
            stack = self._stacks.named(region, asked["StackName"])
            self._require_changeable(stack)
        template = self._template(asked, stack)
        given, parameters = self._parameters(region, asked, template, stack)
        tags = _tags(asked) or dict(stack.tags)
        is_same = (
            stack.template is not None
            and stack.template.document == template.document
            and stack.parameters == parameters
            and stack.tags == tags
        )
        change_set = ChangeSet(
            name=asked["ChangeSetName"],
            change_set_id=self._stacks.arn(region, "changeSet", asked["ChangeSetName"]),
            stack=stack,
            template=template,
            given=given,
            parameters=parameters,
            tags=tags,
            role_arn=asked.get("RoleARN"),
            adopts=asked.get("ImportExistingResources") == "true",
            status="FAILED" if is_same else "CREATE_COMPLETE",
            reason=NO_CHANGES if is_same else None,
            execution="UNAVAILABLE" if is_same else "AVAILABLE",
        )
        self._change_sets.append(change_set)
        return {"Id": change_set.change_set_id, "StackId": stack.stack_id}

    def _describe_change_set(self, region: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        return self._change_set(region, asked).described()

    def _execute_change_set(self, region: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        found = self._change_set(region, asked)
        if found.execution != "AVAILABLE":
            raise AwsRefusal("InvalidChangeSetStatus", f"ChangeSet [{found.change_set_id}] cannot be executed")
        found.execution = "EXECUTE_IN_PROGRESS"
        stack = found.stack
        stack.tags, stack.role_arn, stack.given_parameters = found.tags, found.role_arn, found.given
        self._start(stack, found.template, found.parameters, adopts=found.adopts)
        return {}

    def _delete_change_set(self, region: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        try:
            self._change_sets.remove(self._change_set(region, asked))
        except AwsRefusal:
            return {}  # the service says nothing about what is not there
        return {}

    def _list_change_sets(self, region: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        stack = self._stacks.named(region, asked["StackName"])
        return {
            "Summaries": [
                {"ChangeSetName": each.name, "ChangeSetId": each.change_set_id, "Status": each.status}
                for each in self._change_sets
                if each.stack is stack
            ]
        }

    def _create_stack(self, region: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        if self._stacks.find(region, asked["StackName"]) is not None:
            raise AwsRefusal("AlreadyExistsException", f"Stack [{asked['StackName']}] already exists")
        stack = self._stacks.new(region, asked["StackName"], "REVIEW_IN_PROGRESS")
        return self._apply(region, asked, stack)

    def _update_stack(self, region: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        stack = self._stacks.named(region, asked["StackName"])
        self._require_changeable(stack)
        return self._apply(region, asked, stack)

    def _apply(self, region: str, asked: Mapping[str, Any], stack: Stack) -> dict[str, Any]:
        template = self._template(asked, stack)
        given, parameters = self._parameters(region, asked, template, stack)
        tags = _tags(asked) or dict(stack.tags)
        if stack.template is not None and (
            (stack.template.document, stack.parameters, stack.tags) == (template.document, parameters, tags)
        ):
            raise validation("No updates are to be performed.")
        stack.tags, stack.role_arn, stack.given_parameters = tags, asked.get("RoleARN"), given
        self._start(stack, template, parameters, adopts=False)
        return {"StackId": stack.stack_id}

    def _describe_stacks(self, region: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        name = asked.get("StackName")
        if name:
            return {"Stacks": [self._stacks.named(region, name).described()]}
        return {"Stacks": [each.described() for each in self._stacks.alive(region)]}

    def _list_stacks(self, region: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        wanted = asked.get("StackStatusFilter", [])
        return {
            "StackSummaries": [
                {
                    "StackId": each.stack_id,
                    "StackName": each.name,
                    "StackStatus": each.status,
                    "CreationTime": each.created,
                    "DeletionTime": each.deleted,
                }
                for each in self._stacks.of(region)
                if not wanted or each.status in wanted
            ]
        }

    def _get_template(self, region: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        stack = self._stacks.named(region, asked["StackName"])
        return {"TemplateBody": stack.template.body if stack.template else "{}", "StagesAvailable": ["Original"]}

    def _get_template_summary(self, region: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        stack = self._stacks.find(region, asked["StackName"]) if "StackName" in asked else None
        template = self._template(asked, stack)
        return {
            "Parameters": [
                {
                    "ParameterKey": name,
                    "ParameterType": each.get("Type"),
                    "DefaultValue": each.get("Default"),
                    "NoEcho": False,
                }
                for name, each in template.section("Parameters").items()
            ],
            "ResourceTypes": sorted({each["Type"] for each in template.resources.values()}),
            "ResourceIdentifierSummaries": [],
        }

    def _describe_stack_events(self, region: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        stack = self._stacks.named(region, asked["StackName"])
        return {
            "StackEvents": [
                {
                    "StackId": stack.stack_id,
                    "EventId": event.event_id,
                    "StackName": stack.name,
                    "LogicalResourceId": event.logical_id,
                    "PhysicalResourceId": event.physical_id,
                    "ResourceType": event.type,
                    "Timestamp": event.at,
                    "ResourceStatus": event.status,
                    "ResourceStatusReason": event.reason or None,
                }
                for event in reversed(stack.events)
            ]
        }

    def _describe_stack_resources(self, region: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        return {"StackResources": [each.described() for each in self._resources(region, asked)]}

    def _list_stack_resources(self, region: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        return {"StackResourceSummaries": [each.described() for each in self._resources(region, asked)]}

    def _describe_stack_resource(self, region: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        found = [each for each in self._resources(region, asked) if each.logical_id == asked["LogicalResourceId"]]
        if not found:
            raise validation(f"Resource {asked['LogicalResourceId']} does not exist for stack {asked['StackName']}")
        return {"StackResourceDetail": found[0].described()}

    def _delete_stack(self, region: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        stack = self._stacks.find(region, asked["StackName"])
        if stack is None:
            return {}
        if stack.is_protected:
            raise validation(f"Stack [{stack.name}] cannot be deleted while TerminationProtection is enabled")
        users = self._stacks.users_of(stack)
        if users:
            export, user = users[0]
            raise validation(f"Export {export} cannot be deleted as it is in use by {user}")
        retain = frozenset(asked.get("RetainResources", []))
        self._run(stack, lambda engine: engine.delete(stack, retain))
        return {}

    def _continue_update_rollback(self, region: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        stack = self._stacks.named(region, asked["StackName"])
        if stack.status != "UPDATE_ROLLBACK_FAILED":
            raise validation(f"Stack:{stack.stack_id} is in {stack.status} state and can not continue the rollback.")
        self._run(stack, lambda engine: engine.continue_rollback(stack))
        return {}

    def _update_termination_protection(self, region: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        stack = self._stacks.named(region, asked["StackName"])
        stack.is_protected = asked["EnableTerminationProtection"] == "true"
        return {"StackId": stack.stack_id}

    def _list_exports(self, region: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        del asked
        return {"Exports": [{"Name": key, "Value": value} for key, value in self._stacks.exports(region).items()]}

    # what answers them

    def _start(self, stack: Stack, template: Template, parameters: dict[str, Any], *, adopts: bool) -> None:
        stack.description = template.document.get("Description")
        if stack.template is None:
            self._run(stack, lambda engine: engine.create(stack, template, parameters, adopt=adopts))
        else:
            self._run(stack, lambda engine: engine.update(stack, template, parameters, adopt=adopts))

    def _run(self, stack: Stack, operation: Callable[[StackEngine], None]) -> None:
        if stack.is_busy:
            raise validation(f"Stack:{stack.stack_id} is in {stack.status} state and can not be updated.")
        region = stack.region
        engine = StackEngine(
            provider=lambda kind: self._account.provider(region, kind),
            around=lambda: Surroundings(self._account_id, region, self._stacks.exports(region)),
            fails=lambda _name: self._account.rollback_failure() or None,
        )
        worker = threading.Thread(target=_operate, args=(stack, operation, engine), daemon=True)
        self._operations.append(worker)
        worker.start()

    def _template(self, asked: Mapping[str, Any], stack: Stack | None) -> Template:
        if asked.get("UsePreviousTemplate") == "true" and stack is not None and stack.template is not None:
            return stack.template
        if "TemplateURL" in asked:
            bucket, key = template_place(asked["TemplateURL"])
            return Template.parse(self._account.read_object(bucket, key))
        if "TemplateBody" in asked:
            return Template.parse(asked["TemplateBody"])
        if stack is not None and stack.template is not None:
            return stack.template
        raise validation("Either Template URL or Template Body must be specified.")

    def _parameters(
        self, region: str, asked: Mapping[str, Any], template: Template, stack: Stack
    ) -> tuple[dict[str, str], dict[str, Any]]:
        given: dict[str, str] = {}
        for each in asked.get("Parameters", []):
            name = each["ParameterKey"]
            if each.get("UsePreviousValue") == "true":
                if name in stack.given_parameters:
                    given[name] = stack.given_parameters[name]
            else:
                given[name] = each.get("ParameterValue", "")
        unknown = given.keys() - template.section("Parameters").keys()
        if unknown:
            raise validation(f"Parameters: {sorted(unknown)} do not exist in the template")
        return given, template.parameter_values(given, {}, lambda name: self._account.read_parameter(region, name))

    def _require_changeable(self, stack: Stack) -> None:
        if stack.is_busy or stack.status in {"ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "UPDATE_ROLLBACK_FAILED"}:
            raise validation(f"Stack:{stack.stack_id} is in {stack.status} state and can not be updated.")

    def _resources(self, region: str, asked: Mapping[str, Any]) -> list[Any]:
        return list(self._stacks.named(region, asked["StackName"]).resources.values())

    def _change_set(self, region: str, asked: Mapping[str, Any]) -> ChangeSet:
        name, stack_name = asked["ChangeSetName"], asked.get("StackName")
        for each in reversed(self._change_sets):
            is_of_stack = not stack_name or stack_name in {each.stack.name, each.stack.stack_id}
            if each.stack.region == region and is_of_stack and name in {each.name, each.change_set_id}:
                return each
        raise AwsRefusal("ChangeSetNotFound", f"ChangeSet [{name}] does not exist", 404)


def _operate(stack: Stack, operation: Callable[[StackEngine], None], engine: StackEngine) -> None:
    try:
        operation(engine)
    except BaseException as error:
        stack.become("ROLLBACK_FAILED", f"the fake itself failed: {error!r}")
        raise


def _tags(asked: Mapping[str, Any]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in asked.get("Tags", [])}


_HANDLERS: Final[Mapping[str, Callable[[CloudFormation, str, Mapping[str, Any]], dict[str, Any]]]] = {
    name: getattr(CloudFormation, method)
    for name, method in {
        "CreateChangeSet": "_create_change_set",
        "DescribeChangeSet": "_describe_change_set",
        "ExecuteChangeSet": "_execute_change_set",
        "DeleteChangeSet": "_delete_change_set",
        "ListChangeSets": "_list_change_sets",
        "CreateStack": "_create_stack",
        "UpdateStack": "_update_stack",
        "DescribeStacks": "_describe_stacks",
        "ListStacks": "_list_stacks",
        "GetTemplate": "_get_template",
        "GetTemplateSummary": "_get_template_summary",
        "DescribeStackEvents": "_describe_stack_events",
        "DescribeStackResources": "_describe_stack_resources",
        "ListStackResources": "_list_stack_resources",
        "DescribeStackResource": "_describe_stack_resource",
        "DeleteStack": "_delete_stack",
        "ContinueUpdateRollback": "_continue_update_rollback",
        "UpdateTerminationProtection": "_update_termination_protection",
        "ListExports": "_list_exports",
    }.items()
}
