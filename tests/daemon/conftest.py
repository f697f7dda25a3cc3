"""What tests of whole daemons share."""

from __future__ import annotations

from tests.faults.forked_daemons import forked_daemons

__all__ = ["forked_daemons"]
