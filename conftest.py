"""For all tests: a busy machine may take as long as it needs for an example of a property."""

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
