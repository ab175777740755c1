"""The `agent-infra` command: deploys, proves, operates and takes down the voice agent on AgentCore Runtime.

options, names, release               how an agent may be chosen, what it is called, what is live
model_access, profile_cache           what a Bedrock model id needs of IAM, remembered in cdk.context.json
voice                                 the speech endpoint, found through SSM
app, stacks/, constructs/             the CDK app; rules are what every template must keep
doctor, images, image_build, deployment
                                      deploy, step by step; images are built here or by CodeBuild
runtime, status, calling              what is live, and asking it
causes, removal, cleanup              what went wrong, taking down, what is left
cli/                                  the commands; each file is a group of verbs
"""
