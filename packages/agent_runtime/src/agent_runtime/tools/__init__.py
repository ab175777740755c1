"""What the model may use while it answers: Strands tools, chosen by configuration.

A tool is a function with `@strands.tool`: its docstring tells the model what it is for, its type hints what it takes.
What it returns is read by the model, not spoken, and what it raises is told to the model; neither reaches a caller. It
has `AGENT_TOOL_S` seconds; a listener waits in silence meanwhile. `dates` is an example to copy.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

from ..errors import SettingsError

BUILT_IN: Final = {
    "current_time": "agent_runtime.tools.clock:current_time",
    "days_between": "agent_runtime.tools.dates:days_between",
}


def load_tools(names: Sequence[str]) -> list[Any]:
    """The tools of these names: built-in ones, or `package.module:function`. Raises `SettingsError`."""
    return [_load(name) for name in names]


def _load(name: str) -> Any:
    module, colon, attribute = BUILT_IN.get(name, name).partition(":")
    if not (module and colon and attribute):
        raise SettingsError(
            f"a tool is one of {', '.join(BUILT_IN)} or looks like package.module:function; {name!r} came"
        )
    try:
        tool = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise SettingsError(
            f"the tool {name!r} cannot be imported: is its package installed beside the agent?"
        ) from error
    if not hasattr(tool, "tool_spec"):
        raise SettingsError(f"{name!r} is no Strands tool: put @strands.tool on the function")
    return tool
