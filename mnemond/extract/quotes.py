"""The rule engine: what must be told unasked, taken out of an exchange as verbatim quotes.

Everything that was said is kept in the record of sessions and found there. Rules take out of it only standing
instructions, preferences, decisions, corrections, facts about the person, and what a person asks to remember. A quote
is a sentence or two as they were said; only what stands in brackets or in parentheses is added: the speaker of a
sentence in the first person, and the days of relative dates. Without these additions the words of a quote stand in its
exchange in the same order. No word of one sentence is put in place of a pronoun of another: a sentence that needs the
one before it brings that along, and if that does not settle it, nothing is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Final, NamedTuple

import msgspec

from mnemond.config.writing import QuoteClass
from mnemond.extract.facts import (
    MAX_SENTENCE,
    UNKNOWN,
    Context,
    Extraction,
    Fact,
    Message,
    given_name,
    importance,
    stated_name,
    with_person,
)
from mnemond.extract.orders import ORDER, order_at
from mnemond.extract.prose import MAX_READ, QUOTED, Sentence, prose, sentences
from mnemond.extract.quoted import own_sentences, without_mail
from mnemond.model.answers import Dropped
from mnemond.model.outcomes import Intent
from mnemond.text.contrast import numbers
from mnemond.text.dates import dates
from mnemond.text.entities import extract, nothing_known
from mnemond.text.generality import is_general
from mnemond.text.languages import is_han
from mnemond.text.resources import fill, on_first_use, read, regex
from mnemond.text.transcripts import without_recalled

NAME: Final = "rules"

ASSISTANT: Final = "assistant"
"""Name of the agent in brackets."""

SPEAKERS: Final = ("user", "assistant")
"""Roles that say something; every other is context."""

MAX_SENTENCES: Final = 4_000
"""Sentences of an exchange that are read."""

MAX_ASKED: Final = 2_000
"""Characters of what a person asks to remember: a paragraph or a list."""

MAX_ITEM: Final = 8
"""Sentences of an item of a list."""

LEFT: Final = "left to the record"
"""Reason of a sentence that rules take nothing from; a model may read it."""

UNCLEAR: Final = "unclear reference"
"""Reason of a sentence about something that neither it nor the one before it names."""

INTENTS: Final[dict[QuoteClass, tuple[Intent, str]]] = {
    "asked": ("fact", "fact"), "decision": ("fact", "decision"), "instruction": ("preference", "preference"),
    "preference": ("preference", "preference"), "person": ("relationship", "fact"), "correction": ("fact", "fact"),
    "other": ("fact", "fact"),
}  # fmt: skip
"""Intent and category of each class, in the order in which a sentence is tried."""

CONFIDENCE: Final = 0.9
BY_AGENT: Final = 0.8
"""Confidence in a quote of a person, and of an agent."""


class _QuotesFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """data/quotes_english.toml and its kin. `vetoes`: what makes a sentence something else, by the reason why;
    `pronoun`: words that need a thing; `reason`: the beginning of a sentence that gives the reason of the one before;
    `topic`: that of a clause that says for what the next one holds; `filler`: that of one that says nothing of it;
    `elliptic`: that of a clause without a verb, which the one before it has;
    `next_task`: what ends a quote, as what follows is about the present task; `standing`: headings whose items are
    instructions; `symptom`: something fails; `order`: the beginning of a sentence about the present task."""

    parts: Mapping[str, str]
    classes: Mapping[QuoteClass, tuple[str, ...]]
    vetoes: Mapping[str, tuple[str, ...]]
    before: Mapping[str, tuple[str, ...]]
    pronoun: tuple[str, ...]
    antecedent: str
    reason: str
    topic: str
    filler: str
    elliptic: str
    next_task: str
    standing: str
    symptom: str
    order: str
    first_person: str
    here: str


class _Rules(NamedTuple):
    """The expressions of one script: English and German together, or Chinese."""

    classes: Mapping[QuoteClass, re.Pattern[str]]
    vetoes: Mapping[str, re.Pattern[str]]
    before: Mapping[str, re.Pattern[str]]
    pronoun: re.Pattern[str]
    antecedent: re.Pattern[str]
    reason: re.Pattern[str]
    topic: re.Pattern[str]
    filler: re.Pattern[str]
    elliptic: re.Pattern[str]
    next_task: re.Pattern[str]
    standing: re.Pattern[str]
    symptom: re.Pattern[str]
    order: re.Pattern[str]
    first_person: re.Pattern[str]
    here: re.Pattern[str]


def _rules(*names: str) -> _Rules:
    files = [read(f"quotes_{name}", _QuotesFile) for name in names]

    def compiled(patterns: Iterable[tuple[_QuotesFile, str]]) -> re.Pattern[str]:
        named: set[str] = set()

        def once(group: re.Match[str]) -> str:
            """Give groups of one name a number each: an expression has each name once."""
            name = next(f"{group[1]}{at}" for at in range(99) if f"{group[1]}{at}" not in named)
            named.add(name)
            return f"(?P<{name}>"

        parts = [re.sub(r"\(\?P<(\w+)>", once, fill(pattern, file.parts)) for file, pattern in patterns if pattern]
        return re.compile("|".join(f"(?:{each})" for each in parts) or r"(?!)", re.IGNORECASE)

    def table(name: str) -> dict[str, re.Pattern[str]]:
        keys = dict.fromkeys(key for file in files for key in getattr(file, name))
        return {key: compiled((f, p) for f in files for p in getattr(f, name).get(key, ())) for key in keys}

    def one(name: str) -> re.Pattern[str]:
        return compiled((file, getattr(file, name)) for file in files)

    classes = table("classes")
    return _Rules(
        {key: classes[key] for key in INTENTS if key in classes}, table("vetoes"), table("before"),
        compiled((file, each) for file in files for each in file.pronoun), *map(one, _Rules._fields[4:]),
    )  # fmt: skip


_latin: Final = on_first_use(lambda: _rules("english", "german"))
_han: Final = on_first_use(lambda: _rules("chinese"))


def _rules_of(text: str) -> _Rules:
    return _han() if is_han(text) else _latin()


_CODE: Final = regex(r"`[^`\n]{1,400}`|https?://[^\s<>]{1,400}")
_INNER: Final = regex(r"[^\"“”„«»「」『』'‘’`]")
_SECRET: Final = regex(r"\[REDACTED|\b(?=\w{0,40}\d)(?=\w{0,40}[a-z])(?=\w{0,40}[A-Z])\w{24,}\b")
"""A redacted secret, or what looks like one: without it the sentence says nothing."""

_BOUNDARY: Final = regex(r"[,;:!?.]\s+|[(—–，；：。！？（]\s*|\s-\s|(?<=\s)(?:and|but|so|also|btw|und|aber)[,:]?\s+")
_TITLE: Final = regex(r"[\w-]+(?: [\w-]+)?[:：]\s*")
"""What stands between two clauses of a sentence, and what names the subject of the clause behind it."""

_ENDS: Final = " \t,;:—–-(，；：、"
_WORD: Final = regex(r"[^\W_]+")


def _masked(text: str) -> str:
    """Return a text of the same length, its quotations and code made of x, and with straight apostrophes."""
    masked = _CODE.sub(lambda found: "x" * len(found[0]), text)
    return QUOTED.sub(lambda found: _INNER.sub("x", found[0]), masked).replace("’", "'")


# ---------------------------------------------------------------- one sentence


class Quote(NamedTuple):
    """What is taken of a sentence: its class, and where it begins and ends there. `back`: the sentence asks to keep
    what was said before it."""

    kind: QuoteClass
    start: int
    end: int
    back: bool = False


def quote_in(sentence: str, classes: Iterable[str] = tuple(INTENTS)) -> Quote | str:
    """Return what is to be taken of a sentence of one of some classes, or the reason why nothing is. Linear time."""
    if len(sentence) > MAX_SENTENCE:
        return "length"
    if _SECRET.search(sentence):
        return "secret"
    masked, rules = _masked(sentence), _rules_of(sentence)
    found = None
    for kind, pattern in rules.classes.items():
        if kind in classes and (found := pattern.search(masked)) is not None:
            break
    if found is None or (_has(found, "named") and stated_name(masked) is None):
        return LEFT
    if kind == "asked":
        is_task = masked.startswith(" to ", found.end())
        start = found.start() if is_task else found.end()
        return "question" if _asks(masked) else Quote(kind, start, len(sentence), _has(found, "back"))
    if masked.rstrip().endswith((":", "：")):
        return "heading"
    at = found.start()
    if kind in ("preference", "person"):  # one quote for all that a sentence says of the person
        about = (rules.classes[each].search(masked) for each in ("preference", "person") if each in classes)
        at = min(each.start() for each in about if each is not None)
    start, end = _span(masked, at, rules)
    reason = _veto(masked, found, kind, rules)
    return reason or Quote(kind, start, end)


def _has(found: re.Match[str], part: str) -> bool:
    """Return True if a named part of an expression was found; `weak` is one that as often tells what happens: "it fails
    every time"."""
    return any(value is not None and name.startswith(part) for name, value in found.groupdict().items())


