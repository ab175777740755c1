"""One idea a file: what it makes, what it costs to leave it lying about, and why a rule is acknowledged."""
