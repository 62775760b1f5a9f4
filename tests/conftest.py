"""What holds for all tests."""

from hypothesis import settings

#: No test is about how long an example takes: on a busy machine that would fail by chance.
settings.register_profile("project", deadline=None)
settings.load_profile("project")
