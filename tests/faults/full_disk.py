"""A program that fills the small file system at a directory by remembering, and forgets there when it is full.

Prints what happened, a line each.
"""

from __future__ import annotations

import sys
from pathlib import Path

from mnemond.errors import MnemonError
from mnemond.model.outcomes import ForgetResult, RememberResult
from mnemond.store.engine import Engine
from mnemond.store.health import Ballast
from tests.store.factories import contents, forget, open_at, remember, stored

MOST = 20_000
FREED = 200


def main(home: Path) -> None:
    """Until the disk is full, then on."""
    filler = home / "filler"
    filler.write_bytes(bytes(9 << 20))
    ballast = Ballast(home)
    assert ballast.make()
    path = home / "a.db"
    engine = Engine(open_at(path), lambda: open_at(path), _unforeseen, ballast)
    acknowledged, refusal = set[str](), None
    for number in range(1, MOST):
        text = f"memory {number} " + "x" * 7_000
        (result,) = engine.commit([remember(number, text)])
        if isinstance(result, MnemonError):
            refusal = result
            break
        acknowledged.add(text)
        engine.checkpoint_if_due()
    say("full", refusal is not None, ballast.exists, engine.health.degraded_reason)
    say("recalled", acknowledged <= contents(engine))
    (again,) = engine.commit([remember(MOST)])
    say("refused", isinstance(again, MnemonError) and again.outcome)
    forgotten = 0
    for number in range(1, FREED):
        (result,) = engine.commit([forget(number)])
        forgotten += isinstance(result, ForgetResult)
        engine.checkpoint_if_due()  # as the writer does after every batch
    say("forgotten", forgotten == FREED - 1)
    filler.unlink()
    (after,) = engine.commit([remember(MOST + 1)])
    say("room", isinstance(after, RememberResult), ballast.exists, engine.health.degraded_reason)
    engine.close()
    gone = {f"memory {number} " + "x" * 7_000 for number in range(1, FREED)}
    say("kept", acknowledged - gone <= set(stored(path)))


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")


def _unforeseen(where: str, error: BaseException) -> None:
    raise AssertionError(where) from error


if __name__ == "__main__":
    main(Path(sys.argv[1]))
