"""The rule engine: the facts of an exchange without a model, and facts that a host found, completed by the same rules.

Precision goes before recall: a store that is filled with remarks in passing recalls remarks in passing. A sentence is
kept if it belongs to a family of patterns and has substance (docs/decisions/0023).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

import msgspec

from mnemond.extract import chinese, english, german
from mnemond.extract.account import ASIDE, missing
from mnemond.extract.chinese import is_chinese
from mnemond.extract.discourse import Discourse
from mnemond.extract.english import is_request
from mnemond.extract.english_clauses import is_question, spelled
from mnemond.extract.english_reference import mentions
from mnemond.extract.facts import (
    FUNCTIONAL,
    MAX_SENTENCE,
    UNKNOWN,
    Context,
    Extraction,
    Fact,
    Intent,
    Message,
    Speaker,
    entities_of,
    given_name,
    importance,
    relations_of,
    stated_name,
    with_person,
)
from mnemond.extract.findings import Finding, Judged, Left, Scene
from mnemond.extract.findings import english as english_families
from mnemond.extract.first_person import about
from mnemond.extract.orders import ORDER, is_instruction, order_at
from mnemond.extract.prose import MAX_READ, Sentence, prose, sentences
from mnemond.extract.quoted import own_sentences, without_quotes
from mnemond.model.answers import Dropped
from mnemond.text.contrast import numbers
from mnemond.text.cues import reading
from mnemond.text.entities import extract, nothing_known
from mnemond.text.resources import regex
from mnemond.text.similarity import token_set
from mnemond.text.transcripts import without_recalled

NAME = "rules"

ASSISTANT: Final = "The assistant"
"""Name of the agent in facts."""

SPEAKERS = ("user", "assistant")
"""Roles that say something; every other is context."""

MAX_SENTENCES = 4_000
"""Sentences of an exchange that are read."""

REPEATED = 0.9
"""Share of a sentence's words in an earlier sentence from which on it is a repetition."""

MIN_REPEATED = 3
"""Words of a sentence that can be a repetition."""

MAX_HEARD = 300
"""Earlier sentences that a new one is compared with."""

MAX_CORRECTION = 40
"""Characters of "no, that's wrong" and the like."""

MAX_CONTEXT = 12
"""Last sentences of an earlier message whose mentions are noted."""

MAX_BRIEF = 2
"""Sentences of an assistant's message whose mentions are noted: "it" after a short reply is about it."""

MAX_BACK = 20
"""Sentences of earlier messages that are searched for an antecedent."""

MAX_ANTECEDENTS = 6
"""Sentences that are searched for the thing that a German or Chinese pronoun stands for."""

AGENT_DOUBT = 0.1
"""How much less the confidence in an agent's statement is."""

OF_SUBJECT = frozenset({"identity", "preference", "relation", "event"})
"""Families whose sentences state a relation of their subject."""

_SECRET = regex(r"\[REDACTED|\b(?=\w{0,40}\d)(?=\w{0,40}[a-z])(?=\w{0,40}[A-Z])\w{24,}\b")
"""A redacted secret, or what looks like one: without it the sentence says nothing."""

_SEVERAL = regex(r"[,;.!，；。] ?")
"""Clauses before a colon: not all of them need belong to what is quoted behind it."""

_DOUBTED = regex(
    r"(?:so |and |but )?(?:(?:is|are|was) (?:that|this|it|he|she|they) (?:still |really |actually |even )?(?:true|right"
    r"|correct|accurate|so)|can (?:that|this) be (?:true|right)|true|right|correct)\?"
    r"|stimmt das\b|ist das (?:wahr|richtig|korrekt|so)\b|hat (?:er|sie) recht\b"
    r"|(?:这|那)?(?:是|对)(?:真的|对的|这样)?(?:吗|么)",
    re.IGNORECASE,
)
"""A question whether the sentence before it is true: that one says nothing of its own."""

_REASON = regex(r"(?:because|since|so that|therefore|that's why|that is why|due to)\b|因为|所以|因此", re.IGNORECASE)
_SO = regex(r"so\b,? (?!far\b|i can\b)", re.IGNORECASE)
_FIXED_BY = regex(
    r"(?:i|we)(?:'ve| have)? (fixed|solved|resolved) (?:it|this|that|the \w+) (?=by\b|with\b)", re.IGNORECASE
)


class RuleEngine:
    """Finds facts by rules alone."""

    def extract(self, messages: Sequence[Message], context: Context) -> Extraction:
        """The facts of `messages`, at most `context.most`; never raises for their content. Time is linear in their
        length. Of a message that directs a model, what stands before that is read."""
        read: list[Message] = []
        orders: list[Dropped] = []
        for each in messages:
            at = order_at(each.content) if each.role in SPEAKERS else None
            if at is None:
                read.append(each)
                continue
            orders.append(Dropped(each.content[at:].strip(), ORDER))
            if each.content[:at].strip():
                read.append(msgspec.structs.replace(each, content=each.content[:at]))
        found = _Reading(read, context).extraction()
        return msgspec.structs.replace(found, dropped=(*found.dropped, *orders)) if orders else found


