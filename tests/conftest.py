"""What holds for every test."""

from __future__ import annotations

from hypothesis import settings

# How long an example takes says more of the machine than of the code: no test has a deadline. `make check` tries the
# same examples every time; `make check-all` tries more of them (--hypothesis-profile=deep), other ones each time.
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=25)
settings.register_profile("deep", deadline=None, max_examples=100)
settings.load_profile("quick")