def _asks(masked: str) -> bool:
    return masked.rstrip(" )\"'”’!").endswith(("?", "？"))


def _veto(masked: str, found: re.Match[str], kind: QuoteClass, rules: _Rules) -> str:
    """Return why a sentence with an expression of a class is something else; "" if it is not."""
    if _asks(masked):
        return "question"
    for reason, pattern in rules.before.items():
        if pattern.search(masked, 0, found.end() if reason == "denied" else max(found.start(), 1)):
            return reason
    for reason, pattern in rules.vetoes.items():
        if pattern.search(masked):
            return reason
    if (kind in ("correction", "decision") or _has(found, "weak")) and rules.symptom.search(masked):
        return "symptom"
    return ""


def _span(masked: str, at: int, rules: _Rules) -> tuple[int, int]:
    """Return where a quote around an expression at `at` begins and ends. What stands before its clause is left out
    unless it says for what the clause holds; so is what follows about the present task."""
    bounds = [(found.start(), found.end()) for found in _BOUNDARY.finditer(masked)]
    starts = [0, *(end for begin, end in bounds if begin <= at)]
    start = starts.pop()
    while starts:
        before = masked[starts[-1] : start]
        if rules.filler.match(before) or not (rules.topic.match(before) or _TITLE.fullmatch(before)):
            break
        start = starts.pop()
    while (filler := rules.filler.match(masked, start)) is not None and filler.end() > start:
        start = filler.end()
    if rules.elliptic.match(masked, start) is not None:
        start = 0
    tail = rules.next_task.search(masked, max(at, start) + 1)
    return start, len(masked) if tail is None else tail.start()


