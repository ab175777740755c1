"""Bedrock, as far as a deployment asks it: what a model is, where a profile goes, and one token of an answer."""

import re
from dataclasses import replace
from typing import Any, Final
from urllib.parse import unquote

from .errors import AwsRefusal
from .faults import Faults
from .wire import Answer, Call, json_answer

NOVA: Final = "amazon.nova-lite-v1:0"
PROFILE_ONLY: Final = "anthropic.claude-sonnet-4-5-20250929-v1:0"
_MODELS: Final = {NOVA: ["ON_DEMAND", "INFERENCE_PROFILE"], PROFILE_ONLY: ["INFERENCE_PROFILE"]}
_REGIONS: Final = {
    "us": ("us-east-1", "us-east-2", "us-west-2"),
    "eu": ("eu-central-1", "eu-west-1", "eu-west-3"),
    "apac": ("ap-northeast-1", "ap-southeast-2"),
    "global": ("", "us-east-1"),
}
_PROFILE: Final = re.compile(r"/inference-profiles/(.+)")
_MODEL: Final = re.compile(r"/foundation-models/(.+)")
_CONVERSE: Final = re.compile(r"/model/(.+)/converse")


class Bedrock:
    """`faults.refusals` for GetInferenceProfile, GetFoundationModel and Converse are kept here, by their names."""

    def __init__(self, account_id: str, faults: Faults) -> None:
        self._account_id = account_id
        self._faults = faults

    def answer(self, call: Call) -> Answer | None:
        """Carry out one API call; None for what a deployment does not ask."""
        path = unquote(call.path)
        for action, form, handler in (
            ("GetInferenceProfile", _PROFILE, self._profile),
            ("GetFoundationModel", _MODEL, self._model),
            ("Converse", _CONVERSE, self._converse),
        ):
            if found := form.fullmatch(path):
                self._faults.refuse(replace(call, action=action))
                return json_answer(handler(call.region, found[1]))
        return None

    def _profile(self, region: str, name: str) -> dict[str, Any]:
        profile = name.rpartition("/")[2]
        geography, _, model = profile.partition(".")
        if model not in _MODELS or geography not in _REGIONS:
            raise AwsRefusal("ResourceNotFoundException", f"The inference profile {name} does not exist", 404)
        models = [f"arn:aws:bedrock:{where}::foundation-model/{model}" for where in _REGIONS[geography]]
        return {
            "inferenceProfileId": profile,
            "inferenceProfileArn": f"arn:aws:bedrock:{region}:{self._account_id}:inference-profile/{profile}",
            "inferenceProfileName": profile,
            "models": [{"modelArn": arn} for arn in models],
            "status": "ACTIVE",
            "type": "SYSTEM_DEFINED",
        }

    def _model(self, region: str, name: str) -> dict[str, Any]:
        if name not in _MODELS:
            raise AwsRefusal("ResourceNotFoundException", f"Could not resolve the foundation model: {name}", 404)
        return {
            "modelDetails": {
                "modelArn": f"arn:aws:bedrock:{region}::foundation-model/{name}",
                "modelId": name,
                "inferenceTypesSupported": _MODELS[name],
                "responseStreamingSupported": True,
            }
        }

    def _converse(self, region: str, name: str) -> dict[str, Any]:
        del region
        if _MODELS.get(name) == ["INFERENCE_PROFILE"]:
            raise AwsRefusal(
                "ValidationException",
                f"Invocation of model ID {name} with on-demand throughput isn't supported. Retry your request with the "
                "ID or ARN of an inference profile that contains this model.",
            )
        return {
            "output": {"message": {"role": "assistant", "content": [{"text": "Hi"}]}},
            "stopReason": "max_tokens",
            "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
            "metrics": {"latencyMs": 100},
        }
