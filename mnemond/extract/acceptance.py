"""Choose what a language model reads of an exchange, and which of its answers are facts.

A model finds what the rules leave out, and invents. So it reads only sentences that the rules dropped for want of a
pattern, and an item of its answer is a fact only if these sentences say it (docs/decisions/0046).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

import msgspec

from mnemond.extract.coverage import stems
from mnemond.extract.facts import MAX_SENTENCE, Context, Extraction, Fact, Message, Remembered
from mnemond.extract.host_facts import completed
from mnemond.extract.orders import ORDER, is_order
from mnemond.extract.prose import MAX_READ, sentences
from mnemond.extract.quotes import LEFT, SPEAKERS, UNCLEAR, begins_with_pronoun, labelled, with_dates
from mnemond.extract.smalltalk import (
    MIN_STEMS,
    is_about_talk,
    is_of_the_moment,
    tells_of_own_work,
    tells_of_success,
    without_speaker,
)
from mnemond.model.answers import Dropped
from mnemond.model.memory import MAX_ENTITY, format_us
from mnemond.model.outcomes import HostFact, Intent, Speaker
from mnemond.text.contrast import numbers
from mnemond.text.cues import causal_cue, reading
from mnemond.text.dates import dates
from mnemond.text.entities import extract
from mnemond.text.languages import language_of
from mnemond.text.quality import only_questions
from mnemond.text.resources import regex
from mnemond.text.secrets import redact

NAME: Final = "model"
"""Family of facts that a model found."""

LEFT_OUT: Final = frozenset({LEFT, UNCLEAR, "substance", "supposition", "symptom"})
"""Reasons of the rules for which a model may find more: no class fits, or a reference was not resolved."""

SAID: Final = 0.6
"""Share of the content words of a fact that must be in what was read."""

SAID_QUOTED: Final = 0.4
"""The same for a fact with a quote that was found in the messages."""

ALIKE: Final = 0.8
"""Share of the content words of a text from which on another one says the same."""

CONFIDENCE: Final = 0.7
"""Confidence in a fact that a model found; that of the rules goes from 0.6 to 0.95."""

STEPS: Final = 2
"""The largest distance between a model's importance and that of the rules, of ten: to small models all is important."""

MAX_ABOUT: Final = 5
"""Names that a fact is about."""

MAX_PASSAGES: Final = 40
MAX_PASSAGE: Final = 1_000
MAX_CHARACTERS: Final = 6_000
"""Of the sentences that are sent at once."""


_PLACEHOLDER: Final = regex(r"<[^<>\n]{1,40}>|\[REDACTED|\{\{\d|\b(?:string|integer|null) or \b")
_NO_SUBJECT: Final = regex(r"(?:you|your|he|she|it|they|this|that|these|those|there)\b", re.IGNORECASE)
_OURS: Final = regex(r"(?:we|our|wir|unsere?)\b|我们", re.IGNORECASE)
"""Beginnings of what people say of themselves and their colleagues; from an agent it is not known who is meant."""

_ISO: Final = regex(r"\b[12][0-9]{3}-[01][0-9]-[0-3][0-9]\b")


class Passage(NamedTuple):
    """A sentence for a model. `said_us`: when it was said. `of_work`: an agent tells in it what its work came to."""

    role: Speaker
    text: str
    said_us: int
    message_id: str | None = None
    of_work: bool = False


class Candidate(msgspec.Struct, frozen=True):
    """An item of a model's answer; all fields but the text may be missing. Those after `said_by` are claims of a larger
    model, which cost the item nothing if they are wrong: names, a day, and the number of a memory."""

    text: str
    kind: str | None = None
    importance: float | None = None
    quote: str | None = None
    said_by: str | None = None
    about: object = None
    when: object = None
    replaces: object = None


class Accepted(NamedTuple):
    """The facts of an answer, and its items that are none, with the reason."""

    facts: tuple[Fact, ...]
    dropped: tuple[Dropped, ...]


# ---------------------------------------------------------------- before: what a model may read


def passages(
    ruled: Extraction, messages: Sequence[Message], context: Context, *, everything: bool = False
) -> list[Passage]:
    """Return the sentences that the rules left out and that a model may read; with `everything` whole messages.

    No part of a message that gives orders to its reader, nothing that the assistant explains after a question unless
    it says what it did, and nothing of the moment.
    """
    found: list[Passage] = []
    size, after_question = 0, False
    for message in messages:
        if message.role not in SPEAKERS:
            continue
        by_agent = message.role == "assistant"
        said_us = context.observed_us if message.said_us is None else message.said_us
        explains = by_agent and after_question and not tells_of_own_work(message.content)
        skipped = is_order(message.content) or explains
        after_question = not by_agent and message.content.rstrip().endswith(("?", "？"))
        if skipped:
            continue
        work = _account_of_work(message.content) if by_agent else ()
        for text in [message.content.strip()] if everything else _left_out(ruled.dropped, message):
            text = text[:MAX_PASSAGE]
            tells_work = not by_agent or _is_result(text) or any(text in each for each in work)
            if (not everything and is_of_the_moment(text)) or not tells_work:
                continue
            if len(found) == MAX_PASSAGES or size + len(text) > MAX_CHARACTERS:
                return found
            found.append(Passage("assistant" if by_agent else "user", text, said_us, message.id, of_work=by_agent))
            size += len(text)
    return found


