"""What holds for every test."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("mnemond", deadline=None)  # how long an example takes says more of the machine than of us
settings.load_profile("mnemond")
