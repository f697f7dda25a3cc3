"""Frames of a text: of each clause, what it says of what, in a form in which two clauses can be compared.

A clause has a subject, a relation and segments of values ("The staging API | listens | on port 8080"), each word in one
spelling: attributes and environments by their group ("cap" is "limit", "prod" is "production"), numbers with their
dimension. Beside them stand what the clause denies, what it says is no longer so, and whether it announces a change,
adds to what is known, or only supposes. English, German and Chinese; the words are in data/frames.toml.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import msgspec

from mnemond.text.caches import text_cache
from mnemond.text.contrast import labels
from mnemond.text.frame_clauses import clauses_in, has_verb
from mnemond.text.frame_lists import (
    BE,
    CADENCE,
    CHANGE,
    CLOCK,
    DATE,
    HAN,
    HAVE,
    NAMES,
    NUMBER,
    OTHER,
    PRONOUN,
    TIMES,
    VERSION,
    WORD,
    WORK,
    Lists,
    lists,
)
from mnemond.text.frame_words import DETERMINERS, HOLDING, Item, Unit, words_in
from mnemond.text.resources import regex, words_of
from mnemond.text.tokens import fold

MAX_TEXT: Final = 900
"""Characters of a text that are read: a note of some ten sentences."""

MAX_CLAUSES: Final = 14
"""Clauses of a text that are read, the first ones."""


CACHED_TEXTS: Final = 4_096
"""Texts whose frames are cached: the memories that a burst of writes is compared with, some 2 kilobytes each."""


class Segment(NamedTuple):
    """Units behind a preposition of one class (in, to, from, for, with, by, time, if), or directly behind the verb:
    ""."""

    role: str
    units: tuple[Unit, ...]


class Frame(msgspec.Struct, frozen=True):
    """What a clause says.

    `subject`: units before the verb; `segments`: those behind it. `relation`: one of the relations above, "" if there
    is no verb; `verb`: its key. `gone`: units of what it says is no longer so. `changes`: it announces a change, by a
    verb or by a word like "now". `supposed`, `past`, `additive`, `asks`: it states nothing that holds, looks back, adds
    to what is known, is a question. `dating`: keys of the words before the subject that say since when: "as of next
    month". `sentence`: number of its sentence.
    """

    text: str
    subject: tuple[Unit, ...]
    relation: str
    verb: str
    segments: tuple[Segment, ...]
    gone: tuple[Unit, ...] = ()
    denies: bool = False
    changes: bool = False
    strong: bool = False
    supposed: bool = False
    past: bool = False
    additive: bool = False
    asks: bool = False
    indefinite: bool = False
    inherited: bool = False
    exchanged: bool = False
    verb_raw: str = ""
    definite: bool = False
    event: bool = False
    words: tuple[Unit, ...] = ()
    labels: frozenset[str] = frozenset()
    directions: frozenset[tuple[str, str]] = frozenset()
    order: tuple[str, ...] = ()
    dating: frozenset[str] = frozenset()
    sentence: int = 1

    @property
    def units(self) -> tuple[Unit, ...]:
        """All units, in order."""
        return (*self.subject, *(unit for segment in self.segments for unit in segment.units))


_INTRO: Final = regex(
    r"(?:(?P<since>since|as of|starting|effective|from|seit|ab)|after|following|due to|nach|wegen)\s[^,]{2,80},\s",
    re.IGNORECASE,
)
"""A beginning that only dates what follows."""
_CONDITION: Final = regex(
    r"(?P<condition>(?:when|whenever|if|unless|once|wenn|falls|sobald|sofern)\s[^,]{2,80}),\s(?P<rest>.{2,400})",
    re.IGNORECASE,
)
"""A beginning that says in which case the rest holds."""

_YEAR: Final = regex(r"(?:19|20)\d\d$")
_BUT: Final = regex(r"\bbut\b|\bsondern\b|而是|不是[^，。]{1,40}，是", re.IGNORECASE)
_BUT_NOT: Final = regex(r"\b(?:but|aber)\s+(?:not|nicht)\b", re.IGNORECASE)
"""Behind it stands what a statement does not cover, and no correction."""

_AS_WELL: Final = regex(r"\bas well\b(?! as\b)", re.IGNORECASE)
"""An addition at the end of a clause."""

_EVENT: Final = regex(
    r"(?!need|feed|speed|exceed|proceed|succeed|embed|indeed|seed|weed|bleed|breed)[a-z]{2,20}ed|found|made|sold|sent|gave|took|went|came|ran|wrote|met|paid|said|saw|bought|brought|lost|won|broke|spent"
)
"""Verbs in the past."""

_SHORTENED: Final = regex(r"(?<=[a-z])'(m|re|ve|ll)\b", re.IGNORECASE)
_FULL: Final = {"m": " am", "re": " are", "ve": " have", "ll": " will"}
_NOMINATIVE: Final = words_of("ich wir du er sie es man")
_PARTICIPLE: Final = regex(r"[a-zäöüß]{0,12}ge[a-zäöüß]{2,14}(?:t|en)|[a-zäöüß]{3,16}iert")
_MODAL: Final = words_of("do does did must should may can could will would shall cannot can't mustn't shouldn't won't")
_WITHOUT_S: Final = ("i", "we", "they")
"""Pronouns with which a verb has one form, whether denied or not."""

_TELLING: Final = words_of("call contact ask email message ping tell avoid prefer keep put")
"""Verbs of instructions that may as well be nouns."""

_CORRECTING: Final = words_of("correction korrektur 更正 correcting berichtigung 纠正")
_NEW: Final = words_of("new neue neuer neues neuen 新")
_INTRANSITIVE: Final = frozenset(
    {"died", "gestorben", "verstorben", "gone", "passed away", "expired", "ended", "dissolved", "disbanded"}
)
_GERMAN_VERB: Final = regex(r"[a-zäöüß]{2,20}(?:t|te|en|ten|ern|eln)(?<!keit)")
_VERB: Final = regex(r"[a-z]{2,20}(?<![suiao])s|[a-z]{2,20}ed")
_INDEFINITE: Final = words_of("a an another one some ein eine einen")
_PAST: Final = regex(
    r"\b(?:yesterday|last (?:week|month|year|night|sprint|quarter)|ago|back then|at the time|originally|initially"
    r"|in (?:19|20)\d\d|gestern|letzte[nsr]? (?:woche|monat|jahr)|damals|ursprünglich|anfangs)\b"
    r"|昨天|上周|上个月|去年|当时|最初|原来",
    re.IGNORECASE,
)
_REPLACE: Final = words_of(
    "replace replaced replaces replacing superseded supersedes succeeds succeeded 取代 替代 代替 替换 ersetzt abgelöst"
)
_INSTEAD: Final = ("instead of", "rather than", "in place of", "statt", "anstatt", "anstelle", "anstelle von", "而不是")
_FAVOUR: Final = ("in favour of", "in favor of")
_TAKING: Final = frozenset(
    {"took over", "takes over", "taken over", "inherited", "übernommen", "übernimmt", "übernahm", "taking over"}
)

_NO_LONGER: Final = frozenset({"no longer", "nicht mehr", "不再", "已经不", "no more"})


_TAKING_BACK: Final = frozenset(
    {"no longer", "any more", "anymore", "any longer", "nicht mehr", "不再", "kein mehr", "no more"}
)
"""Words of what is no longer so."""

_SINCE: Final = frozenset({"since", "as of", "starting", "effective", "ab", "seit", "自从", "from today"})
_DATING: Final = _SINCE | words_of("after following from nach seit since")
"""Words before the subject that begin a time or an event, since which a statement holds."""

_BARE_ENDS: Final = ("instead", "stattdessen", "statt dessen")
_NOT_TAIL: Final = regex(r"(?:and |und )?(?:not|nicht|不是|并非)\s*(?!\w*ing\b)", re.IGNORECASE)
_PASSIVE_BACK: Final = 4
"""Words between a form of "be" and its participle."""


_NOTED_DAYS: Final = regex(r" ?[(（]\d{4}-\d\d-\d\d(?: to \d{4}-\d\d-\d\d)?[)）]")
"""The date behind an expression like "last week", which the extraction of facts adds: it says nothing more."""


@text_cache(maxsize=CACHED_TEXTS)
def frames(text: str) -> tuple[Frame, ...]:
    """The frames of the clauses of a text, in order. Linear time."""
    found: list[Frame] = []
    announced, sentence = False, 0
    for clause, first, end in clauses_in(_NOTED_DAYS.sub("", text[:MAX_TEXT].replace("’", "'"))):
        before = found[-1] if found and not first else None
        sentence += first
        tail = _NOT_TAIL.match(clause)
        frame = _Clause(clause[tail.end() :] if tail and before else clause, before).frame(
            asks=end.startswith(("?", "？"))
        )
        if frame is None:
            continue
        frame = msgspec.structs.replace(frame, sentence=sentence) if sentence > 1 else frame
        if first and announced:  # "We have switched carriers: …"
            frame = msgspec.structs.replace(frame, changes=True)
        announced = end == ":" and frame.changes
        if before is not None and tail:
            if frame.relation in ("", before.relation) and not _BUT_NOT.search(text):
                gone = (*before.gone, *(unit for unit in frame.units if unit not in before.units))
                found[-1] = msgspec.structs.replace(before, gone=gone, changes=True)
            continue
        continues = before is not None and (frame.inherited or frame.subject == before.subject)
        if before is not None and before.denies and continues and not before.gone and _BUT.search(text):
            gone = tuple(unit for segment in before.segments for unit in segment.units)
            frame = msgspec.structs.replace(frame, gone=gone, changes=True)
            found.pop()
        found.append(frame)
        if len(found) == MAX_CLAUSES:
            break
    return tuple(found)


class _Clause:
    """Reads one clause. `before`: the frame of the clause before it in its sentence."""

    def __init__(self, text: str, before: Frame | None) -> None:
        self._text = text
        text = self._plain = _SHORTENED.sub(lambda found: _FULL[fold(found[1])], text)
        self._before = before
        self._lists = lists()
        self._inherited_gone: tuple[Unit, ...] = ()
        dated = _INTRO.match(text)
        self._announced = dated is not None and not has_verb(dated[0]) and dated["since"] is not None
        if dated is not None and not has_verb(dated[0]):
            text = text[dated.end() :]
        if (case := _CONDITION.fullmatch(text)) is not None:
            text = f"{case['rest']} {case['condition'][:1].lower()}{case['condition'][1:]}"
        self._items, self._german = words_in(text)

    # ---- the frame

    def frame(self, *, asks: bool) -> Frame | None:
        """The frame; None of a clause that says nothing."""
        items = self._items
        if not items:
            return None
        forms = {item.form for item in items}
        change_words = {item.raw for item in items if item.form in ("change", "end") or item.raw in _CORRECTING}
        gone, spent = self._gone()
        gone = gone or self._inherited_gone
        spent |= self._since()
        pivot = self._pivot()
        subject = self._units(items[:pivot] if pivot is not None else (), spent, 0)
        relation, verb, begin = self._relation(pivot)
        segments = self._segments(begin, spent, relation, verb)
        done = _EVENT.fullmatch(items[pivot or 0].raw) or (self._german and _PARTICIPLE.fullmatch(items[-1].raw))
        if relation == OTHER and done and any(map(_to_amount, segments)):
            relation = CHANGE  # "I turned the thermostat up to 21 degrees"
            change_words = {items[pivot or 0].raw}
        if pivot is not None and not segments:
            subject, segments = self._before_last_verb(pivot, spent, subject)
        if (
            relation == CHANGE
            and len(segments) > 1
            and segments[0].role == ""
            and {"to", "with"} & {each.role for each in segments}
        ):
            subject, segments = (*subject, *segments[0].units), segments[1:]  # "we raised the limit to 10"
        if (
            len(subject) > 1
            and subject[0].kind == NUMBER
            and subject[1].raw.isascii()
            and not _YEAR.match(subject[0].raw)
        ):  # "two approvals are needed"
            subject, segments = subject[1:], (Segment("", subject[:1]), *segments)
        if not self._text.isascii():
            subject, segments = self._with_times(pivot, subject, segments)
        inherited = False
        if pivot is None and self._before is not None:
            subject, relation, verb = self._before.subject, self._before.relation, self._before.verb
            inherited = True
        elif not subject and self._before is not None and pivot is not None and items[pivot].form != "unit":
            subject = self._before.subject
        if not (subject or segments or gone):
            return None
        return _exchanged(
            Frame(
                text=self._text,
                subject=subject,
                relation=relation,
                verb=verb,
                segments=segments,
                gone=gone,
                denies=sum(item.form == "not" or item.raw in _NO_LONGER for item in items) % 2 == 1,
                changes=bool(change_words)
                or "now" in forms
                or self._more()
                or self._announced
                or self._perfect(pivot)
                or self._fresh(pivot, relation),
                strong=bool(change_words),
                supposed="supposing" in forms,
                past=_PAST.search(self._text) is not None and not change_words and "now" not in forms,
                additive="additive" in forms or _AS_WELL.search(self._text) is not None,
                asks=asks,
                indefinite=bool(items) and items[0].raw in _INDEFINITE and items[0].raw != "one",
                inherited=inherited,
                verb_raw="" if pivot is None else items[pivot].raw,
                event=relation == OTHER and pivot is not None and _EVENT.fullmatch(items[pivot].raw) is not None,
                definite=pivot is not None
                and any(word in _DEFINITE for word in _words_behind(self._plain, items[pivot].raw)),
                words=tuple(item.unit for item in items),
                labels=labels(self._text),
                directions=self._directions(pivot),
                dating=self._dating(),
                order=tuple(
                    item.unit.key if item.form != "preposition" else f"…{item.key}"
                    for item in items
                    if item.form in ("unit", "relation", "preposition")
                ),
            ),
            self._lists,
        )

    def _since(self) -> frozenset[int]:
        """Places of the time behind a word like "since", which is part of the announcement."""
        found: set[int] = set()
        for place, item in enumerate(self._items):
            if item.raw not in _SINCE:
                continue
            for at in range(place + 1, min(place + 4, len(self._items))):
                after = self._items[at]
                timed = after.unit.kind in (*TIMES, NUMBER) or self._lists.units.get(after.raw) == "time"
                if after.form == "unit" and timed and not after.unit.dimension:
                    found.add(at)
                elif after.form != "filler" and (found or after.form != "preposition"):
                    break
        return frozenset(found)

    def _pivot(self) -> int | None:
        """The place of the verb between subject and values; None if none is known. A verb of the condition behind the
        statement counts only if the statement has none."""
        end = next(
            (at for at, item in enumerate(self._items) if at and item.key == "if" and item.form == "preposition"), None
        )
        pivot = self._verb(self._items[:end])
        return pivot if pivot is not None or end is None else self._verb(self._items)

    def _verb(self, items: list[Item]) -> int | None:
        last: int | None = None
        for place, item in enumerate(items):
            if item.form in ("change", "end") and place and item.raw not in (*_BARE_ENDS, *_INSTEAD, *_FAVOUR):
                return place if last is None else last
            if item.form != "relation" or (item.raw == "last" and _is_followed_by_time(items, place)):
                continue
            if item.raw == ":" and any(each.form in ("relation", "change", "end") for each in items[place + 1 : -1]):
                continue
            before = items[place - 1] if place else None
            if before is not None and (before.raw in DETERMINERS or before.form == "preposition") and item.raw != ":":
                continue
            follows = items[place + 1] if place + 1 < len(items) else None
            if (
                follows is not None
                and follows.form in ("relation", "change", "end")
                and item.key not in (BE, HAVE)
                and (item.raw.isascii() or item.raw == "在")  # 在学钢琴 is done now
            ):
                continue
            if place == 0 and item.key not in (BE, HAVE) and item.raw.isascii() and item.raw.endswith("s"):
                continue  # "Alerts now land in …"
            if place == 0 and item.key == OTHER and _is_named_by_number(items):
                continue
            if (
                place == 0
                and item.key not in (BE, HAVE)
                and any(each.form == "relation" and each.key == BE for each in items[1:4])
            ):
                continue
            if item.key == OTHER and not item.raw.isascii() and HAN.search(item.raw):
                rest = items[place + 1 :]
                if any(each.form == "relation" and each.key != OTHER and HAN.search(each.raw) for each in rest):
                    continue
            return place
        return last if last is not None else self._unknown_verb(items)

    def _more(self) -> bool:
        """Return True of "kein … mehr"."""
        return any(item.raw == "mehr" for item in self._items) and any(item.form == "not" for item in self._items)

    def _directions(self, pivot: int | None) -> frozenset[tuple[str, str]]:
        """The units of the subject behind "to" and "from", each with that role."""
        items = self._items[: pivot or 0]
        return frozenset(
            (before.key, item.unit.key)
            for before, item in pairwise(items)
            if before.form == "preposition" and before.key in ("to", "from") and item.form == "unit"
        )

    def _dating(self) -> frozenset[str]:
        """The keys of the words between a beginning like "as of" and the determiner of the subject."""
        items = self._items
        if items[0].raw not in _DATING:
            return frozenset()
        end = next((at for at in range(2, len(items)) if items[at].raw in DETERMINERS and items[at].raw not in _NEW), 0)
        return frozenset(item.unit.key for item in items[:end])

    def _fresh(self, pivot: int | None, relation: str) -> bool:
        """Return True of "our new landlord is …"."""
        return relation == BE and pivot is not None and any(item.raw in _NEW for item in self._items[:pivot])

    def _perfect(self, pivot: int | None) -> bool:
        """Return True of "have disabled", "has been closed": what was done is so now."""
        items = self._items
        if self._german or pivot is None or items[pivot].raw not in ("have", "has", "'ve", "we've"):
            return False
        behind = [item for item in items[pivot + 1 : pivot + 4] if item.form not in ("filler", "not")]
        return any(item.form in ("unit", "relation") and item.raw.endswith("ed") for item in behind[:2])

    def _unknown_verb(self, items: list[Item]) -> int | None:
        """The place of a word that looks like a verb behind its subject, or of one that tells to do something."""
        if self._german:
            return self._unknown_german_verb(items)
        told = len(items) > 2 and items[0].form == "unit" and items[0].unit.kind != PRONOUN
        told = told and not items[0].raw.endswith("ing")
        if told and (items[1].raw in DETERMINERS or items[0].raw in _TELLING):  # "Mock the database"
            return 0
        for place in range(1, len(items)):
            item = items[place]
            led = next((each for each in items[place - 1 :: -1] if each.form != "not"), item)
            if (
                item.form == "unit"
                and item.unit.kind == WORD
                and (led.raw in _MODAL or items[place - 1].raw.endswith("n't"))
            ):  # "must not allocate"
                return place
            before = next(
                (each for each in items[place - 1 :: -1] if each.form not in ("not", "now", "additive", "filler")), item
            )
            if (
                item.form == "unit"
                and item.unit.kind == WORD
                and before.form == "unit"
                and (_VERB.fullmatch(item.raw) or (before.unit.kind == PRONOUN and item.raw.isascii()))
                and before.raw not in DETERMINERS
                and (before.unit.kind != NUMBER or (place > 1 and items[place - 2].form == "unit"))
            ):
                return place
        return None

    def _unknown_german_verb(self, items: list[Item]) -> int | None:
        """The place of the first small word with the ending of a verb behind a noun or pronoun, in German second."""
        small = {word for word in self._text.split() if word[:1].islower()}
        if len(items) > 1 and items[0].raw in _NOMINATIVE and items[1].form == "unit":
            return 1
        for place in range(1, len(items)):
            item, before = items[place], items[place - 1]
            if (
                item.form == "unit"
                and item.raw in small
                and _GERMAN_VERB.fullmatch(item.raw)
                and before.raw not in DETERMINERS
                and any(each.form == "unit" for each in items[:place])
            ):
                return place
        return None

    def _relation(self, pivot: int | None) -> tuple[str, str, int]:
        """Relation, key of the verb and the place behind it."""
        items = self._items
        if pivot is None:
            return "", "", 0
        item = items[pivot]
        if item.form == "unit":
            third = f"{item.raw}s"  # "Bob does not own" says of him what "Bob owns" says
            holds = third in self._lists.attributes and items[0].unit.key not in _WITHOUT_S
            return OTHER, self._lists.key(third) if holds else item.unit.key, pivot + 1
        if item.form in ("change", "end"):
            return CHANGE, item.raw, pivot + 1
        name, verb, begin = item.key, item.unit.key, pivot + 1
        late = [each.raw for each in items[begin:] if each.form in ("change", "end") and each.raw not in _BARE_ENDS]
        if self._german and name in (BE, HAVE) and late:
            return CHANGE, late[-1], begin
        last = items[-1]
        if self._german and name == BE and last.form == "relation" and last.key not in (BE, HAVE):  # "ist … geplant"
            return last.key, last.unit.key, begin
        if self._german and name in (BE, HAVE) and last.form == "unit" and _PARTICIPLE.fullmatch(last.raw):
            return OTHER, last.unit.key, begin  # "habe … hochgedreht"
        if name in (BE, HAVE):
            for place in range(pivot + 1, min(pivot + 4, len(items))):
                after = items[place]
                if after.form in ("change", "end") and after.raw not in _BARE_ENDS:
                    return CHANGE, after.raw, pivot + 1
                if after.form == "relation" and after.key not in (BE, HAVE) and place + 1 < len(items):
                    return after.key, after.unit.key, place + 1
                if after.form == "relation" and after.key == BE:
                    name, verb, begin = BE, after.unit.key, place + 1  # "has been my manager since May"
                    continue
                if after.form not in ("filler", "now", "not", "additive"):
                    break
        return name, verb, begin

    def _before_last_verb(
        self, pivot: int, spent: frozenset[int], subject: tuple[Unit, ...]
    ) -> tuple[tuple[Unit, ...], tuple[Segment, ...]]:
        """Subject and segments of a Chinese clause that ends with its verb: "投影仪由行政部保管"."""
        items = self._items
        for place in range(1, pivot):
            if items[place].form == "preposition" and HAN.search(items[place].raw):
                behind = self._units(items[place + 1 : pivot], spent, place + 1)
                before = self._units(items[:place], spent, 0)
                return (before, (Segment(items[place].key, behind),)) if before and behind else (subject, ())
        return subject, ()

    def _with_times(
        self, pivot: int | None, subject: tuple[Unit, ...], segments: tuple[Segment, ...]
    ) -> tuple[tuple[Unit, ...], tuple[Segment, ...]]:
        """Subject and segments of a Chinese clause with the times before its verb among what it says: 站会十点开."""
        items = self._items[: (pivot or 0) + 1]
        times = tuple(
            item.unit
            for item, behind in pairwise(items)
            if item.unit.kind in (CLOCK, DATE, CADENCE) and behind.raw != "的" and item.unit in subject
        )
        if not times:
            return subject, segments
        return tuple(unit for unit in subject if unit not in times), (*segments, Segment("", times))

    def _units(self, items: Sequence[Item], spent: frozenset[int], offset: int) -> tuple[Unit, ...]:
        return tuple(
            item.unit
            for place, item in enumerate(items, offset)
            if place not in spent and item.form in ("unit", "relation") and item.raw != ":"
        )

    def _segments(self, begin: int, spent: frozenset[int], relation: str, verb: str) -> tuple[Segment, ...]:
        found: list[tuple[str, list[Unit]]] = [("", [])]
        for place in range(begin, len(self._items)):
            item = self._items[place]
            if place == len(self._items) - 1 and place > begin and item.unit.key == verb:
                continue
            if item.form == "preposition" and item.key not in ("of", "than"):
                found.append((self._role(place, relation), []))
            elif place not in spent and item.form in ("unit", "relation") and item.key != BE:
                found[-1][1].append(item.unit)
        return tuple(Segment(role, tuple(units)) for role, units in found if units)

    def _role(self, place: int, relation: str) -> str:
        item = self._items[place]
        if item.raw == "auf" and place + 1 < len(self._items) and self._items[place + 1].unit.kind == NUMBER:
            return "to"
        return "in" if relation == WORK and item.key == "for" else item.key

    def _gone(self) -> tuple[tuple[Unit, ...], frozenset[int]]:
        """Units of what is no longer so, and their places."""
        items = self._items
        for place, item in enumerate(items):
            if (item.form == "end" and item.raw not in _BARE_ENDS) or (self._german and item.raw in _REPLACE):
                spent = self._ended(place, item)
            elif item.raw in _TAKING_BACK:
                spent = self._taken_back(place)
            elif item.raw == "mehr" and self._more():  # "keine Emojis mehr"
                no = next(at for at, each in enumerate(items) if each.form == "not")
                spent = [at for at in self._run(no + 1) if at < place]
            else:
                continue
            if spent:
                return tuple(items[each].unit for each in spent), frozenset(spent)
        if any(item.form in ("change", "end", "now") for item in items):
            spent = self._origin()
            return tuple(items[each].unit for each in spent), frozenset(spent)
        return (), frozenset()

    def _ended(self, place: int, item: Item) -> list[int]:
        if any(each.raw == "being" for each in self._items[max(0, place - 2) : place]):
            return []
        if item.raw in _INTRANSITIVE:
            return self._before_verb(place)
        if item.raw == "dropped" and place + 1 < len(self._items) and self._items[place + 1].unit.kind == NUMBER:
            return []
        passive = any(
            (each.form == "relation" and each.key == BE) or each.raw in ("been", "被", "being", "wurde", "worden")
            for each in self._items[max(0, place - _PASSIVE_BACK) : place]
        )
        if item.raw in _FAVOUR:
            return self._run_before(place)
        if item.raw in _INSTEAD:
            return self._run(place + 1)
        if item.raw in _REPLACE and not passive:
            return self._run(place + 1) or self._run_before(place)
        if passive:
            if self._german:
                return self._passive_subject(place)
            if not (found := self._before_verb(place)) and self._before is not None:
                self._inherited_gone = self._before.subject
            return found
        found = self._run(place + 1)
        return found if found or (item.raw.isascii() and not self._german) else self._run_before(place, verbs=True)

    def _taken_back(self, place: int) -> list[int]:
        if not self._items[place].raw.startswith("any") and (after := self._run(place + 1)):
            return after
        start = next((at for at, item in enumerate(self._items) if item.form == "not"), place)
        return self._run(start + 1)

    def _run(self, start: int) -> list[int]:
        """Places of the units from `start` on, up to a boundary; the first preposition may lead to them."""
        found: list[int] = []
        for place in range(start, len(self._items)):
            item = self._items[place]
            if item.form == "unit" and item.unit.kind != PRONOUN:
                found.append(place)
            elif item.form == "preposition":
                vague = all(self._items[at].unit.key.startswith("@") for at in found)
                if item.key == "of" or (vague and item.key in ("in", "for", "from", "with")):
                    continue
                break
            elif item.form in ("change", "end", "now") and found:
                break
        return found

    def _run_before(self, end: int, *, verbs: bool = False) -> list[int]:
        """Places of the units before `end`; with `verbs`, those before verbs as well."""
        found: list[int] = []
        for place in range(end - 1, -1, -1):
            item = self._items[place]
            if item.form in ("relation", "change", "end") and not verbs:
                break
            if item.form == "unit" and item.unit.kind != PRONOUN:
                found.append(place)
        return found[::-1]

    def _passive_subject(self, place: int) -> list[int]:
        """Places of the units before "wurde", or behind it if only a time stands there: "im Mai wurde A ersetzt"."""
        items = self._items[:place]
        verb = next((at for at, item in enumerate(items) if item.form == "relation" or item.raw == "wurde"), place)
        found = [at for at in self._before_verb(verb) if self._items[at].unit.kind not in TIMES]
        return found or self._run(verb + 1)

    def _before_verb(self, place: int) -> list[int]:
        return [at for at in range(place) if self._items[at].form == "unit" and self._items[at].unit.kind != PRONOUN]

    def _origin(self) -> list[int]:
        """Places of the units between "from" and "to"."""
        items = self._items
        for place, item in enumerate(items):
            if item.form == "preposition" and item.key == "from":
                end = next(
                    (
                        at
                        for at in range(place + 1, len(items))
                        if (items[at].form == "preposition" and items[at].key in ("to", "in"))
                        or items[at].form in ("change", "end")
                    ),
                    None,
                )
                if end is None and any(each.raw in _TAKING for each in items):
                    return self._run(place + 1)
                if end is not None:
                    return [at for at in range(place + 1, end) if items[at].form == "unit"]
        return []


def _is_followed_by_time(items: Sequence[Item], place: int) -> bool:
    """Return True of "last month", where "last" is no verb."""
    return place + 1 < len(items) and items[place + 1].raw in _SPANS


_SPANS: Final = words_of("week weeks month months year years night sprint quarter summer winter")


def _is_named_by_number(items: Sequence[Item]) -> bool:
    """Return True of "Release 4.0 ships …", where the first word is no verb."""
    numbered = len(items) > 2 and items[1].unit.kind in (NUMBER, VERSION)
    return numbered and any(each.form in ("relation", "change", "end") for each in items[2:4])


_DEFINITE: Final = words_of("the our my their your der die das unser unsere mein meine")


def _to_amount(segment: Segment) -> bool:
    return segment.role == "to" and any(unit.kind in (NUMBER, VERSION, *TIMES) for unit in segment.units)


def _words_behind(text: str, verb: str) -> list[str]:
    """The two words behind a verb."""
    words = fold(text).split()
    at = words.index(verb) if verb in words else len(words)
    return words[at + 1 : at + 3]


_HELD: Final = words_of("belongs gehört 归 归属")
"""Verbs that have the holder behind them."""


def _exchanged(frame: Frame, known: Lists) -> Frame:
    """Turn "Ana is the team lead" and "Ana leads the team" round: the role is the subject, the name its value."""
    names = [unit for unit in frame.subject if unit.kind in NAMES]
    if frame.verb in HOLDING and frame.subject and frame.segments and frame.verb_raw not in _HELD:
        role = Unit(frame.verb, WORD, frame.verb_raw)
        by = next((segment for segment in frame.segments if segment.role == "by"), None)
        if by is not None:  # "is owned by Ana", 由王芳负责
            rest = tuple(unit for segment in frame.segments if segment is not by for unit in segment.units)
            subject = (role, *frame.subject, *rest)
            return msgspec.structs.replace(
                frame, relation=BE, subject=subject, segments=(Segment("", by.units),), exchanged=True
            )
        rest = tuple(unit for segment in frame.segments for unit in segment.units)
        return msgspec.structs.replace(
            frame, relation=BE, subject=(role, *rest), segments=(Segment("", frame.subject),), exchanged=True
        )
    if frame.relation != BE or not frame.segments or frame.segments[0].role:
        return frame
    value = frame.segments[0]
    roles = [unit for unit in value.units if unit.key in known.single]
    valued = names or [unit for unit in frame.subject if unit.kind in known.kinds.values()]
    amounts = [unit for unit in frame.subject if unit.kind in (NUMBER, VERSION)]
    one_word = frame.definite and len(frame.subject) == 1 and frame.subject[0].kind != PRONOUN
    named = bool(valued) and len(valued) + len(amounts) == len(frame.subject)
    if (
        ((named and (roles or frame.definite)) or (one_word and roles))
        and value.units[0].kind not in NAMES
        and not (roles and any(unit.key in known.single for unit in frame.subject))
    ):
        rest = tuple(unit for segment in frame.segments[1:] for unit in segment.units)
        return msgspec.structs.replace(
            frame, subject=value.units + rest, segments=(Segment("", frame.subject),), exchanged=True
        )
    return frame
