"""Exchanges and the facts that an engine finds in them, with their importance, entities, relations and speaker."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal, NamedTuple, Protocol

import msgspec

from mnemond.config.writing import CLASSES, QuoteClass
from mnemond.model.answers import Dropped
from mnemond.model.memory import Entity
from mnemond.model.outcomes import Intent, Speaker
from mnemond.text.entities import Known, canonical_name, is_name
from mnemond.text.entity_lists import entity_lists
from mnemond.text.entity_shapes import is_ordinary
from mnemond.text.name_lists import name_lists
from mnemond.text.resources import on_first_use, one_of, read, regex, words_of
from mnemond.text.tokens import fold

THRESHOLD = 3
"""Importance, of ten, below which nothing is kept."""

MAX_FACTS = 20
"""Facts of one exchange. More is a document, not a conversation."""

MAX_SENTENCE = 400
"""Characters of a sentence; a longer one is no statement but a text."""


class Message(msgspec.Struct, frozen=True):
    """One turn. `role` is "user", "assistant", or anything else, which is context and gives no facts. `said_us`: the
    time of the message in microseconds since 1970, None if only the time of the exchange is known."""

    role: str
    content: str
    name: str | None = None
    said_us: int | None = None
    id: str | None = None


class Remembered(NamedTuple):
    """A memory that a model is shown, so that it says nothing twice."""

    id: str
    text: str


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """The circumstances of an exchange. `observed_us`: its time, for messages without a time of their own. `earlier`:
    the messages before it, which give no facts again. `speaker`: the person's name, if it is known from elsewhere.
    `classes`: what the rules take. For a model: `existing` returns memories about a text, `summary` is that of the
    conversation so far."""

    observed_us: int
    threshold: int = THRESHOLD
    most: int = MAX_FACTS
    speaker: str | None = None
    earlier: Sequence[Message] = ()
    known: Known | None = None
    existing: Callable[[str], Sequence[Remembered]] | None = None
    summary: str = ""
    classes: frozenset[QuoteClass] = frozenset(CLASSES)


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """A text with all that is known about it. `importance` is 1…10; `confidence` in [0, 1] that it is worth keeping.
    `corrects`: its speaker corrects what was said or stored before; `general`: it holds in every project. `weighed`:
    the importance was given by a host, and is no estimate. `model` and `prompt` (its hash) found it, both are empty for
    the rules; `replaces`: the memory that it replaces according to the model."""

    content: str
    intent: Intent
    category: str
    confidence: float
    importance: int
    weighed: bool = False
    attributed_to: Speaker
    said_us: int
    entities: tuple[Entity, ...] = ()
    message_ids: tuple[str, ...] = ()
    family: str = ""
    corrects: bool = False
    cues: tuple[str, ...] = ()
    general: bool = False
    model: str = ""
    prompt: str = ""
    replaces: str = ""


class Extraction(msgspec.Struct, frozen=True):
    """The result of an engine, facts and dropped parts in the order of the text. `retried`: a model was asked twice;
    `unread`: why a model was asked and did not answer, "" if it did or was not asked; `again`: it may answer later."""

    facts: tuple[Fact, ...]
    dropped: tuple[Dropped, ...]
    engine: str
    retried: bool = False
    unread: str = ""
    again: bool = False


class Engine(Protocol):
    """Finds facts by rules or a model."""

    def extract(self, messages: Sequence[Message], context: Context) -> Extraction:
        """The facts of an exchange; never raises for the content of the messages."""
        ...


# ---------------------------------------------------------------- the latest exchange of a conversation

USER = "user"


class Exchange(NamedTuple):
    """`latest` is to be read for facts; `earlier` is its context."""

    earlier: tuple[Message, ...]
    latest: tuple[Message, ...]


def latest_exchange(messages: Sequence[Message], window: int) -> Exchange:
    """The last message of a person and everything after it; before that at most `window` messages.

    Several messages of a person in a row belong together. Without a person, all messages are the latest exchange.
    """
    start = len(messages)
    while start and messages[start - 1].role != USER:
        start -= 1
    while start and messages[start - 1].role == USER:
        start -= 1
    if not any(each.role == USER for each in messages):
        start = 0
    return Exchange(tuple(messages[max(0, start - window) : start]), tuple(messages[start:]))


# ---------------------------------------------------------------- importance

USUAL: Final = 3
"""Importance of a memory, of five, that says no more than its kind: that of a note by hand without one."""

MAX_STEPS: Final = 2
"""Different words of emphasis that count: two make a memory as important as can be."""


class _Weights(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """data/importance.toml"""

    emphasised: tuple[str, ...]
    emphasised_chinese: tuple[str, ...]
    hedges: tuple[str, ...]
    hedges_chinese: tuple[str, ...]
    small_talk: tuple[str, ...]


_weights: Final = on_first_use(lambda: read("importance", _Weights))


def _any_of(words: Iterable[str], chinese: Iterable[str] = ()) -> str:
    return "|".join([rf"\b(?:{one_of(words)})\b", *chinese])


_EMPHASISED: Final = regex(lambda: _any_of(_weights().emphasised, _weights().emphasised_chinese))
_GUESSED: Final = regex(r"\bmust(?:n't)? have been\b")
"""A conclusion, not an obligation."""

_HEDGES: Final = regex(lambda: _any_of(_weights().hedges, _weights().hedges_chinese))
_SMALL_TALK: Final = regex(lambda: _any_of(_weights().small_talk))

Band = Literal["trivial", "useful", "important", "critical"]


def importance(text: str, intent: Intent, *, decided: bool, corrects: bool, specific: bool) -> int:
    """Importance, 1…10, of which a memory gets half (`of_five`), on the scale of notes by hand: `USUAL`, one step more
    for each of up to two words of emphasis, one less if the speaker is unsure, and one for small talk.

    A decision, a correction, and what is `specific` (it names a number, a date or two things) rank above others of
    their step, and so do a preference and a relationship; none of these alone reaches the next one. The words of a text
    longer than a sentence do not count: among so many there is always one.
    """
    step = USUAL
    if len(text) <= MAX_SENTENCE:
        folded = _GUESSED.sub("", fold(text))
        step += min(MAX_STEPS, len(set(_EMPHASISED.findall(folded))))
        step -= is_hedged(text) + (_SMALL_TALK.search(folded) is not None)
    ranks_above = decided or corrects or specific or intent in ("preference", "relationship")
    return 2 * max(1, min(5, step)) - (not ranks_above)


def is_hedged(text: str) -> bool:
    """Return True if the speaker is unsure."""
    return _HEDGES.search(fold(text)) is not None


def of_five(importance_of_ten: int) -> int:
    """The importance of a memory, 1…5."""
    return (importance_of_ten + 1) // 2


def band(importance_of_ten: int) -> Band:
    """The name of an importance of ten."""
    if importance_of_ten <= 3:
        return "trivial"
    if importance_of_ten <= 6:
        return "useful"
    return "important" if importance_of_ten <= 8 else "critical"


STEP: Final = 2
"""Importance of ten by which a sentence of the assistant is less important than the same one of a person."""


def with_own_lowered(found: Extraction, threshold: int) -> Extraction:
    """`found` with the facts of the assistant's own sentences one step lower; those below `threshold` are dropped."""
    facts: list[Fact] = []
    dropped = list(found.dropped)
    for fact in found.facts:
        lower = max(1, fact.importance - STEP) if fact.attributed_to == "assistant" else fact.importance
        if lower >= threshold:
            facts.append(msgspec.structs.replace(fact, importance=lower))
        else:
            dropped.append(Dropped(fact.content, f"importance {lower}"))
    return msgspec.structs.replace(found, facts=tuple(facts), dropped=tuple(dropped))