class _Reading:
    """One exchange, read once from beginning to end."""

    def __init__(self, messages: Sequence[Message], context: Context) -> None:
        self._others = [each for each in messages if each.role not in SPEAKERS]
        self._messages = [each for each in messages if each.role in SPEAKERS]
        self._context = context
        self._heard: list[frozenset[str]] = _words_of(context.earlier)
        self._facts: list[Fact] = []
        self._dropped: list[Dropped] = []
        self._names = {"user": user_name(self._messages, context), "assistant": ASSISTANT}
        self._before: list[Sentence] = []
        self._said = [each.text for message in context.earlier for each in prose(message.content).sentences][-MAX_BACK:]
        self._seen: set[str] = set()
        self._discourse = Discourse()

    def extraction(self) -> Extraction:
        """All facts, and all parts that are not kept."""
        for message in self._others:
            self._drop(message.content, "context")
        for message in self._context.earlier:
            if message.role == "user":
                self._remember(message)
        left = MAX_SENTENCES
        for message in self._messages:
            facts, dropped = len(self._facts), len(self._dropped)
            read = prose(message.content)
            for text, reason in read.others:
                self._drop(text, reason)
            found: Sequence[Sentence] = read.sentences
            if message.role == "user":
                found, others = own_sentences(found)
                for text, reason in others:
                    self._drop(text, reason)
            if len(found) > left:
                self._drop(" ".join(each.text for each in found[left:]), "length")
            self._read(message, found[:left])
            left = max(0, left - len(found))
            self._account(message.content, facts, dropped)
        return Extraction(tuple(self._facts), tuple(self._dropped), NAME)

    def _remember(self, message: Message) -> None:
        """Note what an earlier message mentions, for pronouns in the ones that are read."""
        for sentence in own_sentences(prose(message.content).sentences).own[-MAX_CONTEXT:]:
            self._note(sentence.text)

    def _note(self, text: str) -> None:
        """Note what an English sentence mentions."""
        if len(text) <= MAX_SENTENCE and not (is_chinese(text) or german.is_german(text)):
            self._discourse.add(mentions(spelled(text)))

    def _drop(self, text: str, reason: str) -> None:
        if text.strip():
            self._dropped.append(Dropped(text, reason))

    def _account(self, text: str, facts: int, dropped: int) -> None:
        """Drop the words of `text` that stand in no fact and no dropped part since `facts` and `dropped`."""
        stated = [each.content for each in self._facts[max(0, facts - 1) :]]
        stated += [each.text for each in self._dropped[dropped:]]
        for piece in missing(text, stated):
            self._drop(piece, ASIDE)

    def _read(self, message: Message, found: Sequence[Sentence]) -> None:
        heard: list[frozenset[str]] = []
        last: Fact | None = None
        for at, sentence in enumerate(found):
            if len(self._facts) >= self._context.most:
                self._drop(" ".join(each.text for each in found[at:]), "too many")
                break
            facts, dropped = len(self._facts), len(self._dropped)
            joined = None if last is None else self._joined(last, sentence)
            if at + 1 < len(found) and _DOUBTED.match(found[at + 1].text):
                self._drop(sentence.text, "question")
                last = None
            elif joined is not None:
                last = self._facts[-1] = joined
            else:
                last = self._judge(message, sentence)
            self._account(sentence.text, facts, dropped)
            if message.role == "assistant" and len(found) <= MAX_BRIEF:
                self._note(sentence.text)
            self._before.append(sentence)
            heard.append(token_set(sentence.text))
        self._heard += heard[-MAX_HEARD:]
        self._said = [*self._said, *(each.text for each in self._before)][-MAX_BACK:]
        self._before.clear()

    def _judge(self, message: Message, sentence: Sentence) -> Fact | None:
        """Add the facts of a sentence; return the one that it ends with, if it does."""
        text, quotes = without_quotes(sentence.text)
        for quote in quotes:
            self._drop(quote, "quote")
        if quotes and text.endswith((":", "：")) and not _SEVERAL.search(text):
            self._drop(text, "quote")
            return None
        judged = self._findings(message, sentence, text)
        if isinstance(judged, str):
            self._drop(text, judged)
            return None
        if self._is_repeated(sentence.text):
            self._drop(sentence.text, "said before")
            return None
        last = None
        for each in judged:
            last = self._fact(each, message) if isinstance(each, Finding) else None
            if last is not None:
                self._facts.append(last)
            elif isinstance(each, Left):
                self._drop(each.text, each.reason)
        return last

    def _findings(self, message: Message, sentence: Sentence, text: str) -> Judged:
        if not text.strip():
            return []
        if len(text) > MAX_SENTENCE:
            return "length"
        if _SECRET.search(text):
            return "secret"
        scene = Scene(
            name=self._names[message.role],
            by_agent=message.role == "assistant",
            said_us=self._said_us(message),
            discourse=self._discourse,
            said_last=self._said_last,
            corrected=self._is_corrected(sentence.group),
            ruled=self._is_ruled(sentence.group),
            itemised=sentence.itemised,
        )
        if is_chinese(text):
            return chinese.findings(text, scene)
        return german.findings(text, scene) if german.is_german(text) else english.findings(text, scene)

    def _said_last(self) -> list[str]:
        """The sentences before this one, the last one first, also of a message before."""
        found = (*self._said, *(each.text for each in self._before))
        return [each[:MAX_SENTENCE] for each in reversed(found[-MAX_ANTECEDENTS:])]

    def _fact(self, new: Finding, message: Message) -> Fact | None:
        """The fact of a finding; None if it is a repetition, or not important enough."""
        key = " ".join(sorted(token_set(new.content)))
        if key in self._seen:
            self._drop(new.content, "said before")
            return None
        fact = weighed(new, message.role, self._said_us(message), self._context, self._names[message.role])
        if fact.importance < self._context.threshold:
            self._drop(new.content, f"importance {fact.importance}")
            return None
        self._seen.add(key)
        return fact if message.id is None else msgspec.structs.replace(fact, message_ids=(message.id,))

    def _said_us(self, message: Message) -> int:
        return self._context.observed_us if message.said_us is None else message.said_us

    def _is_repeated(self, text: str) -> bool:
        words = token_set(text)
        if len(words) < MIN_REPEATED:
            return False
        return any(len(words & heard) >= REPEATED * len(words) for heard in islice(reversed(self._heard), MAX_HEARD))

    def _is_corrected(self, group: int) -> bool:
        """True if the sentence before, of this group, says that something is wrong, and no more."""
        if not self._before or self._before[-1].group != group or len(self._before[-1].text) > MAX_CORRECTION:
            return False
        return reading(self._before[-1].text).has("correction")

    def _is_ruled(self, group: int) -> bool:
        """True if the last fact is a standing instruction of the sentence before, of this group."""
        if not self._before or self._before[-1].group != group or not self._facts:
            return False
        return self._facts[-1].family == "rule"

    def _joined(self, fact: Fact, sentence: Sentence) -> Fact | None:
        """`fact` with a sentence that only continues it: its reason, or its fix."""
        text = sentence.text.replace("’", "'")
        if sentence.group != self._before[-1].group or len(fact.content) + len(text) > MAX_SENTENCE:
            return None
        fixed = _FIXED_BY.match(text)
        if fixed is not None and fact.family == "problem-fix":
            return _longer(fact, f"; {fixed[1].lower()} {text[fixed.end() :]}".rstrip(" .!"))
        follows = _REASON.match(text) or _SO.match(text)
        if follows is None or is_question(text) or is_request(text[follows.end() :].strip()):
            return None
        name = self._names["user" if fact.attributed_to == "user" else "assistant"]
        more, mark = (chinese.about(name, text), "，") if is_chinese(text) else (about(name, text), ", ")
        return _longer(fact, f"{mark}{more[0].lower()}{more[1:]}".rstrip(" .。!！"))


