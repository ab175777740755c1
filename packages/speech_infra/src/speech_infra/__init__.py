"""The `speech-infra` command: deploys, proves, operates and takes down the speech endpoint on Amazon SageMaker AI.

catalogue, options, names, release    what can be deployed, how it may be chosen, what it is called, what is live
app, stacks/, constructs/             the CDK app; rules and rule_check are what every template must keep
doctor, images, weights, deployment   deploy, step by step
smoke_test, smoke_report, speaking    does it speak as it should
endpoint, status, logs                what is live
causes, removal, cleanup              what went wrong, taking down, what is left
cli/                                  the commands; each file is a group of verbs
"""