def _left_out(dropped: Sequence[Dropped], message: Message) -> Iterator[str]:
    """Yield the parts that the rules left out; in place of one that refers to what is before it in its sentence, the
    whole sentence."""
    content = " ".join(message.content.split())
    yielded: set[str] = set()
    for each in dropped:
        text = " ".join(each.text.split())
        if each.reason not in LEFT_OUT or not text or text not in content:
            continue
        whole = _sentence_around(text, content) if _NO_SUBJECT.match(text) else text
        if whole not in yielded:
            yielded.add(whole)
            yield whole


def _sentence_around(part: str, content: str) -> str:
    """Return the sentence of which a text is a later part, or the text itself."""
    return next((each for each in sentences(content[:MAX_READ]) if part in each and each != part), part)


def _account_of_work(content: str) -> list[str]:
    """Return the sentences of an agent that tell what its work came to, and before each the one that tells why, if it
    does not tell what the agent did to find that out."""
    said = sentences(" ".join(content[:MAX_READ].split()))
    results = [*map(_is_result, said), False]
    return [
        each for at, each in enumerate(said) if results[at] or (results[at + 1] and not tells_of_own_work(each))
    ]  # fmt: skip


def _is_result(text: str) -> bool:
    """Return True for a sentence of an agent that tells what its work came to: a fix, a cause, what works again."""
    return reading(text).has("fix") or causal_cue(text) is not None or tells_of_success(text)


# ---------------------------------------------------------------- after: which items are facts


class Shown(msgspec.Struct, frozen=True):
    """What a model was shown beside the passages: memories, numbered from 1 on, and texts that the rules have stored
    already. `names`: of the person and of the assistant. `quotes`: it was asked for the words that each fact rests on.
    """

    existing: Sequence[Remembered]
    stated: Sequence[str]
    names: tuple[str, str]
    quotes: bool = False


def accept(candidates: Sequence[Candidate], read_: Sequence[Passage], shown: Shown, context: Context) -> Accepted:
    """Return the facts among the items of an answer about the passages `read_`.

    `context.earlier`: all messages that a model saw as context, which may hold the names and numbers of a fact.
    """
    facts: list[Fact] = []
    dropped: list[Dropped] = []
    scene = _Scene(read_, context, shown)
    for each in candidates:
        judged = _judged(each, scene, [fact.content for fact in facts], context)
        if isinstance(judged, str):
            dropped.append(Dropped(each.text[:MAX_SENTENCE], judged))
        elif len(facts) >= context.most:
            dropped.append(Dropped(each.text[:MAX_SENTENCE], "too many"))
        else:
            facts.append(judged.fact)
            dropped += judged.dropped
    return Accepted(tuple(facts), tuple(dropped))


class _Judged(NamedTuple):
    """A fact, and the claims about it that are not kept."""

    fact: Fact
    dropped: tuple[Dropped, ...]


class _Scene:
    """The text that a model read, and the words that a fact about it may contain."""

    def __init__(self, read_: Sequence[Passage], context: Context, shown: Shown) -> None:
        self.passages = read_
        self.shown = shown
        self.quotable = [_plain(each.text) for each in read_]
        around = [each.content for each in context.earlier]
        self.words = [stems([each.text]) for each in read_]
        self.all_words = set[str]().union(*self.words)
        texts = [each.text for each in read_]
        self.numbers = frozenset[str]().union(*map(numbers, [*texts, *around]))
        self.days = {day for each in read_ for it in dates(each.text, each.said_us) for day in (it.start, it.end)}
        self.numbers |= self.days
        self.plain = " ".join(" ".join([*texts, *around]).split()).lower()

    def source(self, said: set[str], quote: str) -> Passage | None:
        """Return the passage that has most of the words `said`, of those with the quote; None if none has it."""
        shares = [
            -1 if quote not in text else len(said & words)
            for text, words in zip(self.quotable, self.words, strict=True)
        ]
        best = max(shares)
        return None if best < 0 else self.passages[shares.index(best)]

    def translated(self, text: str) -> Passage | None:
        """Return the only passage that a text may be a translation of: one in another language with all its names and
        numbers, of which there is at least one; None if there is none or more than one. Small models translate although
        they are asked not to; what they say is then known by the passage itself."""
        named = {name.lower() for name in names_in(text, self.shown.names)}
        figures = numbers(text)
        if not named and not figures:
            return None
        found = [
            each for each, plain in zip(self.passages, self.quotable, strict=True)
            if _language(each.text) != _language(text)
            and len(each.text) <= MAX_SENTENCE
            and figures <= numbers(each.text)
            and all(name in plain for name in named)
        ]  # fmt: skip
        return found[0] if len(found) == 1 else None


