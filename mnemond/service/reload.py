"""SIGHUP: the configuration is read anew, and taken up if nothing in it is wrong."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Final

import trio
from structlog.typing import FilteringBoundLogger

from mnemond.config import Config
from mnemond.config_sources import differing
from mnemond.errors import MnemonError
from mnemond.service.live_settings import is_live
from mnemond.service.supervision import Supervision

_STDERR: Final = 2


class Reload:
    """Keeps track of the configuration that is in force."""

    def __init__(
        self,
        started_with: Config,
        load: Callable[[], Config],
        go_by: Callable[[Config], None],
        supervision: Supervision,
        log: FilteringBoundLogger,
    ) -> None:
        """`load` reads and checks the configuration, in a thread, and raises MnemonError; `go_by` takes it up."""
        self._started_with = started_with
        self._in_force = started_with
        self._load = load
        self._go_by = go_by
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
        self._go_by(config)
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
