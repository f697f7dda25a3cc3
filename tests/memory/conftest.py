"""The world of these tests, but for those that make one of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.memory.revision_world import RevisionWorld, revision_world


@pytest.fixture
def world(tmp_path: Path) -> Iterator[RevisionWorld]:
    with revision_world(tmp_path / "mnemon.db") as made:
        yield made
