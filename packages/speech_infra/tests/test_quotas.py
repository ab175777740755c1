"""The quota of an instance type, by code where it is known and by name everywhere else."""

from collections.abc import Iterator
from typing import Any

from speech_infra.quotas import KNOWN_CODES, Quota, endpoint_quota, request_command


class QuotaUnknown(Exception):
    pass


class Quotas:
    """Two pages, and lookups by code."""

    exceptions = type("exceptions", (), {"NoSuchResourceException": QuotaUnknown})

    def __init__(self, *quotas: tuple[str, str, float]) -> None:
        self._quotas = [{"QuotaName": name, "QuotaCode": code, "Value": value} for name, code, value in quotas]
        self.pages_read = 0

    def get_service_quota(self, *, ServiceCode: str, QuotaCode: str) -> dict[str, Any]:  # noqa: N803 - AWS's names
        assert ServiceCode == "sagemaker"
        for each in self._quotas:
            if each["QuotaCode"] == QuotaCode:
                return {"Quota": each}
        raise QuotaUnknown

    def get_paginator(self, name: str) -> "Quotas":
        assert name == "list_service_quotas"
        return self

    def paginate(self, **_asked: str) -> Iterator[dict[str, Any]]:
        for each in self._quotas:
            self.pages_read += 1
            yield {"Quotas": [each]}


G5 = ("ml.g5.xlarge for endpoint usage", KNOWN_CODES["ml.g5.xlarge"], 2.0)
C7I = ("ml.c7i.2xlarge for endpoint usage", "L-ABC", 4.0)


def test_a_known_code_is_asked_for_at_once() -> None:
    quotas = Quotas(C7I, G5)
    assert endpoint_quota(quotas, "ml.g5.xlarge") == Quota("L-1928E07B", 2.0)
    assert quotas.pages_read == 0


def test_another_type_is_found_by_its_name_over_the_pages() -> None:
    assert endpoint_quota(Quotas(G5, C7I), "ml.c7i.2xlarge") == Quota("L-ABC", 4.0)


def test_a_code_that_means_something_else_by_now_is_not_believed() -> None:
    moved = Quotas(
        ("ml.p5.48xlarge for endpoint usage", "L-1928E07B", 0.0), ("ml.g5.xlarge for endpoint usage", "L-NEW", 8.0)
    )
    assert endpoint_quota(moved, "ml.g5.xlarge") == Quota("L-NEW", 8.0)


def test_a_type_that_the_region_lacks_has_no_quota() -> None:
    assert endpoint_quota(Quotas(G5), "ml.p9.large") is None


def test_the_request_says_how_many_and_where() -> None:
    command = request_command(Quota("L-1928E07B", 0.0), 2, "eu-west-1")
    assert command == (
        "aws service-quotas request-service-quota-increase --service-code sagemaker --quota-code L-1928E07B "
        "--desired-value 2 --region eu-west-1"
    )