def user_name(messages: Sequence[Message], context: Context) -> str:
    """The name of the person in an exchange; one that the user states goes before the name that a host gives."""
    users = [each for each in (*context.earlier, *messages) if each.role == "user"]
    stated = (stated_name(_own_words(each).replace("’", "'")) for each in reversed(users))
    named = (given_name(each.name) for each in reversed(users) if each.name)
    return next(filter(None, stated), None) or context.speaker or next(filter(None, named), None) or UNKNOWN


def weighed(new: Finding, role: str, said_us: int, context: Context, speaker: str) -> Fact:
    """The fact of a finding, with its entities, importance and relations. That it names its `speaker` does not raise
    its importance."""
    relations = relations_of(new.content, about_subject=new.family in OF_SUBJECT, kind=new.relation)
    named = entities_of(new.content, relations, context.known)
    specific = len(named) >= 2 or bool(numbers(new.content))
    by_agent = role == "assistant"
    # a person's place of work is a relationship, a tool that is used is a fact
    is_relationship = new.family == "relation" and any(
        each.type in FUNCTIONAL | {"owns", "knows"} for each in relations
    )
    return Fact(
        content=new.content,
        intent="relationship" if is_relationship else new.intent,
        category=new.category,
        importance=importance(new.content, new.intent, decided=new.decided, corrects=new.corrects, specific=specific),
        confidence=round(new.confidence - AGENT_DOUBT * by_agent, 2),
        attributed_to="assistant" if by_agent else "user",
        said_us=said_us,
        entities=with_person(named, speaker, new.content),
        relations=relations,
        family=new.family,
        corrects=new.corrects,
    )


