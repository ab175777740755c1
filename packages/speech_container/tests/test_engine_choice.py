"""`auto` is the fastest engine that this machine, this installation and these weights allow."""

import sys
from pathlib import Path

import pytest
from kokoro_weights import prepare
from speech_container import engine_choice
from speech_container.engine_choice import EXTRAS, MODULES, chosen_engine, installed_engines
from speech_container.settings import ENGINE_NAMES, EngineName, Settings


def yes() -> bool:
    return True


def no() -> bool:
    return False


@pytest.fixture
def with_openvino(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if openvino were installed: the choice imports nothing."""
    monkeypatch.setitem(engine_choice.MODULES, "openvino", ())


def test_every_engine_but_auto_says_what_it_needs() -> None:
    assert set(MODULES) == set(ENGINE_NAMES) - {"auto"}
    assert set(EXTRAS) < set(MODULES)


def test_an_engine_is_installed_where_all_its_modules_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not there, where it is
    monkeypatch.setitem(sys.modules, "openvino", None)
    assert set(installed_engines()) == {"onnx", "tone"}


@pytest.mark.parametrize("name", ["onnx", "openvino", "tone", "torch", "torch-graphs"])
def test_an_engine_that_is_named_is_the_choice(name: EngineName) -> None:
    assert chosen_engine(Settings(engine=name), None, no) == name


@pytest.mark.usefixtures("with_openvino")
def test_auto_follows_the_processor() -> None:
    assert chosen_engine(Settings(), None, yes) == "openvino"
    assert chosen_engine(Settings(), None, no) == "onnx"


def test_auto_is_onnx_where_openvino_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openvino", None)
    assert chosen_engine(Settings(), None, yes) == "onnx"


@pytest.mark.weights
@pytest.mark.usefixtures("with_openvino")
def test_auto_follows_what_a_directory_holds() -> None:
    assert chosen_engine(Settings(), prepare("packages").path, yes) == "onnx"
    assert chosen_engine(Settings(), prepare("packages", stages=True).path, yes) == "openvino"


@pytest.mark.usefixtures("with_openvino")
def test_a_directory_that_cannot_be_opened_is_left_to_whoever_opens_it(tmp_path: Path) -> None:
    assert chosen_engine(Settings(), tmp_path, yes) == "onnx"
