"""How many instances of a type the account may have, from Service Quotas, by the quota's name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

SERVICE: Final = "sagemaker"
KNOWN_CODES: Final = {"ml.g5.xlarge": "L-1928E07B"}
"""Looked up at once; others are found by name, over a few pages."""


@dataclass(frozen=True, slots=True)
class Quota:
    """One quota."""

    code: str
    value: float


def endpoint_quota(quotas: Any, instance_type: str) -> Quota | None:
    """The quota "<type> for endpoint usage", or None where there is none of that name."""
    name = f"{instance_type} for endpoint usage"
    if instance_type in KNOWN_CODES:
        try:
            found = quotas.get_service_quota(ServiceCode=SERVICE, QuotaCode=KNOWN_CODES[instance_type])["Quota"]
        except quotas.exceptions.NoSuchResourceException:
            found = None
        if found is not None and found["QuotaName"] == name:
            return Quota(found["QuotaCode"], float(found["Value"]))
    for page in quotas.get_paginator("list_service_quotas").paginate(ServiceCode=SERVICE):
        for each in page["Quotas"]:
            if each["QuotaName"] == name:
                return Quota(each["QuotaCode"], float(each["Value"]))
    return None


def request_command(quota: Quota, wanted: int, region: str) -> str:
    """What asks AWS for more."""
    return (
        f"aws service-quotas request-service-quota-increase --service-code {SERVICE} --quota-code {quota.code} "
        f"--desired-value {wanted} --region {region}"
    )
