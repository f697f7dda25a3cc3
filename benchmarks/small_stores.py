"""Small stores as people and teams write them, with prompts: `stores_*.jsonl` of benchmarks/data (see its README)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal, TypeVar

import msgspec

DATA: Final = Path(__file__).parent / "data"

HELD_OUT: Final = (
    ("backend", "zh_solo"),
    ("mobile", "mixed_lab"),
    ("research", "zh_team"),
    ("solo", "mixed_agency"),
)
"""Pairs of stores that are measured with what was fitted on the six others, so that each is measured once, and a store
of each language is always among the six."""

Way = Literal["direct", "task", "indirect", "none"]


class Note(msgspec.Struct, frozen=True):
    """A memory."""

    store: str
    id: str
    text: str
    category: str
    importance: int
    tags: list[str]


class Prompt(msgspec.Struct, frozen=True):
    """A prompt, and the ids of the notes that it needs, the best first; none if `way` is "none".

    `hard`: no note answers it, though the notes share its vocabulary. `long`: with a pasted log or the like.
    """

    store: str
    id: str
    text: str
    gold: list[str]
    form: Literal["question", "task"]
    way: Way
    long: bool
    hard: bool = False


class Cues(msgspec.Struct, frozen=True):
    """Texts in which a note should come to mind, written without sight of the prompts."""

    store: str
    note: str
    cues: list[str]


class SmallStore(msgspec.Struct, frozen=True):
    """One store. `cues`: by the id of a note."""

    name: str
    notes: list[Note]
    prompts: list[Prompt]
    cues: dict[str, list[str]]

    @property
    def language(self) -> str:
        """The language of its notes and prompts: en, mixed (German and English) or zh."""
        found = re.match("mixed|zh", self.name)
        return found[0] if found else "en"


Line = TypeVar("Line", Note, Prompt, Cues)


def load(directory: Path = DATA, names: Sequence[str] = ()) -> list[SmallStore]:
    """Read all stores of a directory, or those named. Raises msgspec.ValidationError, OSError."""
    notes = _lines(directory / "stores_notes.jsonl", Note)
    prompts = _lines(directory / "stores_prompts.jsonl", Prompt)
    cues = _lines(directory / "stores_cues.jsonl", Cues)
    return [
        SmallStore(
            name,
            [each for each in notes if each.store == name],
            [each for each in prompts if each.store == name],
            {each.note: each.cues for each in cues if each.store == name},
        )
        for name in dict.fromkeys(each.store for each in notes)
        if not names or name in names
    ]


def _lines(path: Path, kind: type[Line]) -> list[Line]:
    decoder = msgspec.json.Decoder(kind)
    return [decoder.decode(line) for line in path.read_bytes().splitlines() if line.strip()]