# ---------------------------------------------------------------- entities

_SHORTEST: Final = 2
_MAX_WORDS: Final = 4
_NOBODY: Final = frozenset({"User", "用户", "We", "The assistant", "assistant", "we"})


def with_person(found: tuple[Entity, ...], name: str, content: str) -> tuple[Entity, ...]:
    """`found` and the person called `name`, if `content` names them."""
    canonical = canonical_name(name)
    if not _is_name(name) or name not in content or any(each.canonical == canonical for each in found):
        return found
    return (*found, Entity(name, canonical, "person"))


def _is_name(name: str) -> bool:
    if name in _NOBODY or len(name) < _SHORTEST or len(name.split()) > _MAX_WORDS:
        return False
    return not name.isascii() or name[0].isupper()


# ---------------------------------------------------------------- the name of the speaker

UNKNOWN: Final = "User"
"""The name of a person who has not given one."""

MAX_NAME: Final = 60
"""Characters of a name; a longer one is an address."""

MAX_INTRODUCTION: Final = 20_000
"""Characters of a message that are searched for a name."""

_STATED: Final = regex(
    r"\b(?:(?:[Mm]y name is|[Mm]y name's|I am called|I'm called|[Ii]ch heiße|[Mm]ein Name ist)"
    r"\s+(?:(?:actually|really|now|simply|still) (?=[A-Z]))?|[Cc]all me\s+(?=[A-Z]))"
    r"([A-Za-zÄÖÜ][\w-]{1,30}(?: [A-ZÄÖÜ][\w-]{1,30})?)"
)
_IM: Final = regex(
    r"(?<!\w)(?:I'm|I am|i'm|i am) ([A-Z][\w-]{1,30}(?: [A-Z][\w-]{1,30})?)(?=\s?[,.!;]| and | from |\s?\Z)"
)
_SPEAKER_CHINESE: Final = regex(
    "我(?:叫|的名字(?:是|叫)|名叫)([\u4e00-\u9fff·]{2,4}|[A-Za-z]{2,20})(?=[，,。.！!\\s]|$)"
)
_NOT_NAMES: Final = words_of(
    "a an the not just very so glad sorry also really from been often usually sometimes always never commonly",
)
_NO_NAME_BEFORE: Final = regex(
    r"\s+(?:as|to|for|with|by|of|on|in|like|after|without|instead|wrong|wrongly|incorrectly)\b"
)
"""Words behind a participle or an adverb rather than a name: "my name is misspelled as Anna"."""


