"""Daily maxima of calls and tokens, which outlast a restart, and what was used."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

import msgspec

from mnemond.config.writing import LlmSettings
from mnemond.errors import UNAVAILABLE, MnemonError

FILE: Final = "llm-usage.json"
"""Its name in the data directory."""

MAX_USAGE: Final = 4_096
"""Bytes of that file that are read."""

CHARACTERS_A_TOKEN: Final = 3
"""Of a prompt whose tokens the server has not counted yet; English has four, code and other scripts fewer."""


RESET: Final = "it begins anew at 0:00 UTC; raise it in [llm] if that is too late"


class SpentError(MnemonError):
    """UNAVAILABLE because a maximum of the day is reached, or calls cannot be counted."""


class Usage(msgspec.Struct, frozen=True):
    """Calls and tokens of one day (UTC, "2026-11-24")."""

    day: str = ""
    calls: int = 0
    tokens: int = 0


def parse_usage(content: bytes) -> Usage:
    """Read a saved usage; a damaged one counts as none."""
    try:
        return msgspec.json.decode(content, type=Usage)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Usage()


def estimated(prompt: str) -> int:
    """Estimate the tokens of a prompt."""
    return len(prompt) // CHARACTERS_A_TOKEN + 1


class Budget:
    """Counts calls and tokens, and refuses those beyond the maxima. Any thread."""

    def __init__(
        self, settings: LlmSettings, today: Callable[[], str], saved: bytes, save: Callable[[bytes], None]
    ) -> None:
        """`saved` is what `save` was called with last; `today` is the date in UTC. `save` may raise OSError."""
        self._settings = settings
        self._today = today
        self._save = save
        self._usage = parse_usage(saved)
        self._lock = threading.Lock()
        self._told = ""

    def usage(self) -> Usage:
        """Return what today used."""
        today = self._today()
        return self._usage if self._usage.day == today else Usage(today)

    def stopped(self) -> str | None:
        """Return which maximum is reached, None if none is."""
        return self._reached(self.usage(), 1)

    def take(self, tokens: int) -> int:
        """Count a call of at most `tokens` tokens before it is sent, so that a crash forgets none; return `tokens`.

        Raises MnemonError(UNAVAILABLE) if a maximum is reached, or if the call cannot be counted.
        """
        with self._lock:
            usage = self.usage()
            if why := self._reached(usage, tokens):
                raise SpentError(UNAVAILABLE, f"{why}; the rules go on without the model", hint=RESET)
            self._set(Usage(usage.day, usage.calls + 1, usage.tokens + tokens))
        return tokens

    def correct(self, taken: int, used: int) -> None:
        """Replace the estimate of a call by its tokens."""
        with self._lock:
            usage = self.usage()
            self._set(msgspec.structs.replace(usage, tokens=max(0, usage.tokens - taken) + used))

    def first_refusal(self) -> bool:
        """Return True for the first refusal of a day, which is to be logged."""
        with self._lock:
            today = self._today()
            is_first, self._told = self._told != today, today
            return is_first

    def _reached(self, usage: Usage, tokens: int) -> str | None:
        calls, most = self._settings.max_calls_per_day, self._settings.max_tokens_per_day
        if calls and usage.calls >= calls:
            return f"llm.max_calls_per_day is reached ({calls:,})"
        if most and usage.tokens + tokens > most:
            return f"llm.max_tokens_per_day is reached ({usage.tokens:,} of {most:,} used, {tokens:,} needed)"
        return None

    def _set(self, usage: Usage) -> None:
        try:
            self._save(msgspec.json.encode(usage))
        except OSError as error:
            raise SpentError(
                UNAVAILABLE, f"calls of the model cannot be counted: {error}", hint=f"see {FILE} in the data directory"
            ) from error
        self._usage = usage
