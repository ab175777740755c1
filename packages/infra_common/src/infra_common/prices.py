"""What an instance costs an hour: from the Price List where it answers, else from a dated table.

The Price List is served in a few regions only, and knows all of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

HOURS_A_MONTH: Final = 730
S3_GB_MONTH_USD: Final = 0.023
"""S3 Standard, us-east-1."""
ECR_GB_MONTH_USD: Final = 0.10
LOGS_GB_MONTH_USD: Final = 0.03
KMS_KEY_MONTH_USD: Final = 1.00
ALARM_MONTH_USD: Final = 0.10


@dataclass(frozen=True, slots=True)
class Price:
    """`source` says where it comes from, for whoever wonders."""

    usd_an_hour: float | None
    source: str


def hosting_price(
    pricing: Any, instance_type: str, region: str, fallback: Mapping[str, float], fallback_date: str
) -> Price:
    """The on-demand price of one SageMaker hosting instance. Never raises for a list that does not answer."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        found = _listed(pricing, instance_type, region)
    except (BotoCoreError, ClientError, KeyError, ValueError):
        found = None
    if found is not None:
        return Price(found, "AWS Price List")
    if instance_type in fallback:
        return Price(fallback[instance_type], f"us-east-1, {fallback_date}")
    return Price(None, "not in the Price List")


def _listed(pricing: Any, instance_type: str, region: str) -> float | None:
    wanted = {"instanceName": instance_type, "regionCode": region, "component": "Hosting"}
    answer = pricing.get_products(
        ServiceCode="AmazonSageMaker",
        Filters=[{"Type": "TERM_MATCH", "Field": key, "Value": value} for key, value in wanted.items()],
        MaxResults=20,
    )
    amounts = [
        float(dimension["pricePerUnit"]["USD"])
        for text in answer["PriceList"]
        for term in json.loads(text)["terms"]["OnDemand"].values()
        for dimension in term["priceDimensions"].values()
    ]
    positive = [amount for amount in amounts if amount > 0]
    return min(positive) if positive else None
