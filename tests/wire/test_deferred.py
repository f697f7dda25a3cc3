"""Results that come later."""

from __future__ import annotations

import pytest

from mnemond import errors
from mnemond.errors import MnemonError
from mnemond.wire.dispatch import Deferred


def test_settles_once_and_tells_everyone_in_order() -> None:
    deferred: Deferred[int] = Deferred()
    told: list[object] = []
    deferred.subscribe(lambda: told.append(("first", deferred.result())))
    deferred.subscribe(lambda: told.append("second"))
    assert not deferred.settled
    deferred.resolve(7)
    deferred.subscribe(lambda: told.append("late"))
    assert told == [("first", 7), "second", "late"]
    with pytest.raises(RuntimeError, match="only once"):
        deferred.resolve(8)
    with pytest.raises(RuntimeError, match="only once"):
        deferred.fail(ValueError())


def test_asking_too_early_is_a_mistake() -> None:
    with pytest.raises(RuntimeError, match="not settled"):
        Deferred[int]().result()


def test_failure_reaches_whoever_asks() -> None:
    deferred: Deferred[int] = Deferred()
    deferred.fail(MnemonError(errors.BUSY, "later"))
    with pytest.raises(MnemonError, match="later"):
        deferred.map(str).result()


def test_a_change_runs_for_the_asker_and_not_for_the_settler() -> None:
    deferred: Deferred[int] = Deferred()
    broken = deferred.map(lambda n: 1 // n)
    told: list[bool] = []
    broken.subscribe(lambda: told.append(broken.settled))
    assert not broken.settled
    deferred.resolve(0)
    assert told == [True]
    with pytest.raises(ZeroDivisionError):
        broken.result()
    assert deferred.map(lambda n: n + 1).map(str).result() == "1"
    with pytest.raises(RuntimeError, match="through its source"):
        broken.resolve(1)
