"""Every stack of an account, found by name or id, and what the stacks of a region tell each other by exports."""

from uuid import uuid4

from .errors import validation
from .stack import Stack


class StackRegister:
    """Stacks that were deleted stay, and are found by id alone, as in the service."""

    def __init__(self, account_id: str) -> None:
        self._account_id = account_id
        self._stacks: list[Stack] = []

    def clear(self) -> None:
        """Forget every stack."""
        self._stacks.clear()

    def new(self, region: str, name: str, status: str) -> Stack:
        """A stack with an id of its own."""
        stack = Stack(name, self.arn(region, "stack", name), region, self._account_id, status)
        stack.tell(name, stack.stack_id, "AWS::CloudFormation::Stack", status, "User Initiated")
        self._stacks.append(stack)
        return stack

    def arn(self, region: str, kind: str, name: str) -> str:
        """A new ARN."""
        return f"arn:aws:cloudformation:{region}:{self._account_id}:{kind}/{name}/{uuid4()}"

    def of(self, region: str) -> list[Stack]:
        """All that ever were."""
        return [each for each in self._stacks if each.region == region]

    def alive(self, region: str) -> list[Stack]:
        """Those that were not deleted."""
        return [each for each in self.of(region) if each.status != "DELETE_COMPLETE"]

    def find(self, region: str, name: str) -> Stack | None:
        """By id, else by name."""
        by_id = [each for each in self._stacks if each.stack_id == name]
        return next(iter(by_id or [each for each in self.alive(region) if each.name == name]), None)

    def named(self, region: str, name: str) -> Stack:
        """The same. Raises AwsRefusal."""
        stack = self.find(region, name)
        if stack is None:
            raise validation(f"Stack with id {name} does not exist")
        return stack

    def exports(self, region: str) -> dict[str, str]:
        """Names to values."""
        return {
            output["ExportName"]: output["OutputValue"]
            for stack in self.alive(region)
            for output in stack.outputs
            if "ExportName" in output
        }

    def users_of(self, stack: Stack) -> list[tuple[str, str]]:
        """Each export of a stack that another one uses, with that one's name."""
        names = [output["ExportName"] for output in stack.outputs if "ExportName" in output]
        return [
            (name, other.name)
            for other in self.alive(stack.region)
            for name in names
            if other is not stack and other.template is not None and name in other.template.body
        ]
