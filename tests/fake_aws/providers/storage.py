"""S3 buckets and policies, ECR repositories, KMS keys and aliases, SSM parameters."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from botocore.exceptions import ClientError

from ..stack import Made
from .base import Clients, Simple, exists_already, lower_first, short_name, tag_list


class Bucket(Simple):
    """AWS::S3::Bucket."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """Make it and apply what the template says of it."""
        bucket = properties.get("BucketName") or short_name(name.lower(), 63)
        if self.adopt({"BucketName": bucket}):
            raise exists_already("AWS::S3::Bucket", bucket)
        where = {"CreateBucketConfiguration": {"LocationConstraint": self.clients.region}}
        self.clients["s3"].create_bucket(Bucket=bucket, **(where if self.clients.region != "us-east-1" else {}))
        self.clients["s3"].put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": tag_list(tags)})
        self._apply(bucket, properties)
        return self._made(bucket)

    def update(self, made: Made, old: Mapping[str, Any], new: Mapping[str, Any]) -> Made | None:
        """In place, but for its name."""
        if old and old.get("BucketName") != new.get("BucketName"):
            return None
        self._apply(made.physical_id, new)
        return made

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """Refused while it holds anything, as by the service."""
        try:
            self.clients["s3"].delete_bucket(Bucket=made.physical_id)
        except self.clients["s3"].exceptions.ClientError as error:
            if error.response["Error"]["Code"] != "NoSuchBucket":
                raise

    def adopt(self, properties: Mapping[str, Any]) -> Made | None:
        """By its name."""
        name = properties.get("BucketName")
        names = {each["Name"] for each in self.clients["s3"].list_buckets()["Buckets"]}
        return self._made(str(name)) if name in names else None

    def _made(self, bucket: str) -> Made:
        region = self.clients.region
        names = {
            "Arn": f"arn:aws:s3:::{bucket}",
            "DomainName": f"{bucket}.s3.amazonaws.com",
            "RegionalDomainName": f"{bucket}.s3.{region}.amazonaws.com",
        }
        return Made(bucket, names)

    def _apply(self, bucket: str, properties: Mapping[str, Any]) -> None:
        s3 = self.clients["s3"]
        if "VersioningConfiguration" in properties:
            s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration=dict(properties["VersioningConfiguration"]))
        if "PublicAccessBlockConfiguration" in properties:
            block = dict(properties["PublicAccessBlockConfiguration"])
            s3.put_public_access_block(Bucket=bucket, PublicAccessBlockConfiguration=block)
        rules = properties.get("BucketEncryption", {}).get("ServerSideEncryptionConfiguration", [])
        if rules:
            wanted = [
                {"ApplyServerSideEncryptionByDefault": dict(rule["ServerSideEncryptionByDefault"])} for rule in rules
            ]
            s3.put_bucket_encryption(Bucket=bucket, ServerSideEncryptionConfiguration={"Rules": wanted})


class BucketPolicy(Simple):
    """AWS::S3::BucketPolicy."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """Put the policy."""
        del name, tags
        self._put(properties)
        return Made(properties["Bucket"])

    def update(self, made: Made, old: Mapping[str, Any], new: Mapping[str, Any]) -> Made | None:
        """Put the new one."""
        if old and old["Bucket"] != new["Bucket"]:
            return None
        self._put(new)
        return made

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """Take it away from a bucket that may be gone."""
        del properties
        try:
            self.clients["s3"].delete_bucket_policy(Bucket=made.physical_id)
        except ClientError as error:
            if error.response["Error"]["Code"] != "NoSuchBucket":
                raise

    def _put(self, properties: Mapping[str, Any]) -> None:
        """moto carries a Deny out without looking at its condition, and loopback has no TLS: those stay out."""
        document = dict(properties["PolicyDocument"])
        kept = [each for each in document["Statement"] if not (each["Effect"] == "Deny" and "Condition" in each)]
        if kept:
            policy = json.dumps(document | {"Statement": kept})
            self.clients["s3"].put_bucket_policy(Bucket=properties["Bucket"], Policy=policy)


class Repository(Simple):
    """AWS::ECR::Repository."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """Make it; a name that is taken is refused."""
        repository = properties.get("RepositoryName") or short_name(name.lower(), 256)
        if self.adopt({"RepositoryName": repository}):
            raise exists_already("AWS::ECR::Repository", repository)
        encryption = lower_first(properties.get("EncryptionConfiguration", {"EncryptionType": "AES256"}))
        self.clients["ecr"].create_repository(
            repositoryName=repository,
            tags=tag_list(tags),
            imageTagMutability=properties.get("ImageTagMutability", "MUTABLE"),
            encryptionConfiguration=encryption,
        )
        return self._made(repository)

    def update(self, made: Made, old: Mapping[str, Any], new: Mapping[str, Any]) -> Made | None:
        """In place, but for its name."""
        return None if old and old.get("RepositoryName") != new.get("RepositoryName") else made

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """Refused while it holds images, unless the template empties it."""
        force = bool(properties.get("EmptyOnDelete"))
        try:
            self.clients["ecr"].delete_repository(repositoryName=made.physical_id, force=force)
        except self.clients["ecr"].exceptions.RepositoryNotFoundException:
            return

    def adopt(self, properties: Mapping[str, Any]) -> Made | None:
        """By its name."""
        name = properties.get("RepositoryName")
        names = {each["repositoryName"] for each in self.clients["ecr"].describe_repositories()["repositories"]}
        return self._made(str(name)) if name in names else None

    def _made(self, repository: str) -> Made:
        found = self.clients["ecr"].describe_repositories(repositoryNames=[repository])["repositories"]
        entry = next(each for each in found if each["repositoryName"] == repository)
        return Made(repository, {"Arn": entry["repositoryArn"], "RepositoryUri": entry["repositoryUri"]})


class Key(Simple):
    """AWS::KMS::Key."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """Make it."""
        del name
        policy = json.dumps(properties["KeyPolicy"])
        wanted = tag_list(tags, keys=("TagKey", "TagValue"))
        made = self.clients["kms"].create_key(
            Policy=policy, Description=properties.get("Description", ""), Tags=wanted
        )["KeyMetadata"]
        return Made(made["KeyId"], {"Arn": made["Arn"], "KeyId": made["KeyId"]})

    def update(self, made: Made, old: Mapping[str, Any], new: Mapping[str, Any]) -> Made | None:
        """Its policy and description change in place."""
        self.clients["kms"].put_key_policy(
            KeyId=made.physical_id, PolicyName="default", Policy=json.dumps(new["KeyPolicy"])
        )
        return made

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """Scheduled, as keys are."""
        days = int(properties.get("PendingWindowInDays", 30))
        self.clients["kms"].schedule_key_deletion(KeyId=made.physical_id, PendingWindowInDays=days)


class Alias(Simple):
    """AWS::KMS::Alias."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """Make it."""
        del name, tags
        self.clients["kms"].create_alias(AliasName=properties["AliasName"], TargetKeyId=properties["TargetKeyId"])
        return Made(properties["AliasName"])

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """Take it away."""
        self.clients["kms"].delete_alias(AliasName=made.physical_id)


class Parameter(Simple):
    """AWS::SSM::Parameter."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """Make it; a name that is taken is refused."""
        parameter = properties.get("Name") or name
        try:
            self.clients["ssm"].put_parameter(
                Name=parameter, Value=properties["Value"], Type=properties["Type"], Tags=tag_list(tags)
            )
        except self.clients["ssm"].exceptions.ParameterAlreadyExists as error:
            raise exists_already("AWS::SSM::Parameter", parameter) from error
        return self._made(parameter, properties)

    def update(self, made: Made, old: Mapping[str, Any], new: Mapping[str, Any]) -> Made | None:
        """A new version."""
        if old.get("Name") != new.get("Name"):
            return None
        self.clients["ssm"].put_parameter(Name=made.physical_id, Value=new["Value"], Type=new["Type"], Overwrite=True)
        return self._made(made.physical_id, new)

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """Gone with its history."""
        try:
            self.clients["ssm"].delete_parameter(Name=made.physical_id)
        except self.clients["ssm"].exceptions.ParameterNotFound:
            return

    @staticmethod
    def _made(name: str, properties: Mapping[str, Any]) -> Made:
        return Made(name, {"Type": properties["Type"], "Value": properties["Value"]})


KINDS: Final[Mapping[str, Callable[[Clients], Simple]]] = {
    "AWS::S3::Bucket": Bucket,
    "AWS::S3::BucketPolicy": BucketPolicy,
    "AWS::ECR::Repository": Repository,
    "AWS::KMS::Key": Key,
    "AWS::KMS::Alias": Alias,
    "AWS::SSM::Parameter": Parameter,
}
