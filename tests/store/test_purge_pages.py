"""Purged memories among many others: tables grow and shrink, and their pages keep no copy."""

from __future__ import annotations

import random
import string
from pathlib import Path

import msgspec

from mnemond.model.changes import AddInsight, Change, ChangeSet, PurgeInsight, PutInsight
from mnemond.model.memory import Insight, format_us
from tests.outcomes import collected
from tests.store.factories import START_US, bytes_of, engine_at, insight_id, remember, vector_of
from tests.tables import each_row


class Churn:
    """Memories of all sizes that come, grow and go, so that the pages of every table split and merge."""

    def __init__(self, directory: Path, seed: int) -> None:
        directory.mkdir()
        self.directory = directory
        self.chance = random.Random(seed)
        self.engine = engine_at(directory / "mnemon.db")
        self.alive: dict[int, Insight] = {}
        self.steps = 0

    def text(self, number: int, most: int) -> str:
        filler = "".join(self.chance.choices(string.ascii_lowercase + "   ", k=self.chance.randrange(20, most)))
        return f"BEGIN{number:05d}QQ {filler} END{number:05d}QQ"

    def come(self, number: int) -> None:
        write = remember(number, self.text(number, 900), op_id=f"{self.chance.random()}")
        (change,) = write.changes
        assert isinstance(change, AddInsight)
        self.alive[number] = change.insight
        self.commit(write.changes)

    def grow(self) -> None:
        for number in self.chance.sample(sorted(self.alive), min(8, len(self.alive))):
            grown = msgspec.structs.replace(self.alive[number], content=self.text(number, 1800))
            self.alive[number] = grown
            self.commit((PutInsight(grown),))

    def go(self) -> list[int]:
        gone = self.chance.sample(sorted(self.alive), 6)
        for number in gone:
            del self.alive[number]
        self.commit(tuple(PurgeInsight(insight_id(each)) for each in gone))
        return gone

    def commit(self, changes: tuple[Change, ...]) -> None:
        self.steps += 1
        outcome = collected("x")
        (result,) = self.engine.commit([ChangeSet(f"{self.steps}", False, "gc", format_us(START_US), changes, outcome)])
        assert result == outcome

    def left(self, gone: list[int]) -> list[bytes]:
        """What can still be read of memories."""
        content = bytes_of(self.directory)
        return [word for each in gone for word in words_of(each) if word in content]


def words_of(number: int) -> tuple[bytes, bytes, bytes]:
    return (
        f"BEGIN{number:05d}QQ".encode(), f"END{number:05d}QQ".encode(), vector_of(number).astype("<f4").tobytes(),
    )  # fmt: skip


def churned(churn: Churn, rounds: int) -> list[bytes]:
    """What could still be read of memories that had been purged, over some rounds."""
    found: list[bytes] = []
    for number in range(rounds * 12):
        churn.come(number)
        if number % 12 == 11:
            churn.grow()
            found += churn.left(churn.go())
    found += [word for each in churn.alive for word in words_of(each) if word not in bytes_of(churn.directory)]
    churn.engine.close()
    return found


@each_row("seed", [1, 3])
def test_copies_that_a_growing_table_leaves_behind_go_too(tmp_path: Path, seed: int) -> None:
    """With these seeds, deleting alone (`secure_delete`, and the log truncated) left one and three words readable."""
    assert churned(Churn(tmp_path / "store", seed), 12) == []
