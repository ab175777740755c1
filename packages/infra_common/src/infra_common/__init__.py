"""What `speech-infra` and `agent-infra` share: everything about deploying that is not about speech or agents.

    errors        the tree, whose branches are the exit codes
    console       steps, lines, tables and JSON, on a terminal and off it
    situation, choices, option_group, program
                  the options of every verb, and those of several; errors as lines and exit codes
    deployment_target
                  a stage of an account and region, with the tools to reach it
    session       boto3 clients of one account and region; aws_errors turns what they raise into sentences
    checks        preflight checks: id, result, fix; preflight has the ones that both commands make
    assembly      the CDK app, made in this process; cdk_cli runs the pinned command on it
    stack_state, stack_events, stack_watch, stack_recovery, stack_deployment, stack_removal, failure
                  one stack: what it is, what happened, waiting, getting unstuck, changing, deleting, explaining
    difference    what a deployment would change
    container_engine, content_tag, base_image, image_recipe, image_store
                  build once by content, push with progress, refer by digest
    leftovers, kept_resources, object_versions
                  what is still there, why, what it costs, and the command that removes it
    prices        the Price List, with a dated table behind it
    ownership, resource_tags
                  the tags that say whose a resource is
    release_record, status
                  how a release is stored; how things are, and what a verb has changed of them
    parameters, endpoint_parameters
                  SSM parameters; where an endpoint is and who uses it, which the two commands tell each other
    log_lines     a log group's lines, and those that come
    rules, rule_check, governed_app, constructs/
                  what every template must keep; what the stacks of both commands have in them

Nothing here imports CDK until an app is synthesised, nor boto3 until AWS is asked.
"""
