"""How CloudFormation makes, changes, rolls back and deletes a stack, over providers that make single resources.

What is kept of the real service, because the product leans on it: resources in dependency order with their events; a
change of a resource is seen through what it refers to; a replaced resource is deleted only after the update has
succeeded; a failed creation is rolled back to ROLLBACK_COMPLETE and a failed update to UPDATE_ROLLBACK_COMPLETE; what
has a DeletionPolicy of Retain is never deleted, and can be adopted by a later stack (ImportExistingResources).
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Protocol

from botocore.exceptions import ClientError

from .errors import AwsRefusal, ResourceRefused
from .stack import Made, Resource, Stack, Surroundings, outputs_of, scope_of, wanted_resource, with_status
from .template import Template


class Provider(Protocol):
    """Makes resources of one type, through the account's own APIs."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """Make it; `name` is what CloudFormation would generate."""

    def update(self, made: Made, old: Mapping[str, Any], new: Mapping[str, Any]) -> Made | None:
        """Change it where it stands; None where only a replacement will do."""

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """Remove it; it is no error that it is gone already."""

    def adopt(self, properties: Mapping[str, Any]) -> Made | None:
        """What exists already under the name that the properties give, or None."""


class StackEngine:
    """Operations on one account's stacks in one region. Each runs to its end in the calling thread."""

    def __init__(
        self,
        provider: Callable[[str], Provider],
        around: Callable[[], Surroundings],
        fails: Callable[[str], str | None],
    ) -> None:
        """`fails`: why a rollback of the stack of that name must fail, None where it need not (fault injection)."""
        self._provider = provider
        self._around = around
        self._fails = fails

    def create(self, stack: Stack, template: Template, parameters: Mapping[str, Any], *, adopt: bool) -> None:
        """Make every resource; on a failure delete what was made."""
        stack.become("CREATE_IN_PROGRESS", "User Initiated")
        stack.template, stack.parameters = template, dict(parameters)
        try:
            self._make_all(stack, template, parameters, adopt=adopt)
        except AwsRefusal as refusal:
            stack.become(
                "ROLLBACK_IN_PROGRESS",
                f"The following resource(s) failed to create: [{refusal.code}]. Rollback requested by user.",
            )
            if self._remove(stack, list(stack.resources.values())):
                stack.become("ROLLBACK_FAILED")
            else:
                stack.become("ROLLBACK_COMPLETE")
            return
        stack.become("CREATE_COMPLETE")

    def update(self, stack: Stack, template: Template, parameters: Mapping[str, Any], *, adopt: bool) -> None:
        """Change the stack to the template; on a failure put everything back."""
        before = (stack.template, stack.parameters, dict(stack.resources), stack.outputs)
        stack.become("UPDATE_IN_PROGRESS", "User Initiated")
        stack.updated = datetime.now(UTC)
        obsolete: list[Resource] = []
        try:
            stack.template, stack.parameters = template, dict(parameters)
            obsolete = self._change_all(stack, template, parameters, adopt=adopt)
        except AwsRefusal as refusal:
            stack.become(
                "UPDATE_ROLLBACK_IN_PROGRESS", f"The following resource(s) failed to update: [{refusal.code}]. "
            )
            self._put_back(stack, before)
            return
        stack.become("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS")
        self._remove(stack, obsolete, forget=False)
        stack.become("UPDATE_COMPLETE")

    def delete(self, stack: Stack, retain: frozenset[str] = frozenset()) -> None:
        """Delete in reverse order; what cannot be deleted leaves the stack in DELETE_FAILED."""
        stack.become("DELETE_IN_PROGRESS", "User Initiated")
        failed = self._remove(stack, [each for each in stack.resources.values() if each.logical_id not in retain])
        if failed:
            names = ", ".join(failed)
            stack.become("DELETE_FAILED", f"The following resource(s) failed to delete: [{names}]. ")
        else:
            stack.deleted = datetime.now(UTC)
            stack.become("DELETE_COMPLETE")

    def continue_rollback(self, stack: Stack) -> None:
        """After UPDATE_ROLLBACK_FAILED: whatever stood in the way is said to be gone."""
        stack.become("UPDATE_ROLLBACK_IN_PROGRESS", "User Initiated")
        reason = self._fails(stack.name)
        stack.become("UPDATE_ROLLBACK_FAILED" if reason else "UPDATE_ROLLBACK_COMPLETE", reason or "")

    def _make_all(self, stack: Stack, template: Template, parameters: Mapping[str, Any], *, adopt: bool) -> None:
        for logical_id in template.in_order():
            wanted = wanted_resource(template, logical_id, scope_of(stack, template, parameters, self._around()))
            if wanted is not None:
                self._make(stack, wanted, adopt=adopt)
        stack.outputs = outputs_of(template, scope_of(stack, template, parameters, self._around()))

    def _change_all(
        self, stack: Stack, template: Template, parameters: Mapping[str, Any], *, adopt: bool
    ) -> list[Resource]:
        obsolete: list[Resource] = []
        kept: set[str] = set()
        for logical_id in template.in_order():
            wanted = wanted_resource(template, logical_id, scope_of(stack, template, parameters, self._around()))
            if wanted is None:
                continue
            kept.add(logical_id)
            present = stack.resources.get(logical_id)
            if present is None or present.type != wanted.type:
                obsolete += [present] if present else []
                self._make(stack, wanted, adopt=adopt)
            elif present.properties != wanted.properties:
                obsolete += self._change(stack, present, wanted)
            else:
                stack.resources[logical_id] = replace(present, is_retained=wanted.is_retained)
        for logical_id in [name for name in stack.resources if name not in kept]:
            obsolete.append(stack.resources.pop(logical_id))
        stack.outputs = outputs_of(template, scope_of(stack, template, parameters, self._around()))
        return obsolete

    def _make(self, stack: Stack, wanted: Resource, *, adopt: bool) -> None:
        provider = self._provider(wanted.type)
        stack.note(with_status(wanted, "CREATE_IN_PROGRESS"))
        try:
            found = provider.adopt(wanted.properties) if adopt and wanted.is_retained else None
            if found is not None:
                stack.put(replace(wanted, made=found, status="IMPORT_COMPLETE"), "Resource import complete")
                provider.update(found, {}, wanted.properties)
                return
            made = provider.create(_physical_name(stack, wanted), wanted.properties, self._tags(stack, wanted))
        except (AwsRefusal, ClientError) as error:
            stack.note(with_status(wanted, "CREATE_FAILED"), _reason(error))
            partial = error.made if isinstance(error, ResourceRefused) else None
            if partial is not None:
                stack.resources[wanted.logical_id] = replace(wanted, made=partial, status="CREATE_FAILED")
            raise AwsRefusal(wanted.logical_id, _reason(error)) from error
        stack.put(replace(wanted, made=made, status="CREATE_COMPLETE"))

    def _change(self, stack: Stack, present: Resource, wanted: Resource) -> list[Resource]:
        provider = self._provider(wanted.type)
        stack.note(with_status(present, "UPDATE_IN_PROGRESS"))
        try:
            made = provider.update(present.made, present.properties, wanted.properties)
            if made is not None:
                stack.put(replace(wanted, made=made, status="UPDATE_COMPLETE"))
                return []
            reason = "Requested update requires the creation of a new physical resource; hence creating one."
            stack.note(with_status(present, "UPDATE_IN_PROGRESS"), reason)
            made = provider.create(_physical_name(stack, wanted), wanted.properties, self._tags(stack, wanted))
        except (AwsRefusal, ClientError) as error:
            stack.note(with_status(present, "UPDATE_FAILED"), _reason(error))
            raise AwsRefusal(wanted.logical_id, _reason(error)) from error
        stack.put(replace(wanted, made=made, status="UPDATE_COMPLETE"))
        return [present]

    def _put_back(self, stack: Stack, before: tuple[Any, Any, dict[str, Resource], Any]) -> None:
        changed = dict(stack.resources)
        stack.template, stack.parameters, resources, stack.outputs = before
        for logical_id, old in resources.items():
            new = changed.get(logical_id)
            if new is not None and new.made.physical_id == old.made.physical_id and new.properties != old.properties:
                self._provider(old.type).update(old.made, new.properties, old.properties)
                stack.note(with_status(old, "UPDATE_COMPLETE"))
        ours = {old.made.physical_id for old in resources.values()}
        stack.resources = resources
        self._remove(stack, [new for new in changed.values() if new.made.physical_id not in ours], forget=False)
        reason = self._fails(stack.name)
        stack.become("UPDATE_ROLLBACK_FAILED" if reason else "UPDATE_ROLLBACK_COMPLETE", reason or "")

    def _remove(self, stack: Stack, resources: list[Resource], *, forget: bool = True) -> list[str]:
        """Delete in reverse; returns the logical ids of what would not go."""
        failed = []
        for resource in reversed(resources):
            if resource.is_retained:
                stack.note(with_status(resource, "DELETE_SKIPPED"))
            else:
                stack.note(with_status(resource, "DELETE_IN_PROGRESS"))
                try:
                    self._provider(resource.type).delete(resource.made, resource.properties)
                except (AwsRefusal, ClientError) as error:
                    stack.note(with_status(resource, "DELETE_FAILED"), _reason(error))
                    failed.append(resource.logical_id)
                    continue
                stack.note(with_status(resource, "DELETE_COMPLETE"))
            if forget:
                stack.resources.pop(resource.logical_id, None)
        return failed

    @staticmethod
    def _tags(stack: Stack, wanted: Resource) -> dict[str, str]:
        own = wanted.properties.get("Tags", [])
        pairs = own.items() if isinstance(own, dict) else [(tag["Key"], tag["Value"]) for tag in own]
        return (
            stack.tags
            | {
                "aws:cloudformation:stack-name": stack.name,
                "aws:cloudformation:stack-id": stack.stack_id,
                "aws:cloudformation:logical-id": wanted.logical_id,
            }
            | dict(pairs)
        )


def _physical_name(stack: Stack, wanted: Resource) -> str:
    token = stack.events[-1].event_id.replace("-", "")[:12]
    return f"{stack.name}-{wanted.logical_id}-{token}"


def _reason(error: Exception) -> str:
    if isinstance(error, ResourceRefused):
        return error.message
    if isinstance(error, ClientError):
        detail = error.response["Error"]
        return f"{detail['Message']} (Service: {error.operation_name}; Error Code: {detail['Code']})"
    return str(error)
