"""What the stacks of both commands have in them. CDK is imported here, so this is imported inside an app only."""
