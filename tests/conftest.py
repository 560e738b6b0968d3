"""Settings for all tests: Hypothesis repeats its runs, and does not time them on noisy machines."""

from hypothesis import settings

collect_ignore_glob = ["data/*"]  # scripts there need tools that are not installed

settings.register_profile("maxatk", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("maxatk")
