"""An AWS account on loopback, for the real CDK CLI, boto3 and Docker: moto, and what moto does not do well enough.

moto answers for S3, IAM, STS, SSM, KMS, EC2, CloudWatch, Logs and Application Auto Scaling. The faces here answer for
the rest: CloudFormation (dependency order, replacement, events, rollback, adoption of what was retained), SageMaker
hosting (an endpoint's life, with deployment alarms), AgentCore runtimes (versions, and endpoints pinned to them), ECR
(images come from a real registry), CodeBuild, what Bedrock says of models, Service Quotas and the Price List.
`tests.fake_aws.harness` starts it as a process and speaks to its control plane.
"""
