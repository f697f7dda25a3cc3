"""Signs of life, for a service manager that restarts a daemon which gives none."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Final

import trio

_US_IN_S: Final = 1_000_000


def interval_s(environ: MutableMapping[str, str]) -> float | None:
    """Seconds from one sign to the next: half of what the manager waits for, as sd_watchdog_enabled(3) advises.

    None when none are wanted, or not of this process. The variables are taken out of `environ`.
    """
    waits_us, pid = environ.pop("WATCHDOG_USEC", ""), environ.pop("WATCHDOG_PID", "")
    if pid not in ("", str(os.getpid())):
        return None
    if not (waits_us.isascii() and waits_us.isdecimal()) or int(waits_us) == 0:
        return None
    return int(waits_us) / _US_IN_S / 2


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
