"""CodeBuild projects."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from ..stack import Made
from .base import Clients, Simple, lower_first, short_name, tag_list


class Project(Simple):
    """AWS::CodeBuild::Project."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """Make it."""
        project = properties.get("Name") or short_name(name, 150)
        own = tag_list(tags, keys=("key", "value"))
        self.clients["codebuild"].create_project(name=project, tags=own, **_arguments(properties))
        arn = f"arn:aws:codebuild:{self.clients.region}:{self.clients.account_id}:project/{project}"
        return Made(project, {"Arn": arn})

    def update(self, made: Made, old: Mapping[str, Any], new: Mapping[str, Any]) -> Made | None:
        """In place, but for its name."""
        if old.get("Name") != new.get("Name"):
            return None
        self.clients["codebuild"].update_project(name=made.physical_id, **_arguments(new))
        return made

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """Take it away."""
        self.clients["codebuild"].delete_project(name=made.physical_id)


def _arguments(properties: Mapping[str, Any]) -> dict[str, Any]:
    given = lower_first({key: value for key, value in properties.items() if key not in {"Name", "Tags"}})
    source = given["source"]
    if "buildSpec" in source:
        source["buildspec"] = source.pop("buildSpec")
    return dict(given) | {"timeoutInMinutes": int(given["timeoutInMinutes"])}


KINDS: Final[Mapping[str, Callable[[Clients], Simple]]] = {"AWS::CodeBuild::Project": Project}
