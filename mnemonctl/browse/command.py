"""`browse`: checks the terminal and the optional library, and shows the store."""

from __future__ import annotations

import importlib.util
import os
import select
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mnemond.errors import INVALID_PARAMS, MnemonError

if TYPE_CHECKING:
    from mnemonctl.browse.app import Browser

LIBRARY: Final = "textual"
"""The library that draws on the terminal, of the extra `tui`."""

_SCOPE: Final = ("user_id", "session_id", "agent_id")


def run(options: dict[str, object], directory: Path, store: str) -> int:
    """Show a store until the user leaves; return the exit status. `store` is used unless --store is given."""
    os.environ.pop("TEXTUAL", None)  # it would let the library connect to its developer tools, over TCP
    from mnemonctl.browse.app import Browser
    from mnemonctl.browse.calls import Daemon

    scope = {name: str(value) for name in _SCOPE if (value := options.get(name)) is not None}
    named = str(options.get("store") or store) or None
    browser = Browser(Daemon(directory, named, scope, at_terminal=True), light=options.get("light") is True)
    threading.Thread(target=_end_with_terminal, args=(browser,), daemon=True).start()
    browser.run()
    return 0


def _end_with_terminal(browser: Browser) -> None:
    """Wait until the terminal is gone, then end. A window that was closed sends a signal only to the processes that it
    controls; without it the library reads the end of the input again and again."""
    gone = select.poll()
    gone.register(0, 0)  # hang-ups and errors are reported in any case
    gone.poll()
    with suppress(RuntimeError):  # it has ended
        browser.call_from_thread(browser.exit)


def require_terminal() -> None:
    """Raise MnemonError(INVALID_PARAMS) without a terminal, or if the extra is not installed."""
    if not all(map(os.isatty, (0, 1, 2))):
        raise MnemonError(
            INVALID_PARAMS,
            "browse needs a terminal for its input and its output",
            hint="without one: mnemonctl list, reviews, log, recall --explain",
            outcome="rejected",
        )
    if importlib.util.find_spec(LIBRARY) is None:
        raise MnemonError(
            INVALID_PARAMS,
            f"browse needs the library {LIBRARY}, which is not installed",
            hint="pip install 'mnemond[tui]'; with pipx: pipx inject mnemond 'textual>=8.2,<9'",
            outcome="rejected",
        )
