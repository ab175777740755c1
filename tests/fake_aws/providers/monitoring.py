"""CloudWatch alarms and dashboards, log groups, SNS topics."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from ..stack import Made
from .base import Clients, Nothing, Simple, exists_already, short_name, tag_list


class Alarm(Simple):
    """AWS::CloudWatch::Alarm."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """Put it."""
        alarm = properties.get("AlarmName") or short_name(name, 255)
        self._put(alarm, properties, tags)
        return self._made(alarm)

    def update(self, made: Made, old: Mapping[str, Any], new: Mapping[str, Any]) -> Made | None:
        """Put it again under its name."""
        if old.get("AlarmName") != new.get("AlarmName"):
            return None
        self._put(made.physical_id, new, {})
        return made

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """Take it away."""
        self.clients["cloudwatch"].delete_alarms(AlarmNames=[made.physical_id])

    def _put(self, alarm: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> None:
        wanted = {key: value for key, value in properties.items() if key not in {"AlarmName", "Tags"}}
        for whole in ("EvaluationPeriods", "DatapointsToAlarm", "Period"):
            if whole in wanted:
                wanted[whole] = int(wanted[whole])
        self.clients["cloudwatch"].put_metric_alarm(AlarmName=alarm, Tags=tag_list(tags), **wanted)

    def _made(self, alarm: str) -> Made:
        arn = f"arn:aws:cloudwatch:{self.clients.region}:{self.clients.account_id}:alarm:{alarm}"
        return Made(alarm, {"Arn": arn})


class Dashboard(Simple):
    """AWS::CloudWatch::Dashboard."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """Put it."""
        del tags
        dashboard = properties.get("DashboardName") or short_name(name, 255)
        self.clients["cloudwatch"].put_dashboard(DashboardName=dashboard, DashboardBody=properties["DashboardBody"])
        return Made(dashboard)

    def update(self, made: Made, old: Mapping[str, Any], new: Mapping[str, Any]) -> Made | None:
        """Put it again under its name."""
        if old.get("DashboardName") != new.get("DashboardName"):
            return None
        self.clients["cloudwatch"].put_dashboard(DashboardName=made.physical_id, DashboardBody=new["DashboardBody"])
        return made

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """Take it away."""
        self.clients["cloudwatch"].delete_dashboards(DashboardNames=[made.physical_id])


class LogGroup(Simple):
    """AWS::Logs::LogGroup."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """Make it; a name that is taken is refused."""
        group = properties.get("LogGroupName") or name
        logs = self.clients["logs"]
        own = {key: value for key, value in tags.items() if not key.startswith("aws:")}
        try:
            logs.create_log_group(logGroupName=group, tags=own)
        except logs.exceptions.ResourceAlreadyExistsException as error:
            raise exists_already("AWS::Logs::LogGroup", group) from error
        self.update(Made(group), {}, properties)
        return self._made(group)

    def update(self, made: Made, old: Mapping[str, Any], new: Mapping[str, Any]) -> Made | None:
        """How long it keeps."""
        if "RetentionInDays" in new:
            days = int(new["RetentionInDays"])
            self.clients["logs"].put_retention_policy(logGroupName=made.physical_id, retentionInDays=days)
        return made

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """Take it away."""
        logs = self.clients["logs"]
        try:
            logs.delete_log_group(logGroupName=made.physical_id)
        except logs.exceptions.ResourceNotFoundException:
            return

    def adopt(self, properties: Mapping[str, Any]) -> Made | None:
        """By its name."""
        name = properties.get("LogGroupName", "")
        found = self.clients["logs"].describe_log_groups(logGroupNamePrefix=name)["logGroups"]
        return self._made(name) if any(each["logGroupName"] == name for each in found) else None

    def _made(self, group: str) -> Made:
        arn = f"arn:aws:logs:{self.clients.region}:{self.clients.account_id}:log-group:{group}:*"
        return Made(group, {"Arn": arn})


class Topic(Simple):
    """AWS::SNS::Topic."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """Make it."""
        topic = properties.get("TopicName") or short_name(name, 256)
        arn = self.clients["sns"].create_topic(Name=topic, Tags=tag_list(tags))["TopicArn"]
        return Made(arn, {"TopicArn": arn, "TopicName": topic})

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """Take it away."""
        self.clients["sns"].delete_topic(TopicArn=made.physical_id)


KINDS: Final[Mapping[str, Callable[[Clients], Simple]]] = {
    "AWS::CloudWatch::Alarm": Alarm,
    "AWS::CloudWatch::Dashboard": Dashboard,
    "AWS::Logs::LogGroup": LogGroup,
    "AWS::SNS::Topic": Topic,
    "AWS::SNS::Subscription": Nothing,
    "AWS::SNS::TopicPolicy": Nothing,
    "AWS::CDK::Metadata": Nothing,
    "AWS::Logs::ResourcePolicy": Nothing,
    "AWS::XRay::TransactionSearchConfig": Nothing,
}