def _longer(fact: Fact, more: str) -> Fact:
    return msgspec.structs.replace(fact, content=fact.content.rstrip(" .。!！") + more)


def _own_words(message: Message) -> str:
    """The beginning of a message, which is searched for a name; memories shown in it may be about anybody."""
    return without_recalled(message.content[:MAX_READ])


def _words_of(messages: Sequence[Message]) -> list[frozenset[str]]:
    """The words of each sentence of some messages, the last ones."""
    found = [token_set(each.text) for message in messages for each in prose(message.content).sentences]
    return found[-MAX_HEARD:]


# ---------------------------------------------------------------- facts that a host found

HOST_NAME: Final = "host"

MAX_HOST_FACT: Final = 8_000
"""Characters of a memory; a longer item becomes several."""

INTENT_OF: Final[dict[str, Intent]] = {
    "preference": "preference", "decision": "fact", "fact": "fact", "insight": "fact", "context": "event",
    "general": "fact",
}  # fmt: skip
CATEGORY_OF: Final[dict[Intent, str]] = {
    "preference": "preference", "fact": "fact", "event": "context", "relationship": "fact",
}  # fmt: skip
"""Intent of a category, and category of an intent, if only one is given."""


class HostFact(msgspec.Struct, frozen=True, kw_only=True):
    """A fact of a host; the rules fill fields that are None. `importance` is 1…10."""

    content: str
    intent: Intent | None = None
    category: str | None = None
    importance: int | None = None
    confidence: float = 1.0
    entities: tuple[str, ...] = ()
    attributed_to: Speaker = "user"
    said_us: int | None = None
    message_ids: tuple[str, ...] = ()
    cues: tuple[str, ...] = ()


def completed(given: Sequence[HostFact], context: Context) -> Extraction:
    """The facts that may be stored, and those that are repetitions or not important enough."""
    facts: list[Fact] = []
    dropped: list[Dropped] = []
    seen: set[str] = set()
    for each in given:
        for content in parts(each.content):
            fact = _complete(each, content, context)
            if is_instruction(content):
                dropped.append(Dropped(content, ORDER))
            elif content in seen:
                dropped.append(Dropped(content, "said before"))
            elif fact.importance < context.threshold:
                dropped.append(Dropped(content, f"importance {fact.importance}"))
            else:
                facts.append(fact)
            seen.add(content)
    return Extraction(tuple(facts), tuple(dropped), HOST_NAME)


def parts(content: str, longest: int = MAX_HOST_FACT) -> list[str]:
    """`content` in pieces of at most `longest` characters, cut between sentences if there are any."""
    return list(_parts(content.strip(), longest))


def _parts(rest: str, longest: int) -> Iterator[str]:
    while len(rest) > longest:
        head = rest[:longest].rstrip()
        last = sentences(head)[-1]
        cut = len(head) - len(last) if len(last) < longest // 2 else longest
        yield rest[:cut].strip()
        rest = rest[cut:].strip()
    if rest:
        yield rest


def _complete(given: HostFact, content: str, context: Context) -> Fact:
    intent, category = _kinds(given, content)
    relations = relations_of(content)
    of_text = entities_of(content, relations, context.known)
    named = extract(content, given.entities, known=context.known or nothing_known) if given.entities else of_text
    decided = category == "decision"
    specific = len(named) >= 2 or bool(numbers(content))
    ruled = importance(content, intent, decided=decided, corrects=False, specific=specific)
    return Fact(
        content=content,
        intent=intent,
        category=category,
        importance=ruled if given.importance is None else given.importance,
        weighed=given.importance is not None,
        confidence=given.confidence,
        attributed_to=given.attributed_to,
        said_us=context.observed_us if given.said_us is None else given.said_us,
        entities=named,
        relations=relations,
        message_ids=given.message_ids,
        family=HOST_NAME,
        cues=given.cues,
    )


def _kinds(given: HostFact, content: str) -> tuple[Intent, str]:
    if given.intent is not None:
        return given.intent, given.category or CATEGORY_OF[given.intent]
    if given.category is not None:
        return INTENT_OF.get(given.category, "fact"), given.category
    beginning = content[:MAX_SENTENCE]
    family = next((each for each in english_families().by_user if each.pattern.match(beginning)), None)
    return ("fact", "fact") if family is None else (family.intent, family.category)
