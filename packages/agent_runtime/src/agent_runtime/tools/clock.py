"""What time it is, which a language model cannot know."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from strands import tool


@tool
def current_time(time_zone: str = "UTC") -> str:
    """Tell the current date and time.

    Args:
        time_zone: Name of a time zone of the IANA database, such as Europe/Paris or America/New_York.
    """
    return describe(datetime.now(UTC), time_zone)


def describe(now: datetime, time_zone: str) -> str:
    """`now` in that zone, in words that a model can speak. Raises `ValueError` for a zone that there is not."""
    try:
        zone = ZoneInfo(time_zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"there is no time zone {time_zone!r}; one looks like Europe/Paris") from None
    return now.astimezone(zone).strftime("%A, %d %B %Y, %H:%M in ") + time_zone
