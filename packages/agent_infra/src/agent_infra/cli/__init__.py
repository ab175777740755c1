"""The commands of `agent-infra`, a file for each group of verbs. boto3 and CDK are imported where they are needed."""
