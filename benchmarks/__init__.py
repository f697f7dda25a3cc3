"""Measurements against the real daemon; each module is a command: recall, latency, demo."""

from __future__ import annotations

import os

# The floors are measured in this process with the daemon's own setting; numpy reads it once, when first imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