def needs_before(text: str) -> bool:
    """Return True if a text speaks of something that it does not name: "never do that again", "keep it"."""
    masked, rules = _masked(text), _rules_of(text)
    found = rules.pronoun.search(masked)
    return found is not None and rules.antecedent.search(masked, 0, found.start()) is None


_BARE: Final = regex(
    r"(?:\d\S*(?=[ ,，](?!版))|its?\b|not?\b|nicht\b|nein\b|doch\b|actually\b|不是|现在)", re.IGNORECASE
)
"""The beginning of a correction that gives a value and not of what."""


def _names(before: str) -> bool:
    """Return True if the part of a sentence before a clause says what the clause is about."""
    return not _is_fragment(before) and not begins_with_pronoun(before) and not _asks(_masked(before))


def _settles(before: str) -> bool:
    """Return True if the sentence before another names what that one speaks of."""
    return bool(before) and not (begins_with_pronoun(before) or needs_before(before) or _asks(_masked(before)))


def begins_with_pronoun(text: str) -> bool:
    """Return True if a text begins with a word that stands for something said before."""
    return _rules_of(text).pronoun.match(_masked(text)) is not None


def is_instruction(content: str) -> bool:
    """Return True if a sentence is a standing instruction: "Never deploy on Friday", 提交前必须运行测试."""
    found = quote_in(without_label(content), ("instruction",))
    return not isinstance(found, str)


# ---------------------------------------------------------------- what is added

_LABEL: Final = regex(r"\A\[[^\[\]\n]{1,60}\] ")


def without_label(content: str) -> str:
    """Return a memory without the speaker in brackets in front."""
    return _LABEL.sub("", content, count=1)


