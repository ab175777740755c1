"""The WSGI application: faces first, moto for the rest, and a control plane for tests under /_fake."""

import base64
import hashlib
import io
import json
from collections.abc import Callable, Iterable
from typing import Any

from .account import FakeAccount
from .errors import AwsRefusal
from .wire import Answer, Call, error_answer, is_rest, json_answer, read_call

StartResponse = Callable[..., Any]


class Application:
    """What the server serves."""

    def __init__(self, account: FakeAccount) -> None:
        self._account = account

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        """One request."""
        path = environ.get("PATH_INFO", "")
        if path.startswith("/_fake/"):
            return _send(self._control(path, _body(environ)), start_response)
        body = b""
        if environ.get("HTTP_X_AMZ_TARGET") or is_rest(environ) or "form-urlencoded" in environ.get("CONTENT_TYPE", ""):
            body = _body(environ)
            environ["wsgi.input"] = io.BytesIO(body)
        call = read_call(environ, body)
        self._account.calls.note(environ, call)
        try:
            _check_digest(environ)
            answer = self._account.answer(call)
        except AwsRefusal as refusal:
            answer = error_answer(call, refusal)
        except KeyError as error:
            answer = error_answer(call, AwsRefusal("ValidationError", f"missing or unknown: {error}"))
        if answer is not None:
            return _send(answer, start_response)
        answered: Iterable[bytes] = self._account.moto(environ, start_response)
        return answered

    def _control(self, path: str, body: bytes) -> Answer:
        nobody = Call("", "", "", "", b"", path)
        try:
            match path.removeprefix("/_fake/"):
                case "faults":
                    self._account.faults.change(json.loads(body))
                case "clear":
                    self._account.faults.clear()
                case "calls":
                    return json_answer({"actions": self._account.calls.actions()})
                case "reset":
                    self._account.reset()
                case _:
                    return error_answer(nobody, AwsRefusal("UnknownControl", path, 404))
        except AwsRefusal as refusal:
            return error_answer(nobody, refusal)
        return json_answer({})


def _check_digest(environ: dict[str, Any]) -> None:
    """S3 compares an upload with the SHA-256 that comes with it; moto only remembers that."""
    announced = environ.get("HTTP_X_AMZ_CHECKSUM_SHA256")
    if announced is None or environ.get("REQUEST_METHOD") != "PUT":
        return
    body = _body(environ)
    environ["wsgi.input"] = io.BytesIO(body)
    if base64.b64encode(hashlib.sha256(body).digest()).decode() != announced:
        raise AwsRefusal("BadDigest", "The SHA256 you specified did not match the calculated checksum.")


def _body(environ: dict[str, Any]) -> bytes:
    length = int(environ.get("CONTENT_LENGTH") or 0)
    data: bytes = environ["wsgi.input"].read(length)
    return data


def _send(answer: Answer, start_response: StartResponse) -> Iterable[bytes]:
    headers = [("Content-Type", answer.content_type), ("Content-Length", str(len(answer.body)))]
    start_response(f"{answer.status} {'OK' if answer.status < 400 else 'Error'}", headers)
    return [answer.body]
