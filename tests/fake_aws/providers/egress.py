"""A VPC's way out: internet gateway, address, NAT gateway, and the routes that lead there."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from ..stack import Made
from .base import Clients, Simple
from .network import Networked


class InternetGateway(Networked):
    """AWS::EC2::InternetGateway."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """Make it."""
        del name, properties
        specification = self.tags("internet-gateway", tags)
        made = self.clients["ec2"].create_internet_gateway(TagSpecifications=specification)["InternetGateway"]
        return Made(made["InternetGatewayId"], {"InternetGatewayId": made["InternetGatewayId"]})

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """Take it away."""
        self.gone(self.clients["ec2"].delete_internet_gateway, InternetGatewayId=made.physical_id)


class GatewayAttachment(Networked):
    """AWS::EC2::VPCGatewayAttachment."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """Make it."""
        del tags
        gateway, vpc = properties["InternetGatewayId"], properties["VpcId"]
        self.clients["ec2"].attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
        return Made(name, {"AttachmentType": "IGW"})

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """Take it away."""
        gateway, vpc = properties["InternetGatewayId"], properties["VpcId"]
        self.gone(self.clients["ec2"].detach_internet_gateway, InternetGatewayId=gateway, VpcId=vpc)


class Address(Networked):
    """AWS::EC2::EIP."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """Make it."""
        del name, properties
        made = self.clients["ec2"].allocate_address(Domain="vpc", TagSpecifications=self.tags("elastic-ip", tags))
        attributes = {"AllocationId": made["AllocationId"], "PublicIp": made["PublicIp"]}
        return Made(made["PublicIp"], attributes)

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """Take it away."""
        self.gone(self.clients["ec2"].release_address, AllocationId=made.attributes["AllocationId"])


class NatGateway(Networked):
    """AWS::EC2::NatGateway."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """Make it."""
        del name
        made = self.clients["ec2"].create_nat_gateway(
            SubnetId=properties["SubnetId"],
            AllocationId=properties["AllocationId"],
            TagSpecifications=self.tags("natgateway", tags),
        )["NatGateway"]
        return Made(made["NatGatewayId"], {"NatGatewayId": made["NatGatewayId"]})

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """Take it away."""
        self.gone(self.clients["ec2"].delete_nat_gateway, NatGatewayId=made.physical_id)


class Route(Networked):
    """AWS::EC2::Route."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """Make it."""
        del tags
        ways = {key: properties[key] for key in ("GatewayId", "NatGatewayId") if key in properties}
        self.clients["ec2"].create_route(
            RouteTableId=properties["RouteTableId"],
            DestinationCidrBlock=properties["DestinationCidrBlock"],
            **ways,
        )
        return Made(name)

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """Take it away."""
        self.gone(
            self.clients["ec2"].delete_route,
            RouteTableId=properties["RouteTableId"],
            DestinationCidrBlock=properties["DestinationCidrBlock"],
        )


KINDS: Final[Mapping[str, Callable[[Clients], Simple]]] = {
    "AWS::EC2::InternetGateway": InternetGateway,
    "AWS::EC2::VPCGatewayAttachment": GatewayAttachment,
    "AWS::EC2::EIP": Address,
    "AWS::EC2::NatGateway": NatGateway,
    "AWS::EC2::Route": Route,
}
