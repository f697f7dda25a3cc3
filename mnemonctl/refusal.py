"""What a daemon that would not start had to say, as an error for people and programs."""

from __future__ import annotations

from pathlib import Path

from mnemond.commands.terminal import one_line
from mnemond.errors import CONFIG, DATA_DIR, LOCKED, STORAGE, UNAVAILABLE, UNREACHABLE, UNSUPPORTED, Kind, MnemonError

MAX_PROBLEMS = 10
"""Problems that are shown; a configuration with more is another file."""

MAX_CHARACTERS = 500
"""Characters of one problem, or of a hint, that are shown."""

_PREFIX = "mnemond: "
"""How the daemon begins the line that says why it leaves; its hint follows, indented."""

_BY_STATUS = {kind.exit: kind for kind in (STORAGE, UNAVAILABLE, LOCKED)}


def of(headline: str, said: str, status: int, directory: Path, hint: str) -> MnemonError:
    """The error for a daemon that wrote `said` and left with `status`; `hint` is for one that gave none of its own.

    Its exit status is the daemon's, when that is one that a user can do something about, else that of UNREACHABLE.
    """
    config = directory / "config.toml"
    sentence, own_hint = _last_sentence(said)
    kind = _kind(status, sentence, config)
    if sentence is None or kind is UNREACHABLE:
        words = last_words(said)
        problems = [f"it left with exit status {status}" + (f"; its last words: {words}" if words else "")]
    else:
        problems = _problems(sentence, config)
    return MnemonError(kind, "\n  ".join([headline, *problems]), hint=own_hint or hint)


def last_words(said: str) -> str:
    """The last line that is not indented (a hint, a trace), harmless and shortened; empty when there is none."""
    lines = [line for line in said.splitlines() if line.strip()]
    told = [line for line in lines if not line[0].isspace()] or lines
    return _shown(told[-1]) if told else ""


def _last_sentence(said: str) -> tuple[str | None, str | None]:
    """Why the daemon left and what it advised; None for what it did not say."""
    lines = said.splitlines()
    starts = [at for at, line in enumerate(lines) if line.startswith(_PREFIX)]
    if not starts:
        return None, None
    following = lines[starts[-1] + 1 : starts[-1] + 2]
    hint = _shown(following[0]) if following and following[0].startswith("  ") else None
    return lines[starts[-1]].removeprefix(_PREFIX), hint


def _problems(sentence: str, config: Path) -> list[str]:
    """The sentence in its parts: complaints about the configuration each begin with the path of its file."""
    first, *others = sentence.split(f"; {config}:")
    parts = [_shown(part) for part in (first, *(f"{config}:{other}" for other in others))]
    more = len(parts) - MAX_PROBLEMS
    return parts if more <= 0 else [*parts[:MAX_PROBLEMS], f"… and {more} more"]


def _kind(status: int, sentence: str | None, config: Path) -> Kind:
    if status == CONFIG.exit and sentence is not None:
        if str(config) in sentence:
            return CONFIG
        return DATA_DIR if str(config.parent) in sentence else UNSUPPORTED
    return _BY_STATUS.get(status, UNREACHABLE)


def _shown(text: str) -> str:
    return one_line(text.strip()[:MAX_CHARACTERS])
