"""pin: changes one thing, once, and says whether it did."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemond.errors import NOT_FOUND, MnemonError
from tests.memory.factories import Desk
from tests.store.factories import forget, insight_id


def test_a_memory_is_pinned_and_unpinned(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "mnemon.db", memories=2)
    assert (desk.pin(1).status, desk.insight(1).pinned, desk.insight(2).pinned) == ("pinned", True, False)
    assert desk.snapshot.columns.pinned[desk.row(1)] == 1
    assert desk.pin(1).changed is False
    unpinned = desk.pin(1, pinned=False)
    assert (unpinned.status, unpinned.changed, desk.insight(1).pinned) == ("unpinned", True, False)
    assert [record.operation_type for record in desk.history_of(1)] == ["CREATE", "UPDATE", "UPDATE"]
    assert [line[0] for line in desk.lines()[-3:]] == ["pin", "pin", "unpin"]
    desk.close()
    again = Desk(tmp_path / "mnemon.db")
    assert again.insight(1).pinned is False
    again.pin(2)
    again.close()
    third = Desk(tmp_path / "mnemon.db")
    assert (third.insight(2).pinned, third.snapshot.columns.pinned[third.row(2)]) == (True, 1)
    third.close()


def test_what_was_forgotten_is_not_pinned(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "mnemon.db", memories=1)
    desk.commit(forget(1))
    with pytest.raises(MnemonError, match=f"{insight_id(1)} is not active: it is forgotten") as caught:
        desk.pin(1)
    assert caught.value.kind is NOT_FOUND
    back = f"`mnemonctl restore {insight_id(1)}` brings it back; `mnemonctl list` shows the active ones"
    assert caught.value.hint == back
    desk.close()
