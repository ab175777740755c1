"""Reading the body of Bedrock's Converse and ConverseStream: what of it a local text model can do, and errors for the
rest.

Pure: JSON in, a `ConverseRequest` out. What is refused is refused with Bedrock's ValidationException; a feature that
    the local model lacks is refused too, as Bedrock does for models without it, rather than silently ignored."""

import json
from dataclasses import dataclass
from typing import Literal

from local_cloud.errors import RequestRefused
from local_cloud.language_model import Conversation, Turn


@dataclass(frozen=True)
class ConverseRequest:
    """A conversation to continue, with at most `max_tokens` tokens (None: as many as the model likes)."""

    conversation: Conversation
    max_tokens: int | None


def parse_converse(body: bytes) -> ConverseRequest:
    """Read a request body.

    Raises:
        RequestRefused: it is no JSON object, breaks Bedrock's rules, or asks for what a local text model cannot do.
    """
    try:
        request = json.loads(body)
    except (ValueError, RecursionError):
        raise _invalid("The request body is not valid JSON.") from None
    if not isinstance(request, dict):
        raise _invalid("Expected a JSON object as the request body.")
    if request.get("toolConfig"):
        raise _invalid("This model doesn't support tool use.")
    system = "\n".join(_texts(request.get("system", []), "system"))
    return ConverseRequest(Conversation(system, _turns(request.get("messages"))), _max_tokens(request))


def _turns(messages: object) -> tuple[Turn, ...]:
    if not isinstance(messages, list) or not messages:
        raise _invalid("Expected at least one message in messages.")
    turns: list[Turn] = []
    for number, message in enumerate(messages):
        where = f"messages.{number}"
        if not isinstance(message, dict):
            raise _invalid(f"Expected an object at {where}.")
        role = _role(message.get("role"), where)
        if turns and turns[-1].role == role:
            raise _invalid(f"Roles must alternate between user and assistant; {where} repeats {role!r}.")
        texts = _texts(message.get("content"), f"{where}.content")
        if not texts:
            raise _invalid(f"The content field at {where} is empty. Add a ContentBlock object to it.")
        turns.append(Turn(role, "\n".join(texts)))
    if turns[0].role != "user":
        raise _invalid("A conversation must start with a user message.")
    if turns[-1].role != "user":
        raise _invalid("This model does not support assistant message prefill; end with a user message.")
    return tuple(turns)


def _role(role: object, where: str) -> Literal["user", "assistant"]:
    if role == "user":
        return "user"
    if role == "assistant":
        return "assistant"
    raise _invalid(f"Expected role 'user' or 'assistant' at {where}.")


def _texts(blocks: object, where: str) -> list[str]:
    if not isinstance(blocks, list):
        raise _invalid(f"Expected a list at {where}.")
    texts: list[str] = []
    for number, block in enumerate(blocks):
        if not isinstance(block, dict) or len(block) != 1:
            raise _invalid(f"Expected one member in the content block at {where}.{number}.")
        if "cachePoint" in block:
            continue  # A hint to the service's cache; it changes no answer.
        text = block.get("text")
        if not isinstance(text, str):
            raise _invalid(f"This model doesn't support the content block at {where}.{number}; it takes text.")
        if not text.strip():
            raise _invalid(f"The text field in the ContentBlock object at {where}.{number} is blank.")
        texts.append(text)
    return texts


def _max_tokens(request: dict[str, object]) -> int | None:
    config = request.get("inferenceConfig", {})
    if not isinstance(config, dict):
        raise _invalid("Expected an object at inferenceConfig.")
    if config.get("stopSequences"):
        raise _invalid("This model doesn't support the stopSequences field. Remove stopSequences and try again.")
    limit = config.get("maxTokens")
    if limit is None:
        return None
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise _invalid("Expected a whole number of at least 1 at inferenceConfig.maxTokens.")
    return limit


def _invalid(message: str) -> RequestRefused:
    return RequestRefused(400, "ValidationException", message)
