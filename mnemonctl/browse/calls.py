"""Calls to the daemon from the event loop of the browser: a thread and a connection for reads, others for writes."""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import uuid4

import msgspec

from mnemonctl import daemon, fast, rpc
from mnemonctl.client import Client
from mnemond.api.types_admin import CliRunParams, CliRunResult
from mnemond.cli.output import neutralise
from mnemond.errors import MnemonError

T = TypeVar("T")

READ_S: Final = 10.0
"""Seconds that a read may take: a person waits at a screen."""

WRITE_S: Final = 300.0
"""Seconds that a write may take: a job may go through a whole store."""

_UNDO_HINTS: Final = ("undo: ", "To take it back: ", "To have it again: ")
"""Beginnings of lines that name a command; here a key does the same."""

_result = msgspec.json.Decoder(CliRunResult)


def is_absence(error: MnemonError) -> bool:
    """Return True if the daemon does not answer, so that what was read before may be as true as ever."""
    return isinstance(error, (rpc.NotRunningError, rpc.NoReplyError))


class Done(msgspec.Struct, frozen=True):
    """The result of a command line. `lines`: what it printed, escaped; `op_id` takes it back, None if it failed or
    cannot be named."""

    succeeded: bool
    lines: tuple[str, ...]
    op_id: str | None

    @property
    def sentence(self) -> str:
        """All of it in one line."""
        return " · ".join(line.strip() for line in self.lines)


class _Lane:
    """A thread that carries out calls one after the other with a client of its own. Those that were cancelled before
    their turn are left out. The thread does not keep the process from ending."""

    def __init__(self, client: Client, name: str) -> None:
        self._client = client
        self._waiting: queue.SimpleQueue[tuple[Future[Any], Callable[[Client], Any]] | None] = queue.SimpleQueue()
        threading.Thread(target=self._work, name=name, daemon=True).start()

    async def call(self, ask: Callable[[Client], T]) -> T:
        """Return what `ask` returns, or raise what it raises."""
        future: Future[T] = Future()
        self._waiting.put((future, ask))
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """End the thread after the call that it carries out."""
        self._waiting.put(None)

    def _work(self) -> None:
        while (item := self._waiting.get()) is not None:
            future, ask = item
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = ask(self._client)
            except BaseException as error:  # noqa: ASYNC103 - in a thread; raised where the result is awaited
                future.set_exception(error)
            else:
                future.set_result(result)
        self._client.close()


class Daemon:
    """The daemon of a data directory, for the browser.

    `store`: None for the active one. `scope`: scope ids, by the names of their parameters. `at_terminal`: a person sits
    at a terminal, so that what only a person may do is allowed; the daemon checks it once more.
    """

    def __init__(
        self, directory: Path, store: str | None = None, scope: Mapping[str, str] | None = None, *, at_terminal: bool
    ) -> None:
        self.directory = directory
        self.store = store
        self.scope: dict[str, Any] = dict(scope or {})
        self._at_terminal = at_terminal
        self._reads, self._writes = (
            _Lane(Client(data_dir=directory, store=store, timeout_s=seconds, start=False), name)
            for seconds, name in ((READ_S, "reads"), (WRITE_S, "writes"))
        )

    async def read(self, ask: Callable[[Client], T]) -> T:
        """Call methods that only read. Raises MnemonError."""
        return await self._reads.call(ask)

    async def run(self, *argv: str, words: tuple[str, ...] = (), stdin: str | None = None, named: bool = True) -> Done:
        """Run a command line that writes, as if it were typed. `words` are never taken for options. `named`: it is
        given an operation id, so that it is carried out once even if it has to be sent again.

        Raises MnemonError if no answer comes; a refusal is a result."""
        op_id = str(uuid4()) if named else None
        line = [*argv, "--text", *(f"--{name.replace('_', '-')}={value}" for name, value in self.scope.items())]
        line += [f"--op-id={op_id}"] if op_id else []
        params = CliRunParams(
            argv=[*line, "--", *words] if words else line, stdin=stdin, tty=self._at_terminal,
            tty_err=self._at_terminal, columns=fast.columns(), env_store=self.store,
            directory=fast.working_directory() or None,
        )  # fmt: skip
        raw = await self._writes.call(lambda client: client.send("cli.run", params, repeatable=named))
        try:
            result = _result.decode(raw)
        except msgspec.DecodeError:
            raise rpc.not_understood(bytes(raw)) from None
        shown = neutralise(result.stderr + result.stdout).splitlines()
        lines = tuple(line for line in shown if line.strip() and not line.strip().startswith(_UNDO_HINTS))
        succeeded = result.exit_code == 0
        return Done(succeeded, lines, op_id if succeeded else None)

    async def start(self) -> None:
        """Start the daemon if none runs. Raises MnemonError."""
        await self._writes.call(lambda _: daemon.start(self.directory, daemon.start_wait(os.environ)))

    def close(self) -> None:
        """Close both connections. A call that is under way is not waited for."""
        self._reads.close()
        self._writes.close()
