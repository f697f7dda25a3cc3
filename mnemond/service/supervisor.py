"""The listening socket that launchd of macOS made for this process, as launch_activate_socket(3) hands it out."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from typing import Any, Final, Protocol

import msgspec
import trio
from structlog.typing import FilteringBoundLogger

from mnemond.clock import monotonic_us
from mnemond.config.loading import differing, is_live
from mnemond.config.settings import Config
from mnemond.errors import CONFIG, MnemonError

NAME: Final = "rpc"
"""Of the socket, in the property list."""

LABELS: Final = "dev.mnemon.mnemond"
"""How the label of every job of ours begins; launchd gives it in $XPC_SERVICE_NAME."""

Activate = Callable[[Any, Any, Any], int]
"""launch_activate_socket: name, where to put the address of the descriptors, where to put their number → errno."""


def passed_socket(environ: Mapping[str, str]) -> socket.socket | None:
    """The socket, or None where launchd did not start this process. Raises MnemonError(CONFIG)."""
    if not environ.get("XPC_SERVICE_NAME", "").startswith(LABELS):
        return None
    library = ctypes.CDLL(None)  # libSystem
    return activated(library.launch_activate_socket, library.free)


def activated(activate: Activate, free: Callable[[Any], object]) -> socket.socket:
    """The one socket of our name. Raises MnemonError(CONFIG) when there is none, or more than one."""
    descriptors = ctypes.POINTER(ctypes.c_int)()
    count = ctypes.c_size_t()
    error = activate(NAME.encode(), ctypes.byref(descriptors), ctypes.byref(count))
    if error:
        raise MnemonError(CONFIG, f'launchd has no socket "{NAME}" for this job: {os.strerror(error)}')
    passed = [descriptors[at] for at in range(count.value)]
    free(descriptors)
    if len(passed) != 1:
        raise MnemonError(CONFIG, f"{len(passed)} sockets were passed by launchd; exactly one is needed")
    sock = socket.socket(fileno=passed[0])
    sock.set_inheritable(False)
    return sock


# What a service manager is told of the daemon's life: datagrams of `NAME=value` lines, as sd_notify(3) has them.


PATIENCE_S: Final = 0.05
"""Seconds a datagram may wait for room in the manager's queue; the event loop waits with it."""


