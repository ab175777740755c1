"""What there is to choose from, over HTTP: voices in our own words, and the model in OpenAI's."""

from dataclasses import asdict
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from .blend import MAX_PARTS
from .openai_voices import OPENAI_VOICES
from .service import Service

MODEL: Final = {"id": "kokoro-82m", "object": "model", "created": 1737936000, "owned_by": "hexgrad"}  # v1.0: 2025-01-27
_BLENDS: Final = {"example": "af_heart(2)+af_bella(1)", "max_voices": MAX_PARTS}


class Catalogue:
    """Three endpoints."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def voices(self, _: Request) -> Response:
        """The voices, with whether their language can be spoken here, and what else a request may ask for."""
        can = self._service.capabilities()
        names = {card.name for card in self._service.voices}
        listed = [asdict(card) | {"offered": card.language in can.languages} for card in self._service.voices]
        body: dict[str, Any] = {
            "voices": listed,
            "blends": _BLENDS,
            "openai_voices": {theirs: ours for theirs, ours in OPENAI_VOICES.items() if ours in names},
            "languages": can.languages,
            "formats": can.formats,
            "sample_rates": can.sample_rates,
        }
        return JSONResponse(body)

    async def models(self, _: Request) -> Response:
        """OpenAI's list of models. There is one."""
        return JSONResponse({"object": "list", "data": [MODEL]})

    async def model(self, request: Request) -> Response:
        """OpenAI's model by name."""
        if request.path_params["name"] == MODEL["id"]:
            return JSONResponse(MODEL)
        error = {
            "message": f"there is one model here, {MODEL['id']}",
            "type": "invalid_request_error",
            "param": "model",
            "code": "model_not_found",
        }
        return JSONResponse({"error": error}, status_code=404)
