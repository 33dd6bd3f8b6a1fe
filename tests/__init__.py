"""The tests, by layer."""

from hypothesis import settings

# A busy machine is not a failure: the time of a whole test is bounded elsewhere.
settings.register_profile("calm", deadline=None)
settings.load_profile("calm")
