"""On-demand prices of SageMaker hosting instances, for where the Price List does not answer. us-east-1, USD an hour."""

from __future__ import annotations

from typing import Final

DATE: Final = "November 2026"
USD_AN_HOUR: Final = {
    "ml.g5.xlarge": 1.408,
    "ml.g5.2xlarge": 1.515,
    "ml.c7i.xlarge": 0.2142,
    "ml.c7i.2xlarge": 0.4284,
    "ml.c7i.4xlarge": 0.8568,
}
