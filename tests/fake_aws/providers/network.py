"""The parts of a VPC without a way out: subnets, route tables, security groups, VPC endpoints, flow logs."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from botocore.exceptions import ClientError

from ..stack import Made
from .base import Clients, Nothing, Simple, tag_list


class Networked(Simple):
    """What EC2 makes: tagged at creation, deleted by id, replaced when it changes in more than tags."""

    def tags(self, kind: str, tags: Mapping[str, str]) -> list[dict[str, Any]]:
        """TagSpecifications."""
        return [{"ResourceType": kind, "Tags": tag_list(tags)}]

    def gone(self, delete: Callable[..., Any], **which: str) -> None:
        """Delete, whether or not it is there still."""
        try:
            delete(**which)
        except ClientError as error:
            if "NotFound" not in error.response["Error"]["Code"]:
                raise


class Vpc(Networked):
    """AWS::EC2::VPC."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """Make it."""
        del name
        ec2 = self.clients["ec2"]
        vpc = ec2.create_vpc(CidrBlock=properties["CidrBlock"], TagSpecifications=self.tags("vpc", tags))["Vpc"]
        groups = ec2.describe_security_groups(Filters=[{"Name": "vpc-id", "Values": [vpc["VpcId"]]}])["SecurityGroups"]
        attributes = {
            "VpcId": vpc["VpcId"],
            "CidrBlock": vpc["CidrBlock"],
            "DefaultSecurityGroup": groups[0]["GroupId"],
            "DefaultNetworkAcl": "acl-default",
        }
        return Made(vpc["VpcId"], attributes)

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """Take it away."""
        self.gone(self.clients["ec2"].delete_vpc, VpcId=made.physical_id)


class Subnet(Networked):
    """AWS::EC2::Subnet."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """Make it."""
        del name
        subnet = self.clients["ec2"].create_subnet(
            VpcId=properties["VpcId"],
            CidrBlock=properties["CidrBlock"],
            AvailabilityZone=properties["AvailabilityZone"],
            TagSpecifications=self.tags("subnet", tags),
        )["Subnet"]
        attributes = {"SubnetId": subnet["SubnetId"], "AvailabilityZone": subnet["AvailabilityZone"]}
        return Made(subnet["SubnetId"], attributes)

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """Take it away."""
        self.gone(self.clients["ec2"].delete_subnet, SubnetId=made.physical_id)


class RouteTable(Networked):
    """AWS::EC2::RouteTable."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """Make it."""
        del name
        table = self.clients["ec2"].create_route_table(
            VpcId=properties["VpcId"], TagSpecifications=self.tags("route-table", tags)
        )["RouteTable"]
        return Made(table["RouteTableId"], {"RouteTableId": table["RouteTableId"]})

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """Take it away."""
        self.gone(self.clients["ec2"].delete_route_table, RouteTableId=made.physical_id)


class RouteTableAssociation(Networked):
    """AWS::EC2::SubnetRouteTableAssociation."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """Make it."""
        del name, tags
        answer = self.clients["ec2"].associate_route_table(
            RouteTableId=properties["RouteTableId"], SubnetId=properties["SubnetId"]
        )
        return Made(answer["AssociationId"], {"Id": answer["AssociationId"]})

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """Take it away."""
        self.gone(self.clients["ec2"].disassociate_route_table, AssociationId=made.physical_id)


class SecurityGroup(Networked):
    """AWS::EC2::SecurityGroup."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """Make it; nobody here looks at its rules."""
        group = self.clients["ec2"].create_security_group(
            GroupName=properties.get("GroupName", name),
            Description=properties["GroupDescription"],
            VpcId=properties["VpcId"],
            TagSpecifications=self.tags("security-group", tags),
        )["GroupId"]
        return Made(group, {"GroupId": group, "VpcId": properties["VpcId"]})

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """Take it away."""
        self.gone(self.clients["ec2"].delete_security_group, GroupId=made.physical_id)


class VpcEndpoint(Networked):
    """AWS::EC2::VPCEndpoint."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """Make it."""
        del name
        keys = {"RouteTableIds", "SubnetIds", "SecurityGroupIds"}
        endpoint = self.clients["ec2"].create_vpc_endpoint(
            VpcId=properties["VpcId"],
            ServiceName=properties["ServiceName"],
            VpcEndpointType=properties["VpcEndpointType"],
            TagSpecifications=self.tags("vpc-endpoint", tags),
            **{key: value for key, value in properties.items() if key in keys},
        )["VpcEndpoint"]
        return Made(endpoint["VpcEndpointId"], {"Id": endpoint["VpcEndpointId"]})

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """Take it away."""
        self.clients["ec2"].delete_vpc_endpoints(VpcEndpointIds=[made.physical_id])


KINDS: Final[Mapping[str, Callable[[Clients], Simple]]] = {
    "AWS::EC2::VPC": Vpc,
    "AWS::EC2::Subnet": Subnet,
    "AWS::EC2::RouteTable": RouteTable,
    "AWS::EC2::SubnetRouteTableAssociation": RouteTableAssociation,
    "AWS::EC2::SecurityGroup": SecurityGroup,
    "AWS::EC2::SecurityGroupIngress": Nothing,
    "AWS::EC2::SecurityGroupEgress": Nothing,
    "AWS::EC2::VPCEndpoint": VpcEndpoint,
    "AWS::EC2::FlowLog": Nothing,
}
