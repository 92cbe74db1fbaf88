"""Settings of the tests of traffic."""

import hypothesis

hypothesis.settings.register_profile("steady", deadline=None)  # no time of a busy machine fails a test
hypothesis.settings.load_profile("steady")