def labelled(text: str, name: str, *, anywhere: bool = True) -> str:
    """Return a text in the first person with its speaker in brackets in front; any other as it is. Unless `anywhere`,
    only one that begins in the first person is."""
    first = _rules_of(text).first_person
    found = first.search(_masked(text)) if anywhere else first.match(_masked(text))
    return text if found is None else f"[{name}] {text}"


_ELSEWHEN: Final = (-4_011 * 86_400_000_000, 2_923 * 86_400_000_000)
"""Microseconds to other days: a phrase that means something else there is relative to the day it was said."""

_FAR: Final = 400 * 365 * 86_400_000_000

_OF_MONTH: Final = regex(r"\b(?:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])|月|\d\.", re.IGNORECASE)
"""A month, or a day of one."""


def with_dates(sentence: str, said_us: int) -> str:
    """Return a sentence, said at `said_us` (microseconds since 1970), with the days of its relative phrases in
    parentheses behind them. A phrase that gives no more than an idea ("recently") stays as it is, and so does a month
    or a day of one, which may be of this year or the next."""
    found = dates(sentence, said_us)
    if not found:
        return sentence
    shift = _ELSEWHEN[0] if said_us > -_FAR else _ELSEWHEN[1]
    others = {(each.text, each.start, each.end) for each in dates(sentence, said_us + shift)}
    noted, at = sentence, 0
    for each in found:
        place = noted.find(each.text, at)
        if place < 0:
            continue
        at = place + len(each.text)
        if _OF_MONTH.search(each.text):
            continue
        if each.explicit and (each.text, each.start, each.end) not in others and not noted.startswith((" (", "（"), at):
            days = each.start if each.start == each.end else f"{each.start} to {each.end}"
            note = f" ({days})" if each.text.isascii() else f"（{days}）"
            noted = f"{noted[:at]}{note}{noted[at:]}"
            at += len(note)
    return noted


# ---------------------------------------------------------------- an exchange


class RuleEngine:
    """Finds what must be told unasked by rules alone."""

    def extract(self, messages: Sequence[Message], context: Context) -> Extraction:
        """The quotes of `messages`, at most `context.most`; never raises for their content. Time is linear in their
        length. Of a message that directs a model, what stands before that is read."""
        reading = _Reading(messages, context)
        for each in messages:
            if each.role in SPEAKERS:
                reading.read(each)
            else:
                reading.drop(each.content, "context")
        return Extraction(tuple(reading.facts), tuple(reading.dropped), NAME)


