"""A price from the list where it answers, else from the dated table, and never a guess."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from infra_common.prices import Price, hosting_price

FALLBACK = {"ml.g5.xlarge": 1.4}


class PriceList:
    """Answers with prices, or fails."""

    def __init__(self, *amounts: str, failure: Exception | None = None) -> None:
        self._amounts, self._failure = amounts, failure
        self.asked: dict[str, str] = {}

    def get_products(self, *, ServiceCode: str, Filters: list[dict[str, str]], MaxResults: int) -> dict[str, Any]:  # noqa: N803 - AWS's names
        assert (ServiceCode, MaxResults) == ("AmazonSageMaker", 20)
        if self._failure:
            raise self._failure
        self.asked = {each["Field"]: each["Value"] for each in Filters}
        terms = [{"priceDimensions": {"d": {"pricePerUnit": {"USD": amount}}}} for amount in self._amounts]
        return {"PriceList": [json.dumps({"terms": {"OnDemand": {"t": term}}}) for term in terms]}


def price(pricing: PriceList, instance_type: str = "ml.g5.xlarge") -> Price:
    return hosting_price(pricing, instance_type, "eu-west-1", FALLBACK, "May 2026")


def test_the_list_is_asked_for_hosting_in_the_region_and_is_believed() -> None:
    pricing = PriceList("1.5000000000")
    assert price(pricing) == Price(1.5, "AWS Price List")
    assert pricing.asked == {"instanceName": "ml.g5.xlarge", "regionCode": "eu-west-1", "component": "Hosting"}


def test_of_several_prices_the_lowest_that_is_one_counts() -> None:
    assert price(PriceList("0.0000000000", "1.9", "1.7")).usd_an_hour == 1.7


@pytest.mark.parametrize(
    "pricing",
    [
        PriceList(),
        PriceList("0.0"),
        PriceList(failure=ClientError({"Error": {"Code": "AccessDeniedException"}}, "GetProducts")),
        PriceList(failure=EndpointConnectionError(endpoint_url="x")),
        PriceList("not a number"),
    ],
)
def test_a_list_that_does_not_answer_leaves_the_dated_table(pricing: PriceList) -> None:
    assert price(pricing) == Price(1.4, "us-east-1, May 2026")


def test_what_nobody_knows_has_no_price() -> None:
    assert price(PriceList(), "ml.p9.large") == Price(None, "not in the Price List")
