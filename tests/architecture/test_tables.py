"""A table tried by one test hides no row that fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tables import each_row


async def test_every_row_is_tried_and_those_that_fail_are_named(tmp_path: Path) -> None:
    seen = []

    @each_row("word, length", [("one", 3), ("two", 4), pytest.param("three", 6, id="longest")])
    def lengths(word: str, length: int, tmp_path: Path) -> None:
        tmp_path.rmdir()
        seen.append(word)
        assert len(word) == length

    @each_row("word", ["one", "two"])
    async def fails(word: str) -> None:
        with pytest.raises(ValueError, match="never"):
            seen.append(word)

    with pytest.raises(ExceptionGroup, match="2 of 3 rows fail") as found:
        lengths(tmp_path=tmp_path)
    notes = [error.__notes__ for error in found.value.exceptions]
    assert notes == [["row : {'word': 'two', 'length': 4}"], ["row longest: {'word': 'three', 'length': 6}"]]
    with pytest.raises(BaseExceptionGroup, match="2 of 2 rows fail"):
        await fails()
    assert seen == ["one", "two", "three", "one", "two"]


@pytest.mark.parametrize("rows", [[], [("a",)], [pytest.param("a", "b", marks=pytest.mark.slow)]])
def test_a_table_that_would_try_nothing_is_refused(rows: list[object]) -> None:
    with pytest.raises(ValueError, match="rows"):
        each_row("word, length", rows)