class Notifier:
    """Sends to the socket of the service manager; to nobody when there is none."""

    def __init__(self, address: bytes | None) -> None:
        """`address` is a path, or an abstract name that begins with a zero byte."""
        self._address = address
        self._socket: socket.socket | None = None
        if address is not None:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self._socket.settimeout(PATIENCE_S)

    @classmethod
    def of(cls, environ: MutableMapping[str, str]) -> Notifier:
        """For the socket that $NOTIFY_SOCKET names. The variable is taken out: it is meant for this process alone.

        An address of another kind (`vsock:` of a virtual machine's init) counts as none.
        """
        named = os.fsencode(environ.pop("NOTIFY_SOCKET", ""))
        if named[:1] == b"@":
            return cls(b"\0" + named[1:])
        return cls(named if named[:1] == b"/" else None)

    @property
    def heard(self) -> bool:
        """Whether there is somebody to tell."""
        return self._socket is not None

    def tell(self, **assignments: str | int) -> None:
        """Send the assignments together. One that cannot be sent is dropped: a manager that does not listen must not
        end the daemon."""
        if self._socket is None:
            return
        lines = [f"{name}={' '.join(str(value).split())}" for name, value in assignments.items()]
        with contextlib.suppress(OSError):
            self._socket.sendto("\n".join(lines).encode("utf-8", "replace"), self._address or b"")

    def close(self) -> None:
        """Give the descriptor back. What is told after it reaches nobody."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


# How the daemon is, in one line: what `systemctl status` shows.


LONGEST: Final = 400
"""Characters of the line; more is cut off. Reasons may be whole sentences."""


class StoreStanding(msgspec.Struct, frozen=True):
    """An open store: its name, the memories recall can find, and why it is not fully well."""

    name: str
    memories: int
    degraded_reason: str | None


def sentence(stores: Sequence[StoreStanding], note: str | None = None) -> str:
    """Such as "2 stores open, 1,234 memories; degraded: work (the disk is full)", then `note`."""
    if not stores:
        parts = ["no store open"]
    else:
        memories = sum(store.memories for store in stores)
        parts = [f"{_plural(len(stores), 'store')} open, {_plural(memories, 'memory')}"]
    ill = [f"{store.name} ({store.degraded_reason})" for store in stores if store.degraded_reason is not None]
    if ill:
        parts.append(f"degraded: {', '.join(ill)}")
    if note is not None:
        parts.append(note)
    text = "; ".join(parts)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _plural(count: int, noun: str) -> str:
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun[:-1]}ies" if noun.endswith("y") else f"{count:,} {noun}s"


# Signs of life, for a service manager that restarts a daemon which gives none.


_WATCHDOG_US_IN_S: Final = 1_000_000


def interval_s(environ: MutableMapping[str, str]) -> float | None:
    """Seconds from one sign to the next: half of what the manager waits for, as sd_watchdog_enabled(3) advises.

    None when none are wanted, or not of this process. The variables are taken out of `environ`.
    """
    waits_us, pid = environ.pop("WATCHDOG_USEC", ""), environ.pop("WATCHDOG_PID", "")
    if pid not in ("", str(os.getpid())):
        return None
    if not (waits_us.isascii() and waits_us.isdecimal()) or int(waits_us) == 0:
        return None
    return int(waits_us) / _WATCHDOG_US_IN_S / 2


async def feed(
    every_s: float, ask: Callable[[], Awaitable[None]], fed: Callable[[], None], late: Callable[[], None]
) -> None:
    """Ask, give a sign of life once the answer is there, rest; for ever.

    While no answer comes no sign is given, and the manager does what it is for. `late` is called once for each answer
    that takes longer than `every_s`.
    """
    async with trio.open_nursery() as nursery:
        while True:
            answered = trio.Event()
            nursery.start_soon(_asked, ask, answered)
            with trio.move_on_after(every_s):
                await answered.wait()
            if not answered.is_set():
                late()
                await answered.wait()
            fed()
            await trio.sleep(every_s)


async def _asked(ask: Callable[[], Awaitable[None]], answered: trio.Event) -> None:
    await ask()
    answered.set()


# The daemon's side of being supervised: ready, well, alive, reading its configuration anew, stopping.


STATUS_S: Final = 5.0
"""Seconds between two looks at how the daemon is; only what has changed is told."""

MORE_TIME_S: Final = 30
"""While a large store is being opened the manager is asked, in time, to wait as long again."""

_SUPERVISION_US_IN_S: Final = 1_000_000


class Supervised(Protocol):
    """What supervision knows of the daemon."""

    async def warm_up(self) -> None:
        """Open what most requests mean; afterwards they need not wait."""
        ...

    def standing(self) -> Sequence[StoreStanding]:
        """Every open store."""
        ...

    async def writers_answer(self) -> None:
        """Returns once the writer of every open store has answered."""
        ...

    async def stop_requested(self) -> None:
        """Returns when the daemon begins to stop."""
        ...


class Supervision:
    """Tells the service manager, if there is one."""

    def __init__(
        self, notifier: Notifier, feed_every_s: float | None, daemon: Supervised, log: FilteringBoundLogger
    ) -> None:
        """`feed_every_s` is None where no watchdog waits for signs of life."""
        self._notifier = notifier
        self._feed_every_s = feed_every_s
        self._daemon = daemon
        self._log = log
        self._told = ""
        self._note: str | None = None

    async def run(self) -> None:
        """Warm the daemon up, say that it is ready, then how it is, until it stops."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._tell_of_stop, nursery.cancel_scope)
            if self._notifier.heard and self._feed_every_s is not None:
                nursery.start_soon(feed, self._feed_every_s, self._daemon.writers_answer, self._fed, self._late)
            await self._warm_up()
            self._tell(READY=1)
            while self._notifier.heard:
                await trio.sleep(STATUS_S)
                if self._sentence() != self._told:
                    self._tell()

    def reloading(self) -> None:
        """The configuration is about to be read anew; `reloaded` has to follow."""
        self._notifier.tell(RELOADING=1, MONOTONIC_USEC=monotonic_us(), STATUS="reading the configuration anew")

    def reloaded(self, note: str | None) -> None:
        """The daemon is itself again; `note` is what the manager's status says of its configuration from now on."""
        self._note = note
        self._tell(READY=1)

    async def _warm_up(self) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._ask_for_time)
            await self._daemon.warm_up()
            nursery.cancel_scope.cancel()

    async def _ask_for_time(self) -> None:
        while True:
            self._notifier.tell(EXTEND_TIMEOUT_USEC=MORE_TIME_S * _SUPERVISION_US_IN_S, STATUS="opening the store")
            await trio.sleep(MORE_TIME_S / 2)

    async def _tell_of_stop(self, others: trio.CancelScope) -> None:
        await self._daemon.stop_requested()
        self._notifier.tell(STOPPING=1, STATUS="answering what was received")
        others.cancel()

    def _fed(self) -> None:
        self._notifier.tell(WATCHDOG=1)

    def _late(self) -> None:
        self._log.error("a store's writer does not answer", seconds=self._feed_every_s)

    def _sentence(self) -> str:
        return sentence(self._daemon.standing(), self._note)

    def _tell(self, **assignments: int) -> None:
        self._told = self._sentence()
        self._notifier.tell(**assignments, STATUS=self._told)


# SIGHUP: the configuration is read anew, and taken up if nothing in it is wrong.


_STDERR: Final = 2


class Reload:
    """Keeps track of the configuration that is in force."""

    def __init__(
        self,
        started_with: Config,
        load: Callable[[], Config],
        apply_settings: Callable[[Config], None],
        supervision: Supervision,
        log: FilteringBoundLogger,
    ) -> None:
        """`load` reads and checks the configuration, in a thread, and raises MnemonError."""
        self._started_with = started_with
        self._in_force = started_with
        self._load = load
        self._apply_settings = apply_settings
        self._supervision = supervision
        self._log = log

    async def now(self) -> None:
        """Read the configuration anew. When it cannot be used the old one stays in force, and the log says why."""
        self._supervision.reloading()
        try:
            config = await trio.to_thread.run_sync(self._load)
        except MnemonError as error:
            self._log.error("configuration refused", reason=error.message, hint=error.hint)
            self._supervision.reloaded(f"the old configuration stays: {error.message}")
            return
        applied = [name for name in differing(self._in_force, config) if is_live(name)]
        waiting = [name for name in differing(self._started_with, config) if not is_live(name)]
        self._apply_settings(config)
        self._in_force = config
        self._log.info("configuration read anew", applied=applied, needs_restart=waiting)
        self._supervision.reloaded(f"a restart is needed for: {', '.join(waiting)}" if waiting else None)

    async def on_hangup(
        self, stop: Callable[[], None], *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Reload at every SIGHUP. The one that a terminal sends when it goes away means `stop`."""
        in_terminal = os.isatty(_STDERR)
        with trio.open_signal_receiver(signal.SIGHUP) as signals:
            task_status.started()
            async for _ in signals:
                if in_terminal and not os.isatty(_STDERR):
                    stop()
                else:
                    await self.now()