class _Reading:
    """One exchange, read once from beginning to end."""

    def __init__(self, messages: Sequence[Message], context: Context) -> None:
        self.facts: list[Fact] = []
        self.dropped: list[Dropped] = []
        self._context = context
        self._names = {"user": user_name(messages, context), "assistant": ASSISTANT}
        self._left = MAX_SENTENCES
        self._seen: set[str] = set()

    def drop(self, text: str, reason: str) -> None:
        """Note a part from which nothing is taken."""
        if text.strip():
            self.dropped.append(Dropped(text, reason))

    def read(self, message: Message) -> None:
        """Take what is to be taken of a message."""
        content = message.content
        order = order_at(content)
        if order is not None:
            self.drop(content[order:].strip(), ORDER)
            content = content[:order]
        if message.role == "user":
            content, mail = without_mail(content)
            self.drop(mail, "quote")
        parts = prose(content)
        for text, reason in parts.others:
            self.drop(text, reason)
        found: Sequence[Sentence] = parts.sentences
        if message.role == "user":
            found, others = own_sentences(found)
            for text, reason in others:
                self.drop(text, reason)
        if len(found) > self._left:
            self.drop(" ".join(each.text for each in found[self._left :]), "length")
            found = found[: self._left]
        self._left -= len(found)
        at = 0
        while at < len(found):
            at = self._take(message, found, at)

    def _take(self, message: Message, found: Sequence[Sentence], at: int) -> int:
        """Take what is to be taken of the sentence at `at` and of those that belong to it; return where the next is."""
        sentence = found[at].text
        if message.role == "user" and (end := self._listed(message, found, at)) > at:
            return end
        classes = self._context.classes
        if message.role != "user":
            classes = frozenset({"decision"} if "agent_decision" in classes else ())
        quote = quote_in(sentence, classes)
        if message.role == "assistant" and not isinstance(quote, str) and _first_person_singular(sentence):
            quote = LEFT  # what an agent decides for itself is an account of its work
        if isinstance(quote, str):
            if quote == LEFT and message.role == "user" and "other" in classes and _states(sentence):
                self._keep("other", with_dates(sentence, self._said_us(message)), message)
            else:
                self.drop(sentence, quote)
            return at + 1
        if quote.kind == "asked":
            return self._asked(message, found, at, quote)
        text, end = sentence[quote.start : quote.end].strip(_ENDS), at + 1
        lacks_thing = needs_before(text) or (quote.kind == "correction" and _BARE.match(text) is not None)
        if lacks_thing and _names(sentence[: quote.start]):
            text = sentence[: quote.end].strip(_ENDS)
        elif lacks_thing:
            before = found[at - 1].text if at else ""
            whole = f"{before} {sentence[: quote.end].strip(_ENDS)}"
            if not _settles(before) or len(whole) > MAX_SENTENCE:
                self.drop(sentence, UNCLEAR)
                return end
            text = whole
        if _is_fragment(text):
            self.drop(sentence, "substance")
            return end
        if end < len(found) and found[end].group == found[at].group:
            reason = found[end].text
            if _rules_of(reason).reason.match(reason) and len(text) + len(reason) < MAX_SENTENCE and not _asks(reason):
                text, end = f"{text} {reason}", end + 1
        self._keep(quote.kind, text, message)
        return end

    def _listed(self, message: Message, found: Sequence[Sentence], at: int) -> int:
        """Take the items of a list whose heading says that they are standing instructions, each with the heading in
        front; return where the next sentence begins, `at` if there is no such list."""
        heading = found[at].text
        rules = _rules_of(heading)
        is_heading = heading.rstrip().endswith((":", "：")) and rules.standing.search(_masked(heading)) is not None
        end = at + 1
        while is_heading and end < len(found) and found[end].itemised:
            of_item = _same_group(found, end)
            item = " ".join(each.text for each in of_item)
            end += len(of_item)
            if _asks(item) or begins_with_pronoun(item) or _SECRET.search(item) or len(item) > MAX_SENTENCE:
                self.drop(item, UNCLEAR)
            elif "instruction" in self._context.classes:
                self._keep("instruction", f"{heading} {item}" if _is_fragment(item) else item, message)
        return at if end == at + 1 else end

    def _asked(self, message: Message, found: Sequence[Sentence], at: int, quote: Quote) -> int:
        """Take what a person asks to remember: what follows to the end of the paragraph or list, without orders about
        the present task; if nothing follows, what was said before it in the paragraph."""
        sentence = found[at]
        rest = "" if quote.back else sentence.text[quote.start : quote.end].strip(_ENDS)
        is_list = sentence.text.rstrip().endswith((":", "：")) or (not rest.strip(" .!。！") and not quote.back)
        end = at + 1
        texts = [rest] if rest.strip(" .!。！") else []
        size = len(rest)
        while not quote.back and end < len(found) and size < MAX_ASKED:
            each = found[end]
            same = each.group == sentence.group and each.itemised == sentence.itemised
            listed = is_list and each.itemised
            opened = is_list and not texts
            if not (same or listed or opened) or _asks(each.text) or _rules_of(each.text).order.match(each.text):
                break
            texts.append(each.text)
            size += len(each.text)
            end += 1
        if not texts:
            texts = [
                each.text for each in found[max(0, at - 3) : at]
                if each.group == sentence.group and not _asks(each.text)
            ] or [each.text for each in found[max(0, at - 1) : at]]  # fmt: skip
            if prefix := sentence.text[: quote.start]:
                texts += [each for each in [_before_request(prefix)] if each]
        text = "\n".join(texts) if is_list and len(texts) > 1 else " ".join(texts)
        if not text.strip(" .!。！") or _SECRET.search(text):
            self.drop(sentence.text, UNCLEAR)
            return at + 1
        if begins_with_pronoun(text) and at and not begins_with_pronoun(found[at - 1].text) and not quote.back:
            text = f"{found[at - 1].text} {text}"
        self._keep("asked", text[:MAX_ASKED], message, _class_of(text))
        return end

    def _keep(self, kind: QuoteClass, text: str, message: Message, stored_as: QuoteClass | None = None) -> None:
        """Add a quote, unless it is a repetition, not important enough, or one too many. `stored_as`: the class of what
        a person asks to remember."""
        said_us = self._said_us(message)
        by_agent = message.role == "assistant"
        name = self._names[message.role]
        content = with_dates(text.strip(), said_us)
        key = " ".join(_WORD.findall(content.lower()))
        if any(key in seen or (kind == "asked" and seen in key) for seen in self._seen):
            self.drop(text, "said before")
            return
        if by_agent:
            content = f"[{name}] {content}"
        elif kind != "instruction":
            content = labelled(content, name, anywhere=kind in ("preference", "person"))
        named = extract(content, known=self._context.known or nothing_known)
        intent, category = INTENTS[stored_as or kind]
        weight = importance(
            content, intent, decided=(stored_as or kind) == "decision", corrects=kind == "correction",
            specific=len(named) >= 2 or bool(numbers(content)),
        )  # fmt: skip
        if weight < self._context.threshold:
            self.drop(text, f"importance {weight}")
            return
        if len(self.facts) >= self._context.most:
            self.drop(text, "too many")
            return
        self._seen.add(key)
        is_personal = kind == "person" or (kind == "preference" and _rules_of(text).here.search(text) is None)
        self.facts.append(
            Fact(
                content=content,
                intent=intent,
                category=category,
                importance=weight,
                confidence=BY_AGENT if by_agent else CONFIDENCE,
                attributed_to="assistant" if by_agent else "user",
                said_us=said_us,
                entities=with_person(named, name, content),
                message_ids=() if message.id is None else (message.id,),
                family=kind,
                corrects=kind == "correction",
                general=is_personal or is_general(text),
            )
        )

    def _said_us(self, message: Message) -> int:
        return self._context.observed_us if message.said_us is None else message.said_us


