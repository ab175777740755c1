"""An example of a tool: counting days, which language models get wrong.

To make one of your own, copy this module into a package that is installed beside the agent and name its function in
`AGENT_TOOLS` (`AGENT_TOOLS=current_time,my_package.my_module:my_tool`).
"""

from datetime import date

from strands import tool


@tool
def days_between(first: str, second: str) -> str:
    """Count the days from one date to another, negative where the second is earlier.

    Args:
        first: The date to count from, as YYYY-MM-DD.
        second: The date to count to, as YYYY-MM-DD.
    """
    days = (date.fromisoformat(second) - date.fromisoformat(first)).days
    return f"{days} days"