def _plain(text: str) -> str:
    return " ".join(text.split()).lower()


def _language(text: str) -> str:
    return language_of(text)


def _judged(each: Candidate, scene: _Scene, stated: Sequence[str], context: Context) -> _Judged | str:
    """Return the fact of an item, or why it is none. `stated`: the facts before it."""
    text, shown = without_speaker(" ".join(each.text.split())), scene.shown
    if reason := unfit(text, MAX_SENTENCE):
        return reason
    if only_questions(text):
        return "question"
    if (translated := scene.translated(text)) is not None:
        text = translated.text
    said = stems([text]) - stems(shown.names)
    if not said:
        return "names nothing"
    if is_about_talk(text) or is_of_the_moment(text):
        return "of the moment"
    quote = "" if each.quote is None or not stems([each.quote]) else _plain(each.quote).strip(' .!"“”')
    source = scene.source(said, quote)
    if source is None or (shown.quotes and not quote):
        return "no such quote"
    if reason := _unsaid(text, said, scene, SAID_QUOTED if quote else SAID):
        return reason
    if quote and each.said_by in SPEAKERS and each.said_by != source.role:
        return f"not said by the {each.said_by}"
    if source.role == "assistant" and not source.of_work:
        return "said by the assistant"
    if _is_copy(said, source.text):
        text = source.text  # its own words, with what the copy has lost
    if begins_with_pronoun(text) or _NO_SUBJECT.match(text) or (source.role == "assistant" and _OURS.match(text)):
        return UNCLEAR
    content = with_dates(labelled(text.rstrip(" .。"), shown.names[source.role != "user"]), source.said_us)
    claims = _claims(each, content, scene)
    if _is_known(content, claims, shown, stated):
        return "known"
    fact = _fact(f"{content}{claims.day}", each, claims.about, source, context)
    if isinstance(fact, str):
        return fact
    return _Judged(msgspec.structs.replace(fact, replaces=claims.replaces), claims.dropped)


def _is_copy(said: set[str], source: str) -> bool:
    """Return True if a fact has nearly all words of a sentence that needs nothing before it to be understood."""
    words = stems([source])
    return len(said & words) >= ALIKE * len(words) and len(source) <= MAX_SENTENCE and not _NO_SUBJECT.match(source)


def _unsaid(text: str, said: set[str], scene: _Scene, share: float) -> str | None:
    """Return what of a text was not read, None if it all was: too many of its words, a number, a name."""
    if len(said & scene.all_words) < share * len(said):
        return "not said"
    if numbers(text) - scene.numbers:
        return "number not said"
    unknown = any(name.lower() not in scene.plain for name in names_in(text, scene.shown.names))
    return "name not said" if unknown else None


def _is_known(content: str, claims: _Claims, shown: Shown, stated: Sequence[str]) -> bool:
    """Return True if a memory or a fact says the same. One that a fact would replace is nearly the same text; it is
    known only if it has all of the fact's words."""
    if claims.replaces and stems([content]) <= stems([claims.replaced]):
        return True
    others = (memory.text for memory in shown.existing if memory.id != claims.replaces)
    return any(adds_nothing(content, other) for other in (*others, *shown.stated, *stated))


class _Claims(NamedTuple):
    """What of the claims about a fact is so: names, the day in parentheses, the memory that it would replace."""

    about: tuple[str, ...]
    day: str
    replaces: str
    replaced: str
    dropped: tuple[Dropped, ...]


def _claims(each: Candidate, content: str, scene: _Scene) -> _Claims:
    """Check the claims of an item: the messages hold its names and its day, and its number is that of a memory. Each
    that is not so is dropped with its reason; the fact stays."""
    about, dropped = _about(each.about, scene)
    day, memory = "", None
    when = each.when.strip() if isinstance(each.when, str) else ""
    if when and when not in scene.days:
        dropped.append(Dropped(f"when: {when[:MAX_ENTITY]}", "day not said"))
    elif when and not _ISO.search(content):
        day = f" ({when})"
    if each.replaces is not None and (memory := _numbered(each.replaces, scene.shown.existing)) is None:
        dropped.append(Dropped(f"replaces: {str(each.replaces)[:MAX_ENTITY]}", "no such memory"))
    memory_id, replaced = memory or ("", "")
    return _Claims(tuple(about), day, memory_id, replaced, tuple(dropped))


