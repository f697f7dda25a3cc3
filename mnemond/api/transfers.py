"""Transfers of content in several messages: kept by name between these, and ended when the client is silent."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Final, Generic, TypeVar

import trio

from mnemond.api import requests
from mnemond.errors import MnemonError

IDLE_S: Final = 60.0
"""Seconds without a message after which a transfer ends."""


class Transfer:
    """One transfer between two of its messages. `store`: the store that it is of, "" for none; `client`: the process
    that began it, 0 if unknown; `heard_at`: time of the last message, on trio's clock; `received`: what was received,
    in the unit that its limit has."""

    def __init__(self, store: str, client: int) -> None:
        self.store = store
        self.client = client
        self.lock = trio.Lock()
        self.heard_at = trio.current_time()
        self.received = 0
        self.spool: IO[bytes] | None = None

    def append(self, content: bytes, directory: Path) -> None:
        """Write to the end of the spool, a file without a name in `directory` that is made at first (blocking)."""
        if self.spool is None:
            self.spool = tempfile.TemporaryFile(dir=directory)  # noqa: SIM115 - closed by `close`
        self.spool.write(content)

    def close(self) -> None:
        """Discard what was received."""
        if self.spool is not None:
            self.spool.close()


T = TypeVar("T", bound=Transfer)


class Transfers(Generic[T]):
    """The transfers of one kind. `gone` returns the error for the name of one that has ended."""

    def __init__(self, gone: Callable[[], MnemonError]) -> None:
        self._gone = gone
        self._by_name: dict[str, T] = {}

    def __len__(self) -> int:
        return len(self._by_name)

    def __iter__(self) -> Iterator[T]:
        return iter(self._by_name.values())

    def begin(self, name: str, it: T) -> None:
        """Keep a transfer under a name."""
        self._by_name[name] = it

    def of(self, name: str) -> T:
        """Return a transfer of which a message came. Raises MnemonError(NOT_FOUND) if it has ended."""
        found = self._by_name.get(name)
        if found is None:
            raise self._gone()
        found.heard_at = trio.current_time()
        return found

    def take(self, name: str) -> T | None:
        """Remove a transfer, and return it; None if it has ended."""
        return self._by_name.pop(name, None)

    def end(self, name: str) -> None:
        """End a transfer, if it has not ended."""
        if (it := self.take(name)) is not None:
            it.close()

    def end_of(self, store: str) -> None:
        """End the transfers of a store."""
        for name, each in list(self._by_name.items()):
            if each.store == store:
                self.end(name)

    def end_left(self) -> None:
        """End transfers whose client's process has ended, so that the next need not wait until they are idle."""
        for name, each in list(self._by_name.items()):
            if has_ended(each.client) and not each.lock.locked():
                self.end(name)

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """End transfers whose client is silent, until cancelled; then all."""
        task_status.started()
        await watch(self._end_idle, self._end_all)

    def _end_idle(self, late: float) -> None:
        for name, each in list(self._by_name.items()):
            if each.heard_at < late and not each.lock.locked():
                self.end(name)

    def _end_all(self) -> None:
        for name in list(self._by_name):
            self.end(name)


def has_ended(pid: int) -> bool:
    """Return True for a process that has ended, also while its parent does not know it. 0 is none that is known. A
    process may have the number of one that ended before: the answer is False then."""
    if pid == 0:
        return False
    try:
        os.kill(pid, 0)
        return (requests.PROCESSES / str(pid) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[
            0
        ] in "ZX"
    except ProcessLookupError:
        return True
    except (OSError, IndexError):
        return False


async def watch(end_idle: Callable[[float], None], end_all: Callable[[], None]) -> None:
    """Call `end_idle` from time to time, with the time before which the last message of an idle transfer came, until
    cancelled; then call `end_all`."""
    try:
        while True:
            await trio.sleep(IDLE_S / 2)
            end_idle(trio.current_time() - IDLE_S)
    finally:
        end_all()
