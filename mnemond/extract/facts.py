"""Exchanges and the facts that an engine finds in them, with their importance, entities, relations and speaker."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal, NamedTuple, Protocol

import msgspec

from mnemond.model.answers import Dropped, FactRelation
from mnemond.model.memory import Entity, EntityType
from mnemond.text.entities import Known, canonical_name, extract, is_name, nothing_known
from mnemond.text.entity_lists import entity_lists
from mnemond.text.entity_shapes import is_ordinary, kind_of
from mnemond.text.name_lists import name_lists
from mnemond.text.resources import on_first_use, one_of, read, regex, words_of
from mnemond.text.tokens import fold

Speaker = Literal["user", "assistant"]
Intent = Literal["preference", "fact", "event", "relationship"]

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
    For a model: `existing` returns memories about a text, `summary` is that of the conversation so far."""

    observed_us: int
    threshold: int = THRESHOLD
    most: int = MAX_FACTS
    speaker: str | None = None
    earlier: Sequence[Message] = ()
    known: Known | None = None
    existing: Callable[[str], Sequence[Remembered]] | None = None
    summary: str = ""


class Classified(msgspec.Struct, frozen=True, kw_only=True):
    """One sentence that can be read alone, and its class. `confidence` in [0, 1] that it is worth keeping."""

    content: str
    intent: Intent
    category: str
    confidence: float


class Fact(Classified, frozen=True, kw_only=True):
    """A sentence with all that is known about it. `importance` is 1…10. `corrects`: its speaker corrects what was
    said or stored before. `weighed`: the importance was given by a host, and is no estimate. `model` and `prompt` (its
    hash) found it, both are empty for the rules; `replaces`: the memory that it replaces according to the model."""

    importance: int
    weighed: bool = False
    attributed_to: Speaker
    said_us: int
    entities: tuple[Entity, ...] = ()
    relations: tuple[FactRelation, ...] = ()
    message_ids: tuple[str, ...] = ()
    family: str = ""
    corrects: bool = False
    cues: tuple[str, ...] = ()
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
    """True if the speaker is unsure."""
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

_SOURCES: Final[dict[str, EntityType]] = {
    "named": "person", "works_at": "person", "lives_in": "person", "reports_to": "person", "owns": "person",
}  # fmt: skip
_TARGETS: Final[dict[str, EntityType]] = {"named": "person", "works_at": "organization", "lives_in": "location"}
_SHORTEST: Final = 2
_MAX_WORDS: Final = 4
_NOBODY: Final = frozenset({"User", "用户", "We", "The assistant", "assistant", "we"})


def entities_of(content: str, relations: Sequence[FactRelation], known: Known | None) -> tuple[Entity, ...]:
    """The entities of `content`, those of its relations first, with the types that the relations give them."""
    guessed: dict[str, EntityType] = {}
    for relation in relations:
        for name, kinds in ((relation.source, _SOURCES), (relation.target, _TARGETS)):
            if relation.type in kinds and _is_name(name):
                guessed[name] = kinds[relation.type]
    found = extract(content, tuple(guessed), known=known or nothing_known)
    return tuple(
        msgspec.structs.replace(each, kind=guessed[each.name])
        if each.kind == "concept" and each.name in guessed
        else each
        for each in found
    )


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


# ---------------------------------------------------------------- relations that a fact states in so many words

FUNCTIONAL: Final = frozenset({"works_at", "lives_in", "reports_to", "named"})
"""Relations of which a source has one at a time: another target replaces the earlier one."""