def _about(names: object, scene: _Scene) -> tuple[list[str], list[Dropped]]:
    """Return those of some names that the messages hold, and the others."""
    kept: list[str] = []
    dropped: list[Dropped] = []
    own = {name.lower() for name in scene.shown.names}
    for name in names[:MAX_ABOUT] if isinstance(names, list) else ():
        line = " ".join(name.split()) if isinstance(name, str) else ""
        if line.lower() in own:
            continue
        if why := no_name(line, scene.plain):
            dropped.append(Dropped(f"about: {line[:MAX_ENTITY]}", why))
        else:
            kept.append(line)
    return kept, dropped


def _numbered(number: object, existing: Sequence[Remembered]) -> Remembered | None:
    """Return the memory that a model was shown with this number."""
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= len(existing):
        return None
    return existing[number - 1]


_PLAIN_WORD: Final = regex(r"[a-zà-öø-ÿ'’ -]+")
_NO_NAME: Final = regex(r"[\W\d_]*|(?:https?://\S+)")


def no_name(name: str, plain: str) -> str | None:
    """Return why a name that a model gives is none of a text; None if it is. `plain`: the text in small letters."""
    if why := unfit(name, MAX_ENTITY):
        return why
    if _NO_NAME.fullmatch(name) or _PLAIN_WORD.fullmatch(name) or not stems([name]):
        return "no name"
    edge = r"(?<!\w){}(?!\w)" if name.isascii() else "{}"
    return None if re.search(edge.format(re.escape(name.lower())), plain) else "name not said"


def unfit(text: str, longest: int) -> str | None:
    """Return why a text of a model is not stored, whatever it read; None if it may be."""
    if not text or len(text) > longest:
        return "length"
    if _PLACEHOLDER.search(text):
        return "placeholder"
    if is_order(text):
        return ORDER
    return "secret" if redact(text).kinds else None


def names_in(text: str, own: Sequence[str] = ()) -> Iterator[str]:
    """Yield the names in a text of a model, each of which must stand in the text that it read; none of `own`."""
    own = [each.lower() for each in own]
    for entity in extract(text):
        if entity.kind in ("person", "organization", "tool", "location") and entity.name.lower() not in own:
            yield entity.name


def adds_nothing(content: str, other: str) -> bool:
    """Return True if a text says hardly anything that the other does not."""
    said = stems([content])
    shared = len(said & stems([other]))
    return bool(said) and numbers(content) <= numbers(other) and shared >= ALIKE * max(len(said), MIN_STEMS - 1)


_INTENTS: Final[dict[str, Intent]] = {
    "preference": "preference", "fact": "fact", "event": "event", "relationship": "relationship",
}  # fmt: skip


def _fact(content: str, each: Candidate, about: Sequence[str], source: Passage, context: Context) -> Fact | str:
    host = HostFact(
        content=content,
        intent=_INTENTS.get((each.kind or "").lower()),
        confidence=CONFIDENCE,
        entities=tuple(about),
        attributed_to=source.role,
        event_time=format_us(source.said_us),
        message_ids=() if source.message_id is None else (source.message_id,),
    )
    (fact,) = completed([host], msgspec.structs.replace(context, threshold=1)).facts
    weight = fact.importance
    if each.importance is not None:
        weight = round(min(max(each.importance, weight - STEPS, 1), weight + STEPS, 10))
    if weight < context.threshold:
        return f"importance {weight}"
    return msgspec.structs.replace(fact, importance=weight, family=NAME)


# ---------------------------------------------------------------- the shape of an answer


def schema(profile: Literal["small", "large"], most: int) -> dict[str, object]:
    """Return the JSON schema of an answer with facts; small models have three fields, more would take attention."""
    fields: dict[str, object] = {
        "text": {"type": "string", "maxLength": MAX_SENTENCE},
        "kind": {"type": "string", "enum": list(_INTENTS)},
        "importance": {"type": "integer", "minimum": 1, "maximum": 10},
    }
    if profile == "large":
        fields |= {
            "quote": {"type": "string", "maxLength": MAX_SENTENCE},
            "said_by": {"type": "string", "enum": ["user", "assistant"]},
            "about": {"type": "array", "maxItems": MAX_ABOUT, "items": {"type": "string", "maxLength": MAX_ENTITY}},
            "when": {"type": ["string", "null"], "maxLength": 10},
            "replaces": {"type": ["integer", "null"]},
        }
    return _listed(fields, most)


def simple_schema(most: int) -> dict[str, object]:
    """Return the schema of the second attempt: texts alone."""
    return _listed({"text": {"type": "string", "maxLength": MAX_SENTENCE}}, most)


def _listed(fields: dict[str, object], most: int) -> dict[str, object]:
    item = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    return {
        "type": "object",
        "properties": {"facts": {"type": "array", "maxItems": most, "items": item}},
        "required": ["facts"],
        "additionalProperties": False,
    }
