"""IAM roles, policies and the OIDC provider of a pipeline."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from botocore.exceptions import ClientError

from ..stack import Made
from .base import Clients, Simple, exists_already, short_name, tag_list


class Role(Simple):
    """AWS::IAM::Role."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """Make it with its inline and managed policies."""
        iam = self.clients["iam"]
        role = properties.get("RoleName") or short_name(name, 64)
        try:
            made = iam.create_role(
                RoleName=role,
                AssumeRolePolicyDocument=json.dumps(properties["AssumeRolePolicyDocument"]),
                Tags=tag_list(tags),
            )["Role"]
        except iam.exceptions.EntityAlreadyExistsException as error:
            raise exists_already("AWS::IAM::Role", role) from error
        self._apply(role, properties)
        return Made(role, {"Arn": made["Arn"], "RoleId": made["RoleId"]})

    def update(self, made: Made, old: Mapping[str, Any], new: Mapping[str, Any]) -> Made | None:
        """In place, but for its name."""
        if old.get("RoleName") != new.get("RoleName"):
            return None
        document = json.dumps(new["AssumeRolePolicyDocument"])
        self.clients["iam"].update_assume_role_policy(RoleName=made.physical_id, PolicyDocument=document)
        self._apply(made.physical_id, new)
        return made

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """With everything that hangs on it."""
        iam, role = self.clients["iam"], made.physical_id
        try:
            for name in iam.list_role_policies(RoleName=role)["PolicyNames"]:
                iam.delete_role_policy(RoleName=role, PolicyName=name)
            for each in iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"]:
                iam.detach_role_policy(RoleName=role, PolicyArn=each["PolicyArn"])
            iam.delete_role(RoleName=role)
        except iam.exceptions.NoSuchEntityException:
            return

    def _apply(self, role: str, properties: Mapping[str, Any]) -> None:
        for policy in properties.get("Policies", []):
            self.clients["iam"].put_role_policy(
                RoleName=role, PolicyName=policy["PolicyName"], PolicyDocument=json.dumps(policy["PolicyDocument"])
            )


class InlinePolicy(Simple):
    """AWS::IAM::Policy."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """Put it on every role that it names."""
        del name, tags
        self._put(properties)
        return Made(properties["PolicyName"])

    def update(self, made: Made, old: Mapping[str, Any], new: Mapping[str, Any]) -> Made | None:
        """Put the new document."""
        if old.get("PolicyName") != new["PolicyName"]:
            return None
        self._put(new)
        return made

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """Take it off roles that may be gone."""
        for role in properties.get("Roles", []):
            try:
                self.clients["iam"].delete_role_policy(RoleName=role, PolicyName=properties["PolicyName"])
            except self.clients["iam"].exceptions.NoSuchEntityException:
                continue

    def _put(self, properties: Mapping[str, Any]) -> None:
        for role in properties.get("Roles", []):
            self.clients["iam"].put_role_policy(
                RoleName=role,
                PolicyName=properties["PolicyName"],
                PolicyDocument=json.dumps(properties["PolicyDocument"]),
            )


class ManagedPolicy(Simple):
    """AWS::IAM::ManagedPolicy."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """Make it."""
        del tags
        made = self.clients["iam"].create_policy(
            PolicyName=properties.get("ManagedPolicyName") or short_name(name, 128),
            PolicyDocument=json.dumps(properties["PolicyDocument"]),
        )["Policy"]
        return Made(made["Arn"], {"PolicyArn": made["Arn"]})

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """Take it away."""
        self.clients["iam"].delete_policy(PolicyArn=made.physical_id)


class OidcProvider(Simple):
    """AWS::IAM::OIDCProvider."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """Make it; there is one an address in an account."""
        del name, tags
        try:
            made = self.clients["iam"].create_open_id_connect_provider(
                Url=properties["Url"],
                ClientIDList=properties.get("ClientIdList", []),
                ThumbprintList=properties.get("ThumbprintList", ["0" * 40]),
            )
        except ClientError as error:
            raise exists_already("AWS::IAM::OIDCProvider", properties["Url"]) from error
        return Made(made["OpenIDConnectProviderArn"], {"Arn": made["OpenIDConnectProviderArn"]})

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """Take it away."""
        self.clients["iam"].delete_open_id_connect_provider(OpenIDConnectProviderArn=made.physical_id)


KINDS: Final[Mapping[str, Callable[[Clients], Simple]]] = {
    "AWS::IAM::Role": Role,
    "AWS::IAM::Policy": InlinePolicy,
    "AWS::IAM::ManagedPolicy": ManagedPolicy,
    "AWS::IAM::OIDCProvider": OidcProvider,
}