_THING: Final = r"(?:`[^`]{1,60}`|[A-Z][\w.+#&-]*(?: (?:[A-Z][\w.+#&-]*|of|\d[\w.]*)){0,3}|[\w.+#/-]+(?: [\w.+#/-]+)?)"
_NAME: Final = r"(?:[A-Z][\w.&-]*(?: [A-Z][\w.&-]*){0,3})"
_SOURCE: Final = rf"(?P<source>(?:[Tt]he |[Oo]ur )?(?:{_NAME}|[\w-]+(?: [\w-]+){{0,3}}?))"
_PLACE: Final = rf"(?:the )?{_NAME}(?: of {_NAME})?"
_STOP: Final = (
    r"(?=[,.;!)]|\s(?:and|but|because|as|since|for|with|to|in|on|at|by|over|instead|rather|which|who|where|when|so|\()"
    r"|\Z)"
)
_VERBS: Final = (
    ("works_at", r"(?:works?|started|is working|joined)(?: (?:at|for))?", _PLACE),
    ("lives_in", r"(?:lives in|moved to|is based in|is living in|is from)", _PLACE),
    ("reports_to", r"reports? to", _THING),
    ("owns", r"owns?", r"(?:the )?[\w -]{2,40}?"),
    ("depends_on", r"depends? on", _THING),
    ("part_of", r"(?:is|are) part of", r"(?:the )?[\w -]{2,40}?"),
    ("created", r"(?:created|founded|wrote)", _THING),
    ("uses", r"(?:uses?|runs? on|is written in|is built with)", _THING),
    ("prefers", r"(?:prefers?|likes?|loves?|enjoys?)", r"[\w`.+#/ -]{2,60}?"),
    ("dislikes", r"(?:hates?|dislikes?)", r"[\w`.+#/ -]{2,60}?"),
)
_PATTERNS: Final = tuple(
    (kind, regex(rf"\A{_SOURCE} {verb} (?P<target>{target}){_STOP}")) for kind, verb, target in _VERBS
)
_NAMED: Final = regex(r"\A(?P<source>[\w .'-]{1,60}?)(?:'s|') name is (?P<target>[^,.;]{1,60})")
_ROLE_AT: Final = regex(
    rf"\A{_SOURCE} (?:is|was|started as|works as) (?:an?|the) [\w -]{{2,60}}? (?:at|for) (?P<target>{_PLACE}){_STOP}"
)
_STARTED_AT: Final = regex(rf"\A{_SOURCE} (?:started|works|is working) (?:at|for) (?P<target>{_PLACE})")
_REPLACED: Final = regex(
    rf"\b(?:(?:switched|migrated|moved) (?:[\w-]+ ){{0,4}}?(?:away )?from (?P<old>{_THING}) to (?P<new>{_THING})"
    rf"|replaced (?P<old2>{_THING}) (?:with|by) (?:an? |the )?(?P<new2>{_THING}))"
)
_RELATIONS_CHINESE: Final = (
    ("named", regex(r"\A(?P<source>.{1,30}?)的名字是(?P<target>.{1,30})\Z")),
    ("works_at", regex(r"\A(?P<source>.{1,30}?)在(?P<target>.{2,20}?)(?:工作|上班|任职|实习|做.{1,12})\Z")),
    ("works_at", regex(r"\A(?P<source>.{1,30}?)(?:就职于|任职于|供职于)(?P<target>.{2,20}?)\Z")),
    ("lives_in", regex(r"\A(?P<source>.{1,30}?)(?:住在|家在|定居在?|搬到了?|居住在)(?P<target>.{2,16})\Z")),
    (
        "prefers",
        regex(
            r"\A(?P<source>用户|\w{2,20}?)(?:更|比较|最|很|非常|特别|一直)?(?:喜欢|偏好|偏爱)(?:用|使用)?(?P<target>[\w"
            r" .+#]{2,30}?)\s?(?:而不是|，|。|\Z)"
        ),
    ),
)
_REPLACED_CHINESE: Final = regex(r"用\s?(?P<new>[\w.+# ]{2,30}?)\s?(?:替换|取代|代替)了?\s?(?P<old>[\w.+#]{2,30})")


def relations_of(content: str, *, about_subject: bool = True, kind: str | None = None) -> tuple[FactRelation, ...]:
    """The relations that a fact states: with `about_subject` one of its subject, of type `kind` if that is given; and
    replacements."""
    found: list[FactRelation] = []
    about = _about_subject(content) if about_subject else None
    if about is not None and kind in (None, about.type):
        found.append(about)
    replaced = _REPLACED.search(content)
    if replaced:
        new, old = replaced["new"] or replaced["new2"], replaced["old"] or replaced["old2"]
        found.append(FactRelation(_bare(new), "replaces", _bare(old)))
    elif replaced := _REPLACED_CHINESE.search(content):
        found.append(FactRelation(_bare(replaced["new"]), "replaces", _bare(replaced["old"])))
    return tuple(found)


def _about_subject(content: str) -> FactRelation | None:
    for kind, pattern in (
        ("named", _NAMED),
        ("works_at", _ROLE_AT),
        ("works_at", _STARTED_AT),
        *_PATTERNS,
        *_RELATIONS_CHINESE,
    ):
        found = pattern.search(content)
        if found and not (kind == "lives_in" and _is_tool(found["target"])):
            if kind == "named" and not _is_given(found["target"]):
                return None
            return FactRelation(_bare(found["source"]), kind, _bare(found["target"]))
    return None


def _is_given(target: str) -> bool:
    """False for "misspelled as Anna", which says something about a name and not which it is."""
    first = target.split(maxsplit=1)[0]
    return _may_be_name([first], target, len(first))


def _is_tool(name: str) -> bool:
    """ "We moved to Kubernetes" names no home."""
    return kind_of(_bare(name)) == "tool"


def _bare(name: str) -> str:
    return name.strip(" `.,;").removeprefix("the ").removeprefix("The ")


# ---------------------------------------------------------------- the name of the speaker

UNKNOWN: Final = "User"
"""The name of a person who has not given one."""

MAX_NAME: Final = 60
"""Characters of a name; a longer one is an address."""

MAX_INTRODUCTION: Final = 20_000
"""Characters of a message that are searched for a name."""

_STATED: Final = regex(
    r"\b(?:(?:[Mm]y name is|[Mm]y name's|I am called|I'm called)\s+(?:(?:actually|really|now|simply|still) (?=[A-Z]))?"
    r"|[Cc]all me\s+(?=[A-Z]))([A-Za-z][\w-]{1,30}(?: [A-Z][\w-]{1,30})?)"
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
    """True if the words before `end`, one or two, are a name that a person gives. One in small letters must be neither
    ordinary nor a participle, as in "my name is pronounced Yo-han"."""
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


def says_name(sentence: str) -> bool:
    """True if a part of a sentence is an introduction by name and nothing else."""
    bare = sentence.strip(" .,!")
    for pattern in (_STATED, _IM):
        found = pattern.match(bare)
        if found is not None and found.end() == len(bare):
            return stated_name(bare) is not None
    return False


def _is_elsewhere(name: str) -> bool:
    """True for a place or a company: "I'm Berlin based"."""
    lists = entity_lists()
    return name.lower() in lists.places.names or name.lower() in lists.organizations.names
