"""`status`: what is live against what is wanted, whether it is well, and what it costs an hour."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from infra_common.prices import Price, hosting_price
from infra_common.stack_state import StackState
from infra_common.status import alarm_states

from speech_infra.endpoint import EndpointState, endpoint_state
from speech_infra.fallback_prices import DATE, USD_AN_HOUR
from speech_infra.release import Release
from speech_infra.release_history import live_release, release_history
from speech_infra.smoke_report import last_recorded
from speech_infra.target import Target


@dataclass(frozen=True, slots=True)
class Status:
    """Everything, as it was found; None for what is not there."""

    names: dict[str, str]
    stack: StackState | None
    release: Release | None
    releases: int
    endpoint: EndpointState | None
    scaling: tuple[int, int] | None
    alarms: dict[str, str]
    smoke_test: dict[str, Any] | None
    price: Price | None

    @property
    def usd_an_hour(self) -> float | None:
        """What runs now costs; 0 where nothing runs, None where the price is not known."""
        instances = self.endpoint.instances if self.endpoint else 0
        if not instances:
            return 0.0
        return None if self.price is None or self.price.usd_an_hour is None else instances * self.price.usd_an_hour

    @property
    def differences(self) -> list[str]:
        """Where what is live is not what the release says."""
        release, endpoint = self.release, self.endpoint
        if release is None:
            return []
        if release.is_paused:
            return [] if endpoint is None else ["the release is paused, but an endpoint is there"]
        if endpoint is None:
            return ["the release is to serve, but there is no endpoint"]
        found = []
        if endpoint.image_digest not in {None, release.image_digest}:
            found.append(f"image: wanted {release.image_digest}, live {endpoint.image_digest}")
        if endpoint.status != "InService":
            found.append(f"endpoint: wanted InService, live {endpoint.status}")
        if self.scaling is not None:
            wanted = (release.options.instances, release.options.max_instances)
            if wanted != self.scaling:
                found.append(f"scaling: wanted {wanted[0]} to {wanted[1]}, live {self.scaling[0]} to {self.scaling[1]}")
        return found

    def as_dict(self) -> dict[str, Any]:
        """For --json."""
        release, endpoint, stack = self.release, self.endpoint, self.stack
        return {
            **self.names,
            "stack": None if stack is None else {"name": stack.name, "status": stack.status, "reason": stack.reason},
            "release": None
            if release is None
            else {
                "image": release.image_digest,
                "weights": release.weights,
                "paused": release.is_paused,
                "options": release.options.as_dict(),
                "versions": self.releases,
            },
            "endpoint": None
            if endpoint is None
            else {
                "name": endpoint.name,
                "arn": endpoint.arn,
                "status": endpoint.status,
                "failure": endpoint.failure or None,
                "image": endpoint.image_digest,
                "instances": endpoint.instances,
                "wanted_instances": endpoint.wanted_instances,
            },
            "differences": self.differences,
            "alarms": self.alarms,
            "last_smoke_test": self.smoke_test,
            "usd_an_hour": self.usd_an_hour,
            "price_source": self.price.source if self.price else None,
        }

    def lines(self) -> Iterator[tuple[str, str]]:
        """What and how it is, for a table."""
        yield "stage", f"{self.names['stage']} in {self.names['region']}, account {self.names['account']}"
        yield "stack", "not there" if self.stack is None else f"{self.stack.name}: {self.stack.status}"
        yield "endpoint", "none" if self.endpoint is None else f"{self.endpoint.name}: {self.endpoint.described()}"
        if self.endpoint is not None and self.endpoint.failure:
            yield "last failure", self.endpoint.failure
        if self.release is not None:
            options = self.release.options
            yield "release", f"{self.releases} so far" + (", paused" if self.release.is_paused else "")
            yield "image", self.release.image_digest
            yield "weights", self.release.weights
            yield (
                "instances",
                f"{options.instance_type}, {options.instances} to {options.max_instances}, {options.strategy}",
            )
        yield "wanted = live", "; ".join(self.differences) or ("yes" if self.release else "nothing is wanted")
        if self.alarms:
            raised = [name for name, state in self.alarms.items() if state == "ALARM"]
            yield "alarms", f"raised: {', '.join(raised)}" if raised else f"{len(self.alarms)} quiet"
        yield "smoke test", _smoke_line(self.smoke_test)
        yield "cost", self._cost_line()

    def _cost_line(self) -> str:
        amount = self.usd_an_hour
        if amount == 0:
            return "$0 an hour: nothing runs"
        source = self.price.source if self.price else ""
        return "unknown" if amount is None else f"${amount:.3f} an hour ({source})"


def gather(target: Target) -> Status:
    """Ask AWS; nothing is changed. Raises what botocore raises."""
    names = target.names
    ssm = target.client("ssm")
    release = live_release(ssm, names.release_parameter)
    endpoint = endpoint_state(target.client("sagemaker"), names.endpoint)
    price = None
    if endpoint is not None and release is not None:
        price = instance_price(target, release.options.instance_type)
    return Status(
        names={"model": names.model, "stage": names.stage, "region": names.region, "account": names.account},
        stack=target.stack(names.endpoint_stack),
        release=release,
        releases=len(release_history(ssm, names.release_parameter)),
        endpoint=endpoint,
        scaling=_scaling(target) if endpoint is not None else None,
        alarms=alarm_states(target.client("cloudwatch"), names.endpoint_stack),
        smoke_test=last_recorded(ssm, names.parameters.prefix),
        price=price,
    )


def instance_price(target: Target, instance_type: str) -> Price:
    """What one instance costs."""
    return hosting_price(target.pricing, instance_type, target.session.region, USD_AN_HOUR, DATE)


def _scaling(target: Target) -> tuple[int, int] | None:
    found = target.client("application-autoscaling").describe_scalable_targets(
        ServiceNamespace="sagemaker", ResourceIds=[target.names.scalable_resource]
    )["ScalableTargets"]
    return (found[0]["MinCapacity"], found[0]["MaxCapacity"]) if found else None


def _smoke_line(found: dict[str, Any] | None) -> str:
    if found is None:
        return "never run"
    return f"passed at {found['at']}" if found["passed"] else f"failed at {found['at']}: {', '.join(found['failed'])}"
