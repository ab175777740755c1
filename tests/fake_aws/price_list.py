"""The Price List's answer for SageMaker hosting instances: nested JSON inside JSON strings, as the service has it."""

import json
from typing import Any, Final

from .errors import AwsRefusal
from .faults import Faults
from .wire import Answer, Call, json_answer

_USD_AN_HOUR: Final = {"ml.g5.xlarge": "1.4080000000", "ml.c7i.2xlarge": "0.4284000000", "ml.m5.large": "0.1150000000"}


class PriceList:
    """Answers GetProducts for the instance types of the table; nothing for others."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults

    def answer(self, call: Call, asked: dict[str, Any]) -> Answer:
        """Carry out one API call."""
        if call.action != "GetProducts":
            raise AwsRefusal("UnknownOperationException", f"{call.action} is not answered here")
        wanted = {each["Field"]: each["Value"] for each in asked.get("Filters", [])}
        instance = wanted.get("instanceName", "")
        if not self._faults.is_priced or instance not in _USD_AN_HOUR:
            return json_answer({"FormatVersion": "aws_v1", "PriceList": []})
        product = {
            "product": {
                "productFamily": "ML Instance",
                "attributes": {
                    "instanceName": instance,
                    "regionCode": wanted.get("regionCode", ""),
                    "component": "Hosting",
                    "platoinstancetype": "Hosting",
                },
            },
            "serviceCode": "AmazonSageMaker",
            "terms": {
                "OnDemand": {
                    "X.JRTCKXETXF": {
                        "priceDimensions": {
                            "X.JRTCKXETXF.6YS6EN2CT7": {
                                "unit": "Hrs",
                                "pricePerUnit": {"USD": _USD_AN_HOUR[instance]},
                            }
                        }
                    }
                }
            },
        }
        return json_answer({"FormatVersion": "aws_v1", "PriceList": [json.dumps(product)]})
