"""What every test run shares: property tests without a deadline, because the machines are slow and noisy at times."""

from hypothesis import settings

settings.register_profile("voice", deadline=None, print_blob=True)
settings.load_profile("voice")
