"""Service Quotas for SageMaker hosting: what a fresh account has, or what a test says."""

from typing import Any, Final

from .errors import AwsRefusal
from .faults import Faults
from .wire import Answer, Call, json_answer

_USUAL: Final = {
    "ml.g5.xlarge for endpoint usage": ("L-1928E07B", 4.0),
    "ml.g5.2xlarge for endpoint usage": ("L-9614C779", 2.0),
    "ml.c7i.2xlarge for endpoint usage": ("L-0C7I2XL0", 4.0),
    "ml.c7i.xlarge for endpoint usage": ("L-0C7IXL00", 4.0),
    "ml.m5.large for endpoint usage": ("L-61F6928D", 4.0),
}
_PAGE: Final = 2  # so that clients have to ask for the next page


class ServiceQuotas:
    """`faults.quotas` overrides the usual values by quota name."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults

    def answer(self, call: Call, asked: dict[str, Any]) -> Answer:
        """Carry out one API call."""
        quotas = [
            {
                "ServiceCode": "sagemaker",
                "ServiceName": "Amazon SageMaker",
                "QuotaName": name,
                "QuotaCode": code,
                "Value": self._faults.quotas.get(name, usual),
                "Adjustable": True,
                "GlobalQuota": False,
            }
            for name, (code, usual) in _USUAL.items()
        ]
        if call.action == "GetServiceQuota":
            found = [each for each in quotas if each["QuotaCode"] == asked["QuotaCode"]]
            if not found or asked["ServiceCode"] != "sagemaker":
                raise AwsRefusal("NoSuchResourceException", "The request failed because the quota does not exist.")
            return json_answer({"Quota": found[0]})
        if call.action == "ListServiceQuotas":
            start = int(asked.get("NextToken", "0"))
            page: dict[str, Any] = {"Quotas": quotas[start : start + _PAGE]}
            if start + _PAGE < len(quotas):
                page["NextToken"] = str(start + _PAGE)
            return json_answer(page)
        raise AwsRefusal("UnknownOperationException", f"{call.action} is not answered here")
