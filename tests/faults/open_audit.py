"""A program that carries out every request in one process and notes which files of stores Python itself opens.

Closing such a file drops SQLite's locks on the store; whoever else closes it then throws its log away, and what is
acknowledged from there on is lost (reliability section 0). `--planted` makes the store look at its file in just that
way. Prints where each opening came from; exit status 1 when there was one.
"""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from tempfile import TemporaryDirectory

import trio

from mnemond.store.files import StoreFiles
from tests.faults.test_cancellation import REQUESTS, World

STORE_FILES = ("mnemon.db", "mnemon.db-wal", "mnemon.db-shm")

OPENED: list[str] = []


def _plant() -> None:
    replaced = StoreFiles.replaced

    def looking(self: StoreFiles) -> str | None:
        with open(self._paths[0], "rb"):
            return replaced(self)

    StoreFiles.replaced = looking  # type: ignore[method-assign]


def _watch(data: str) -> None:
    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str | bytes):
            path = os.fsdecode(arguments[0])
            if path.startswith(data) and path.endswith(STORE_FILES):
                OPENED.append("".join(traceback.format_stack(limit=4)))

    sys.addaudithook(hook)


async def _everything(home: Path) -> None:
    world = World(home)
    await world.prepare()
    for method, params in REQUESTS.items():
        await world.prepare()
        await world.call(method, params(world))
    await world.daemon.close()


def main(arguments: list[str]) -> int:
    """0 when SQLite alone opened its files."""
    if "--planted" in arguments:
        _plant()
    with TemporaryDirectory() as home:
        _watch(f"{home}{os.sep}data{os.sep}")
        trio.run(_everything, Path(home))
    sys.stdout.write("\n".join(OPENED))
    return int(bool(OPENED))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