def _class_of(text: str) -> QuoteClass:
    """Return the class of a text that a person asks to remember: that of its first sentence, if it has one."""
    found = quote_in(sentences(text)[0][:MAX_SENTENCE], ("decision", "instruction", "preference", "person"))
    return "asked" if isinstance(found, str) else found.kind


def _same_group(found: Sequence[Sentence], at: int) -> Sequence[Sentence]:
    """Return the sentences from `at` on that belong together."""
    return list(takewhile(lambda each: each.group == found[at].group, found[at : at + MAX_ITEM]))


def _first_person_singular(text: str) -> bool:
    return _rules_of(text).first_person.search(_masked(text)) is not None


def _before_request(prefix: str) -> str:
    """Return what a sentence says before it asks to note that: "we stay with Celery, note that down"."""
    starts = [each.start() for each in _BOUNDARY.finditer(prefix)]
    return prefix[: starts[-1]].strip(_ENDS) if starts else ""


MIN_WORDS: Final = 3
MIN_HAN: Final = 4
"""Words, and Chinese characters, of a quote that says something."""


def _is_fragment(text: str) -> bool:
    if is_han(text):
        return sum("\u4e00" <= char <= "\u9fff" for char in text) < MIN_HAN
    return len(_WORD.findall(text)) < MIN_WORDS


def _states(sentence: str) -> bool:
    """Return True if a sentence of no class may state something by itself: the class `other`."""
    rules, masked = _rules_of(sentence), _masked(sentence)
    is_other = _asks(masked) or rules.order.match(masked) or rules.symptom.search(masked) or needs_before(sentence)
    vetoed = any(pattern.search(masked) for pattern in (*rules.vetoes.values(), *rules.before.values()))
    return not is_other and not vetoed and len(_WORD.findall(sentence)) > 2 * MIN_WORDS


def user_name(messages: Sequence[Message], context: Context) -> str:
    """The name of the person in an exchange; one that the user states goes before the name that a host gives."""
    users = [each for each in (*context.earlier, *messages) if each.role == "user"]
    stated = (stated_name(without_recalled(each.content[:MAX_READ]).replace("’", "'")) for each in reversed(users))
    named = (given_name(each.name) for each in reversed(users) if each.name)
    return next(filter(None, stated), None) or context.speaker or next(filter(None, named), None) or UNKNOWN
