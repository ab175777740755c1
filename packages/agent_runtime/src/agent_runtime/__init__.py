"""The voice agent: a Strands agent that speaks while it writes.

`bidi.run_bidi` and `batch.run_batch` make the events of one answer, `app.create_app` serves them, `cli` starts it all.
Nothing is imported here: Strands and boto3 take seconds, which `agent-runtime --help` should not.
"""
