"""What is noted with a memory: found by every read, and changed by update."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from mnemond.api.types_changes import UpdateParams
from mnemond.api.types_memories import RememberParams
from mnemond.errors import MnemonError
from tests.api.factories import CALL, bench
from tests.api.test_filters import found, remember


async def test_what_was_noted_can_be_given_anew_and_the_dates_of_the_text_stay(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        name = await remember(over, "tea on 2025-03-05", metadata={"project": "apollo", "build": 7})

        async def updated(**fields: Any) -> list[str]:
            done: Any = await over.changes.update(CALL, UpdateParams(id=name, **fields))
            return list(done.changed)

        assert await updated(metadata={"project": "zeus"}) == ["metadata"]
        assert await updated(metadata={"project": "zeus"}) == []
        assert await found(over, metadata={"project": "zeus", "build": None, "dates": "*"}) == ["tea on 2025-03-05"]
        assert await updated(content="tea on 2025-03-06", metadata={"project": "zeus"}) == ["content", "metadata"]
        assert await updated(metadata=None) == ["metadata"]
        assert await found(over, metadata={"NOT": [{"project": "*"}], "dates": "*"}) == ["tea on 2025-03-06"]
        with pytest.raises(MnemonError, match="metadata is 5,009 bytes"):
            await updated(metadata={"a": "x" * 5_000 + "y"})


async def test_a_number_that_is_a_password_is_not_stored(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        noted = {"password": 48151623, "pins": [1, 2], "build": 48151623, "password_set": True, "secret": None}
        done: Any = await over.remembering.remember(
            CALL, RememberParams(content="tea at four", metadata={**noted, "pw": [90210.5, 774411]})
        )
        assert done.redacted == ["password"]
        warm = await over.warm()
        (it,) = [warm.store.snapshot.insight(0)]
        assert msgspec.json.decode(it.metadata) == {
            **noted, "password": "[REDACTED:password]", "pw": [90210.5, "[REDACTED:password]"]
        }  # fmt: skip
