"""The daemon's side of its service manager: a socket from launchd, notifications to systemd, reload at SIGHUP."""

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

# The listening socket of launchd (macOS)


SOCKET_NAME: Final = "rpc"
"""The name of the socket in the property list."""

LABEL_PREFIX: Final = "dev.mnemon.mnemond"
"""The beginning of the label of every job of mnemond, which launchd gives in $XPC_SERVICE_NAME."""

Activate = Callable[[Any, Any, Any], int]
"""launch_activate_socket(3): name, pointer to the descriptors, pointer to their number → errno."""


def passed_socket(environ: Mapping[str, str]) -> socket.socket | None:
    """Return the listening socket, or None if launchd did not start this process. Raises MnemonError(CONFIG)."""
    if not environ.get("XPC_SERVICE_NAME", "").startswith(LABEL_PREFIX):
        return None
    library = ctypes.CDLL(None)  # libSystem
    return activated(library.launch_activate_socket, library.free)


def activated(activate: Activate, free: Callable[[Any], object]) -> socket.socket:
    """Return the one socket with our name. Raises MnemonError(CONFIG) if there is none, or more than one."""
    descriptors = ctypes.POINTER(ctypes.c_int)()
    count = ctypes.c_size_t()
    error = activate(SOCKET_NAME.encode(), ctypes.byref(descriptors), ctypes.byref(count))
    if error:
        raise MnemonError(CONFIG, f'launchd has no socket "{SOCKET_NAME}" for this job: {os.strerror(error)}')
    passed = [descriptors[at] for at in range(count.value)]
    free(descriptors)
    if len(passed) != 1:
        raise MnemonError(CONFIG, f"{len(passed)} sockets were passed by launchd; exactly one is needed")
    sock = socket.socket(fileno=passed[0])
    sock.set_inheritable(False)
    return sock


# Notifications to systemd: datagrams of `NAME=value` lines, see sd_notify(3)


SEND_TIMEOUT_S: Final = 0.05
"""Seconds a datagram may wait for room in the manager's queue; the event loop waits with it."""