def stated_name(text: str) -> str | None:
    """The name that a person gives as their own in `text`, which has straight apostrophes."""
    text = text[:MAX_INTRODUCTION]
    found = _STATED.search(text)
    if found and _may_be_name(found[1].split(), text, found.end()):
        return found[1]
    if found := _SPEAKER_CHINESE.search(text):
        return found[1]
    for found in _IM.finditer(text):
        words = found[1].split()
        if all(map(is_name, words)) and found[1] not in entity_lists().terms and not _is_elsewhere(found[1]):
            return found[1]
    return None


def _may_be_name(words: Sequence[str], text: str, end: int) -> bool:
    """Return True if the words before `end`, one or two, are a name that a person gives. One in small letters must be
    neither ordinary nor a participle, as in "my name is pronounced Yo-han"."""
    first = words[0].lower()
    if first in _NOT_NAMES:
        return False
    if words[0][0].isupper():
        return True
    if len(words) > 1:
        return first in name_lists().particles or not words[1][0].isupper()
    if is_ordinary(first) or _NO_NAME_BEFORE.match(text, end):
        return False
    return not first.endswith(("ed", "ly", "ing")) or fold(first) in name_lists().given


def given_name(name: str) -> str:
    """A host's name for a person, for use in a sentence; "" if it cannot be used."""
    plain = " ".join(name.split())
    return plain if len(plain) <= MAX_NAME and plain.isprintable() else ""


def _is_elsewhere(name: str) -> bool:
    """Return True for a place or a company: "I'm Berlin based"."""
    lists = entity_lists()
    return name.lower() in lists.places.names or name.lower() in lists.organizations.names
