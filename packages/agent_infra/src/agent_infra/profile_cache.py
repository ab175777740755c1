"""The regions of inference profiles, in cdk.context.json beside what the CDK itself looks up: asked once, then
synthesis repeats without credentials and without asking anybody. The file belongs into version control, like a lock.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from infra_common.errors import OutcomeError

from agent_infra.errors import ProfileUnknown
from agent_infra.model_access import ModelAccess, is_profile

FILE: Final = "cdk.context.json"


@dataclass(frozen=True, slots=True)
class ProfileCache:
    """One clone's cache."""

    path: Path

    def find(self, model_id: str, region: str) -> ModelAccess | None:
        """A plain id needs no looking up; of a profile what is known. Raises OutcomeError for a broken file."""
        if not is_profile(model_id):
            return ModelAccess.to_plain(model_id, region)
        known = self._read().get(_key(model_id, region))
        try:
            return known and ModelAccess.through_profile(model_id, region, known["profile"], known["models"])
        except (KeyError, TypeError) as error:
            raise self._broken() from error

    def require(self, model_id: str, region: str) -> ModelAccess:
        """The same without AWS. Raises ProfileUnknown."""
        found = self.find(model_id, region)
        if found is None:
            raise ProfileUnknown(
                f"{model_id} is an inference profile, and {self.path.name} does not say yet to which regions it sends "
                f"requests from {region}",
                fix=f"agent-infra doctor --bedrock-model-id {model_id} --region {region}   "
                "(once, with credentials; it notes the answer)",
            )
        return found

    def look_up(self, model_id: str, region: str, bedrock: Callable[[], Any]) -> ModelAccess:
        """What is known, or what GetInferenceProfile says, which is noted. Raises what botocore raises."""
        found = self.find(model_id, region)
        if found is not None:
            return found
        told = bedrock().get_inference_profile(inferenceProfileIdentifier=model_id)
        entry = {
            "profile": told["inferenceProfileArn"],
            "models": sorted(each["modelArn"] for each in told["models"]),
        }
        context = self._read() | {_key(model_id, region): entry}
        self.path.write_text(json.dumps(context, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        return ModelAccess.through_profile(model_id, region, entry["profile"], entry["models"])

    def _read(self) -> dict[str, Any]:
        if not self.path.is_file():
            return {}
        try:
            context = json.loads(self.path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise self._broken() from error
        if not isinstance(context, dict):
            raise self._broken()
        return context

    def _broken(self) -> OutcomeError:
        return OutcomeError(
            f"{self.path} is broken: expected one JSON object, each profile with `profile` and `models`",
            fix=f"git checkout {self.path.name}, or remove it; it is made anew",
        )


def _key(model_id: str, region: str) -> str:
    return f"agent-infra:inference-profile:region={region}:id={model_id}"
