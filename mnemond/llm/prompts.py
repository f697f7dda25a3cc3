"""Prompts for a language model: those of this release, and the user's, key by key.

`prompt/prompts.toml` in the data directory replaces single keys. A key of its table `[large]` or `[small]` is for that
profile alone; one outside of tables is for both.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple, get_args

import msgspec

from mnemond.config.prompt_texts import FOLDER, edited, shipped
from mnemond.errors import CONFIG, MnemonError
from mnemond.text.resources import regex

FILE: Final = "prompts.toml"

Profile = Literal["small", "large"]
PROFILES: Final[tuple[Profile, ...]] = get_args(Profile)

ARGUMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "substance_filter": ("text", "known"),
    "extract_entities": ("text", "kinds"),
    "generate_trigger": ("text",),
    "generate_hypothetical_query": ("text", "most"),
    "generate_cues": ("text", "most"),
    "extract_relations": ("text", "types"),
    "generate_core_summary": ("memories", "words"),
    "update_core_summary": ("summary", "memories", "words"),
    "naturalize_time_delta": ("days", "language"),
    "extract_facts": ("summary", "earlier", "existing", "date", "messages", "most"),
    "extract_facts_simple": ("date", "messages"),
    "classify_conflict": ("older", "newer"),
    "merge_facts": ("older", "newer"),
    "find_links": ("new", "near"),
}
"""By key, what {{1}}, {{2}} … stand for."""

_TOKEN: Final = regex(r"(\\?)\{\{([0-9]{1,3})\}\}")


class Prompt(NamedTuple):
    """A template. `origin`: "release" or the path of the user's file."""

    key: str
    template: str
    origin: str

    @property
    def digest(self) -> str:
        """A short hash of the template, which is recorded with what a model found by it."""
        return hashlib.blake2b(self.template.encode(), digest_size=6).hexdigest()

    def render(self, *values: str) -> str:
        """Return the prompt with its tokens replaced, once: a value may hold `{{2}}`, and `\\{{1}}` becomes `{{1}}`.

        Raises MnemonError(CONFIG) for a token without a value.
        """
        wanted = numbers_in(self.template)
        if wanted and not 1 <= min(wanted) <= max(wanted) <= len(values):
            raise MnemonError(CONFIG, f"{self.origin}: {self.key} {_range(len(values))}", hint=CHECK)
        return _TOKEN.sub(lambda it: it[0][1:] if it[1] else values[int(it[2]) - 1], self.template)


CHECK: Final = "mnemonctl prompts check"


def numbers_in(template: str) -> set[int]:
    """Return the numbers of the tokens of a template that are not escaped."""
    return {int(found[2]) for found in _TOKEN.finditer(template) if not found[1]}


def _range(most: int) -> str:
    return f"has a token beyond {{{{1}}}} … {{{{{most}}}}}"


class Prompts(msgspec.Struct, frozen=True):
    """All prompts of one profile, by key, and complaints about the user's file (in which case it is left aside)."""

    by_key: Mapping[str, Prompt]
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def __getitem__(self, key: str) -> Prompt:
        return self.by_key[key]


def release(profile: Profile) -> dict[str, str]:
    """Return the templates of this release for a profile."""
    raw = tomllib.loads(shipped(FILE))
    return {key: str((raw[profile] if key in raw.get(profile, {}) else raw)[key]).strip() for key in ARGUMENTS}


def read_prompts(data_dir: Path, profile: Profile) -> Prompts:
    """Return the prompts in force. A user's file that cannot be used is left aside as a whole, with the reason."""
    templates, path = release(profile), data_dir / FOLDER / FILE
    ours = {key: Prompt(key, text, "release") for key, text in templates.items()}
    try:
        raw = tomllib.loads(edited(data_dir, FILE).decode("utf-8-sig"))
    except FileNotFoundError:
        return Prompts(ours)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
        return Prompts(ours, (f"{path} cannot be used: {why}",))
    errors = tuple(f"{path}: {sentence}" for sentence in _errors(raw))
    if errors:
        return Prompts(ours, errors)
    theirs = {**_texts(raw), **_texts(raw.get(profile, {}))}
    warnings = tuple(f"{path}: {sentence}" for sentence in _warnings(theirs))
    return Prompts(ours | {key: Prompt(key, text.strip(), str(path)) for key, text in theirs.items()}, (), warnings)


def _texts(table: Mapping[str, object]) -> dict[str, str]:
    return {key: value for key, value in table.items() if isinstance(value, str)}


def _errors(raw: Mapping[str, object]) -> Iterator[str]:
    """Yield what makes a file unusable: unknown keys, values that are no text, tokens without a value."""
    for key, value in raw.items():
        if key in PROFILES and isinstance(value, dict):
            yield from (f"[{key}] {sentence}" for sentence in _errors_of(value))
        else:
            yield from _errors_of({key: value})


def _errors_of(table: Mapping[str, object]) -> Iterator[str]:
    for key, value in table.items():
        if key not in ARGUMENTS:
            yield f'"{key}" is no prompt; there are {", ".join(ARGUMENTS)}'
        elif not isinstance(value, str) or not value.strip():
            yield f"{key} is no text"
        elif any(not 1 <= number <= len(ARGUMENTS[key]) for number in numbers_in(value)):
            yield f"{key} {_range(len(ARGUMENTS[key]))}"


def _warnings(templates: Mapping[str, str]) -> Iterator[str]:
    for key, text in templates.items():
        unused = [number for number in range(1, len(ARGUMENTS[key]) + 1) if number not in numbers_in(text)]
        yield from (f"{key} does not use {{{{{number}}}}}, {ARGUMENTS[key][number - 1]}" for number in unused)


def without(text: str, keys: Sequence[str]) -> str:
    """Return a user's file without some keys, by tables and lines of the rest as they are (see `mnemonctl prompts`)."""
    import tomlkit  # the daemon does not need it

    document = tomlkit.parse(text)
    for table in (document, *(document[name] for name in PROFILES if name in document)):
        for key in keys:
            table.pop(key, None)
    for name in PROFILES:
        if name in document and not document[name]:
            document.remove(name)
    return tomlkit.dumps(document)
