"""What every test run shares: property tests without a deadline, and signals that mean what they say."""

import signal

from hypothesis import settings

# The machines are slow and noisy at times; no test is about how long an example takes.
settings.register_profile("voice", deadline=None, print_blob=True)
settings.register_profile("fuzz", settings.get_profile("voice"), max_examples=2000)
settings.load_profile("voice")

# A run in the background or under nohup ignores these two, and so would the commands that tests start and stop.
for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)