class Notifier:
    """Sends notifications to the service manager; does nothing without one."""

    def __init__(self, address: bytes | None) -> None:
        """`address` is a path, or an abstract name that begins with a zero byte."""
        self._address = address
        self._socket: socket.socket | None = None
        if address is not None:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self._socket.settimeout(SEND_TIMEOUT_S)

    @classmethod
    def of(cls, environ: MutableMapping[str, str]) -> Notifier:
        """Connect to the socket in $NOTIFY_SOCKET, and remove the variable, which is meant for this process alone.

        An address of another kind (`vsock:` of a virtual machine's init) counts as none.
        """
        named = os.fsencode(environ.pop("NOTIFY_SOCKET", ""))
        if named[:1] == b"@":
            return cls(b"\0" + named[1:])
        return cls(named if named[:1] == b"/" else None)

    @property
    def has_manager(self) -> bool:
        """Return True if notifications are sent."""
        return self._socket is not None

    def send(self, **assignments: str | int) -> None:
        """Send assignments together, and drop what cannot be sent: the manager's state must not end the daemon."""
        if self._socket is None:
            return
        lines = [f"{name}={' '.join(str(value).split())}" for name, value in assignments.items()]
        with contextlib.suppress(OSError):
            self._socket.sendto("\n".join(lines).encode("utf-8", "replace"), self._address or b"")

    def close(self) -> None:
        """Close the socket; later notifications are dropped."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


# The status line, which `systemctl status` shows


MAX_STATUS: Final = 400
"""Maximum of characters in the status line. Reasons may be whole sentences."""


class StoreHealth(msgspec.Struct, frozen=True):
    """An open store: its name, the number of its active memories, and why it is degraded, if it is."""

    name: str
    memories: int
    degraded_reason: str | None


def status_line(stores: Sequence[StoreHealth], note: str | None = None) -> str:
    """Format a line such as "2 stores open, 1,234 memories; degraded: work (the disk is full)", and `note`."""
    if not stores:
        parts = ["no store open"]
    else:
        memories = sum(store.memories for store in stores)
        count = "1 store" if len(stores) == 1 else f"{len(stores):,} stores"
        parts = [f"{count} open, {memories:,} {'memory' if memories == 1 else 'memories'}"]
    degraded = [f"{store.name} ({store.degraded_reason})" for store in stores if store.degraded_reason is not None]
    if degraded:
        parts.append(f"degraded: {', '.join(degraded)}")
    if note is not None:
        parts.append(note)
    text = "; ".join(parts)
    return text if len(text) <= MAX_STATUS else text[: MAX_STATUS - 1] + "…"


# The watchdog, which restarts a daemon that sends no pings


_US_IN_S: Final = 1_000_000


def watchdog_interval_s(environ: MutableMapping[str, str]) -> float | None:
    """Return the seconds between two pings: half the manager's timeout, as sd_watchdog_enabled(3) advises.

    None if no pings are wanted, or not of this process. The variables are removed from `environ`.
    """
    timeout_us, pid = environ.pop("WATCHDOG_USEC", ""), environ.pop("WATCHDOG_PID", "")
    if pid not in ("", str(os.getpid())):
        return None
    if not (timeout_us.isascii() and timeout_us.isdecimal()) or int(timeout_us) == 0:
        return None
    return int(timeout_us) / _US_IN_S / 2


async def keep_pinging(
    every_s: float, check: Callable[[], Awaitable[None]], ping: Callable[[], None], on_late: Callable[[], None]
) -> None:
    """Wait for `check`, ping, sleep, and so on without end, so that a daemon that does not pass the check is restarted.

    `on_late` is called once for each check that takes longer than `every_s`.
    """

    async def report_late() -> None:
        await trio.sleep(every_s)
        on_late()

    while True:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(report_late)
            await check()
            nursery.cancel_scope.cancel()
        ping()
        await trio.sleep(every_s)


# The state of the daemon: ready, its status, reloading, stopping


STATUS_S: Final = 5.0
"""Seconds between two looks at the status; it is sent if it has changed."""

MORE_TIME_S: Final = 30
"""Seconds by which the start-up timeout is extended, again and again, while a large store is being opened."""


class Supervised(Protocol):
    """The daemon, as supervision uses it."""

    async def warm_up(self) -> None:
        """Open the store that most requests use."""
        ...

    def store_health(self) -> Sequence[StoreHealth]:
        """Return the health of every open store."""
        ...

    async def writers_answer(self) -> None:
        """Return once the writer of every open store has answered."""
        ...

    async def stop_requested(self) -> None:
        """Return when the daemon begins to stop."""
        ...


class Supervision:
    """Notifies the service manager of the daemon's state."""

    def __init__(
        self, notifier: Notifier, ping_every_s: float | None, daemon: Supervised, log: FilteringBoundLogger
    ) -> None:
        """`ping_every_s` is None without a watchdog."""
        self._notifier = notifier
        self._ping_every_s = ping_every_s
        self._daemon = daemon
        self._log = log
        self._last_status = ""
        self._note: str | None = None

    async def run(self) -> None:
        """Warm the daemon up, and send that it is ready, then its status, until it stops."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._send_stopping, nursery.cancel_scope)
            if self._notifier.has_manager and self._ping_every_s is not None:
                nursery.start_soon(
                    keep_pinging, self._ping_every_s, self._daemon.writers_answer, self._ping, self._report_late
                )
            await self._warm_up()
            self._send_status(READY=1)
            while self._notifier.has_manager:
                await trio.sleep(STATUS_S)
                if self._status() != self._last_status:
                    self._send_status()

    def reloading(self) -> None:
        """Send that the configuration is being read; `reloaded` has to follow."""
        self._notifier.send(RELOADING=1, MONOTONIC_USEC=monotonic_us(), STATUS="reading the configuration anew")

    def reloaded(self, note: str | None) -> None:
        """Send that the daemon is ready again; `note` is what the status says of its configuration from now on."""
        self._note = note
        self._send_status(READY=1)

    async def _warm_up(self) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._extend_timeout)
            await self._daemon.warm_up()
            nursery.cancel_scope.cancel()

    async def _extend_timeout(self) -> None:
        while True:
            self._notifier.send(EXTEND_TIMEOUT_USEC=MORE_TIME_S * _US_IN_S, STATUS="opening the store")
            await trio.sleep(MORE_TIME_S / 2)

    async def _send_stopping(self, others: trio.CancelScope) -> None:
        await self._daemon.stop_requested()
        self._notifier.send(STOPPING=1, STATUS="answering what was received")
        others.cancel()

    def _ping(self) -> None:
        self._notifier.send(WATCHDOG=1)

    def _report_late(self) -> None:
        self._log.error("a store's writer does not answer", seconds=self._ping_every_s)

    def _status(self) -> str:
        return status_line(self._daemon.store_health(), self._note)

    def _send_status(self, **assignments: int) -> None:
        self._last_status = self._status()
        self._notifier.send(**assignments, STATUS=self._last_status)


# SIGHUP: read the configuration and apply it


_STDERR: Final = 2


class Reload:
    """Reads the configuration anew, and applies it if it is valid."""

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
        """Reload now. If the configuration is invalid the old one stays in force, and the log says why."""
        self._supervision.reloading()
        try:
            config = await trio.to_thread.run_sync(self._load)
        except MnemonError as error:
            self._log.error("configuration refused", reason=error.message, hint=error.hint)
            self._supervision.reloaded(f"the old configuration stays: {error.message}")
            return
        applied = [path for path in differing(self._in_force, config) if is_live(path)]
        waiting = [path for path in differing(self._started_with, config) if not is_live(path)]
        self._apply_settings(config)
        self._in_force = config
        self._log.info("configuration read anew", applied=applied, needs_restart=waiting)
        self._supervision.reloaded(f"a restart is needed for: {', '.join(waiting)}" if waiting else None)

    async def on_hangup(
        self, stop: Callable[[], None], *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Reload at every SIGHUP. The one that a terminal sends when it is closed means `stop`."""
        in_terminal = os.isatty(_STDERR)
        with trio.open_signal_receiver(signal.SIGHUP) as signals:
            task_status.started()
            async for _ in signals:
                if in_terminal and not os.isatty(_STDERR):
                    stop()
                else:
                    await self.now()
