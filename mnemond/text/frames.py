"""Frames of a text: of each clause, what it says of what, in a form in which two clauses can be compared.

A clause has a subject, a relation and segments of values ("The staging API | listens | on port 8080"), each word in one
spelling: attributes and environments by their group ("cap" is "limit", "prod" is "production"), numbers with their
dimension. Beside them stand what the clause denies, what it says is no longer so, and whether it announces a change,
adds to what is known, or only supposes. English, German and Chinese; the words are in data/frames.toml.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from mnemond.text.caches import text_cache
from mnemond.text.contrast import labels
from mnemond.text.frame_words import (
    BE,
    CALL,
    CHANGE,
    HAN,
    HAVE,
    HOLDING,
    LOCATE,
    NAMES,
    NUMBER,
    OTHER,
    PRONOUN,
    TIMES,
    USE,
    VERSION,
    WORD,
    WORK,
    Item,
    Lists,
    Unit,
    lists,
    words_in,
)
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
    to what is known, is a question. `whole`: the clause.
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
    order: tuple[str, ...] = ()

    @property
    def units(self) -> tuple[Unit, ...]:
        """All units, in order."""
        return (*self.subject, *(unit for segment in self.segments for unit in segment.units))


# ---------------------------------------------------------------- lists


# ---------------------------------------------------------------- clauses

_END: Final = regex(
    r"([!?;。！？；\n]+|(?<!\d)\.+(?=\s|$)|\.+(?=\s+(?!Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober"
    r"|November|Dezember)|$))"
)
"""The end of a sentence; "am 2. April" is none."""


def _beginning() -> Iterable[str]:
    """Verbs that begin a clause behind "and"."""
    known = lists()
    verbs = {word for word, name in known.relations.items() if name in (BE, LOCATE, WORK, CALL, USE)}
    return {
        word
        for word in verbs | {word for word, form in known.classes.items() if form in ("change", "end")}
        if word.isalpha()
    }


_CLAUSE: Final = regex(
    lambda: (
        rf"\s+(?:and|und)\s+(?=(?:\w+ly |now |jetzt |nun )?(?:{'|'.join(map(re.escape, sorted(_beginning())))})\b)|"
        r",?\s+(?:because|but|while|whereas|so that|weil|denn|aber|sondern|und zwar|since (?=i|we|it|they|he"
        r"|she|the ))\s+"
        r"|,\s+(?:and|so|which|und|da|who|or)\s+|\s+[–—-]\s+|，|,\s+(?=(?:we|i|he|she|they|it|wir|ich|es|er|sie|not|nicht|now|jetzt"
        r"|(?:\w+ ){1,3}(?:does|do|handles) (?:it|that|this)|das (?:macht|machen|übernimmt|übernehmen))\b)"
        r"|\s+and\s+(?=(?:we|i|he|she|they|it|now|moved|joined|switched|is|are|was|will|has|have)\b)"
        r"|\s+und\s+(?=(?:wir|ich|er|sie|es|ist|wurde|jetzt|nun|nutzt|nutzen)\b)"
        r"|因为|由于|，?而是|所以|但是?(?=[\u3400-\u9fff])"
    ),
    re.IGNORECASE,
)
_INTRO: Final = regex(
    r"(?:since|as of|after|starting|effective|from|following|due to|seit|ab|nach|wegen)\s[^,]{2,80},\s", re.IGNORECASE
)
"""A beginning that only dates what follows."""

_YEAR: Final = regex(r"(?:19|20)\d\d$")
_BUT: Final = regex(r"\bbut\b|\bsondern\b|而是|不是[^，。]{1,40}，是", re.IGNORECASE)
_EVENT: Final = regex(
    r"[a-z]{2,20}ed|found|made|sold|sent|gave|took|went|came|ran|wrote|met|paid|said|saw|bought|brought|lost|won|broke|spent"
)
"""Verbs in the past."""

_VERB: Final = regex(r"[a-z]{2,20}(?<![suiao])s|[a-z]{2,20}ed")
_DETERMINERS: Final = words_of(
    "the a an our my your their its his her this that each every der die das den dem des ein eine einen unser "
    "unsere mein",
    "meine jeder jede jedes no any some new kein keine",
)
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

_SINCE: Final = frozenset({"since", "as of", "starting", "effective", "ab", "seit", "自从", "von", "from today"})
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
    for clause, first, asks in _clauses(_NOTED_DAYS.sub("", text[:MAX_TEXT].replace("’", "'"))):
        before = found[-1] if found and not first else None
        tail = _NOT_TAIL.match(clause)
        frame = _Clause(clause[tail.end() :] if tail and before else clause, before).frame(asks=asks)
        if frame is None:
            continue
        if before is not None and tail:
            if frame.relation in ("", before.relation):
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


def _clauses(text: str) -> Iterator[tuple[str, bool, bool]]:
    """Yield each clause, if it begins a sentence, and if it asks."""
    parts = [*_END.split(text), ""]
    for sentence, end in zip(parts[::2], parts[1::2], strict=False):
        first = True
        for part in _CLAUSE.split(sentence):
            for clause in _at_commas(part) if part else ():
                if clause.strip():
                    yield clause.strip(), first, end[:1] in ("?", "？") and bool(end)
                    first = False


def _at_commas(text: str) -> Iterator[str]:
    """Yield the parts of a text between commas that have a verb each; the others belong to the part before them. What
    only dates the rest ("Since the move in May, …") is yielded with it."""
    clause = ""
    for part in text.split(", "):
        if clause and _has_verb(part) and _has_verb(clause):
            yield clause
            clause = part
        else:
            clause = f"{clause}, {part}" if clause else part
    yield clause


def _has_verb(text: str) -> bool:
    known = lists()
    return any(
        word in known.relations or known.classes.get(word) in ("change", "end")
        for word in fold(text).split()
        if word.isalpha()
    )


class _Clause:
    """Reads one clause. `before`: the frame of the clause before it in its sentence."""

    def __init__(self, text: str, before: Frame | None) -> None:
        self._text = text
        self._before = before
        self._lists = lists()
        self._inherited_gone: tuple[Unit, ...] = ()
        dated = _INTRO.match(text)
        self._announced = dated is not None and not _has_verb(dated[0])
        if dated is not None and self._announced:
            text = text[dated.end() :]
        self._items, self._german = words_in(text)

    # ---- the frame

    def frame(self, *, asks: bool) -> Frame | None:
        """The frame; None of a clause that says nothing."""
        items = self._items
        forms = {item.form for item in items}
        gone, spent = self._gone()
        gone = gone or self._inherited_gone
        spent |= self._since()
        pivot = self._pivot()
        subject = self._units(items[:pivot] if pivot is not None else (), spent, 0)
        relation, verb, begin = self._relation(pivot)
        segments = self._segments(begin, spent, relation)
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
        inherited = False
        if pivot is None and self._before is not None:
            subject, relation, verb = self._before.subject, self._before.relation, self._before.verb
            inherited = True
        elif not subject and self._before is not None and pivot is not None and items[pivot].form != "unit":
            subject = self._before.subject
        if not (subject or segments or gone):
            return None
        change_words = {item.raw for item in items if item.form in ("change", "end")}
        return _exchanged(
            Frame(
                text=self._text,
                subject=subject,
                relation=relation,
                verb=verb,
                segments=segments,
                gone=gone,
                denies=sum(item.form == "not" or item.raw in _NO_LONGER for item in items) % 2 == 1,
                changes=bool(change_words) or "now" in forms or self._more() or self._announced or self._perfect(pivot),
                strong=bool(change_words),
                supposed="supposing" in forms,
                past=_PAST.search(self._text) is not None and not change_words and "now" not in forms,
                additive="additive" in forms,
                asks=asks,
                indefinite=bool(items) and items[0].raw in _INDEFINITE and items[0].raw != "one",
                inherited=inherited,
                verb_raw="" if pivot is None else items[pivot].raw,
                event=relation == OTHER and pivot is not None and _EVENT.fullmatch(items[pivot].raw) is not None,
                definite=pivot is not None
                and any(word in _DEFINITE for word in _words_behind(self._text, items[pivot].raw)),
                words=tuple(item.unit for item in items),
                labels=labels(self._text),
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
                if after.form == "unit" and after.unit.kind in (*TIMES, NUMBER) and not after.unit.dimension:
                    found.add(at)
                elif after.form not in ("filler", "preposition"):
                    break
        return frozenset(found)

    def _pivot(self) -> int | None:
        """The place of the verb between subject and values; None if none is known."""
        items = self._items
        last: int | None = None
        for place, item in enumerate(items):
            if item.form in ("change", "end") and item.raw not in _BARE_ENDS and place and _LATIN_OR_HAN(item.raw):
                return place if last is None else last
            if item.form != "relation" or (item.raw == "last" and _is_followed_by_time(items, place)):
                continue
            if item.raw == ":" and any(each.form in ("relation", "change", "end") for each in items[place + 1 : -1]):
                continue
            before = items[place - 1] if place else None
            if before is not None and (before.raw in _DETERMINERS or before.form == "preposition") and item.raw != ":":
                continue
            follows = items[place + 1] if place + 1 < len(items) else None
            if (
                follows is not None
                and follows.form in ("relation", "change", "end")
                and item.key not in (BE, HAVE)
                and item.raw.isascii()
            ):
                continue
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
        return last if last is not None else self._unknown_verb()

    def _more(self) -> bool:
        """True of "kein … mehr"."""
        return any(item.raw == "mehr" for item in self._items) and any(item.form == "not" for item in self._items)

    def _perfect(self, pivot: int | None) -> bool:
        """True of "have disabled", "has been closed": what was done is so now."""
        items = self._items
        if self._german or pivot is None or items[pivot].raw not in ("have", "has", "'ve", "we've"):
            return False
        behind = [item for item in items[pivot + 1 : pivot + 4] if item.form not in ("filler", "not")]
        return any(item.form in ("unit", "relation") and item.raw.endswith("ed") for item in behind[:2])

    def _unknown_verb(self) -> int | None:
        """The place of an English word that looks like a verb behind its subject."""
        items = self._items
        if self._german:
            return None
        for place in range(1, len(items)):
            item = items[place]
            before = next(
                (each for each in items[place - 1 :: -1] if each.form not in ("not", "now", "additive", "filler")), item
            )
            if (
                item.form == "unit"
                and item.unit.kind == WORD
                and before.form == "unit"
                and (_VERB.fullmatch(item.raw) or before.unit.kind == PRONOUN)
                and before.raw not in _DETERMINERS
                and (before.unit.kind != NUMBER or (place > 1 and items[place - 2].form == "unit"))
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
            return OTHER, item.unit.key, pivot + 1
        if item.form in ("change", "end"):
            return CHANGE, item.raw, pivot + 1
        name, verb, begin = item.key, item.unit.key, pivot + 1
        late = [each.raw for each in items[begin:] if each.form in ("change", "end") and each.raw not in _BARE_ENDS]
        if self._german and name in (BE, HAVE) and late:
            return CHANGE, late[-1], begin
        if name == HAVE and begin < len(items) and items[begin].raw == "been":
            return BE, "been", begin + 1  # "has been my manager since May"
        if name in (BE, HAVE):
            for place in range(pivot + 1, min(pivot + 4, len(items))):
                after = items[place]
                if after.form in ("change", "end") and after.raw not in _BARE_ENDS:
                    return CHANGE, after.raw, pivot + 1
                if after.form == "relation" and after.key not in (BE, HAVE) and place + 1 < len(items):
                    return after.key, after.unit.key, place + 1
                if after.form == "relation" and after.key == BE:
                    begin = place + 1
                    continue
                if after.form not in ("filler", "now", "not", "additive"):
                    break
        return name, verb, begin

    def _units(self, items: Sequence[Item], spent: frozenset[int], offset: int) -> tuple[Unit, ...]:
        return tuple(
            item.unit
            for place, item in enumerate(items, offset)
            if place not in spent and item.form in ("unit", "relation") and item.raw != ":"
        )

    def _segments(self, begin: int, spent: frozenset[int], relation: str) -> tuple[Segment, ...]:
        found: list[tuple[str, list[Unit]]] = [("", [])]
        for place in range(begin, len(self._items)):
            item = self._items[place]
            if item.form == "preposition" and item.key not in ("of", "than"):
                found.append(("in" if relation == WORK and item.key == "for" else item.key, []))
            elif place not in spent and item.form in ("unit", "relation") and item.key != BE:
                found[-1][1].append(item.unit)
        return tuple(Segment(role, tuple(units)) for role, units in found if units)

    def _gone(self) -> tuple[tuple[Unit, ...], frozenset[int]]:
        """Units of what is no longer so, and their places."""
        items = self._items
        for place, item in enumerate(items):
            if item.form == "end" and item.raw not in _BARE_ENDS:
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
            if not (found := self._before_verb(place)) and self._before is not None:
                self._inherited_gone = self._before.subject
            return found
        found = self._run(place + 1)
        return found if found or (item.raw.isascii() and not self._german) else self._run_before(place, verbs=True)

    def _taken_back(self, place: int) -> list[int]:
        after = self._run(place + 1)
        if after:
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


def _LATIN_OR_HAN(raw: str) -> bool:  # noqa: N802
    return bool(raw)


def _is_followed_by_time(items: Sequence[Item], place: int) -> bool:
    """Return True of "last month", where "last" is no verb."""
    return place + 1 < len(items) and items[place + 1].raw in _SPANS


_SPANS: Final = words_of("week weeks month months year years night sprint quarter summer winter")


def _is_named_by_number(items: Sequence[Item]) -> bool:
    """Return True of "Release 4.0 ships …", where the first word is no verb."""
    numbered = len(items) > 2 and items[1].unit.kind in (NUMBER, VERSION)
    return numbered and any(each.form in ("relation", "change", "end") for each in items[2:4])


_DEFINITE: Final = words_of("the our my their your der die das unser unsere mein meine")


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
    if frame.verb in HOLDING and frame.subject and frame.verb_raw not in _HELD:
        role = Unit(frame.verb, WORD, frame.verb_raw)
        rest = tuple(unit for segment in frame.segments for unit in segment.units)
        return msgspec.structs.replace(
            frame, relation=BE, subject=(role, *rest), segments=(Segment("", frame.subject),), exchanged=True
        )
    if frame.relation != BE or not frame.segments or frame.segments[0].role:
        return frame
    value = frame.segments[0]
    roles = [unit for unit in value.units if unit.key in known.single]
    valued = names or [unit for unit in frame.subject if unit.kind in known.kinds.values()]
    one_word = frame.definite and len(frame.subject) == 1 and frame.subject[0].kind != PRONOUN
    if (
        ((valued and len(valued) == len(frame.subject) and (roles or frame.definite)) or (one_word and roles))
        and value.units[0].kind not in NAMES
        and not (roles and any(unit.key in known.single for unit in frame.subject))
    ):
        rest = tuple(unit for segment in frame.segments[1:] for unit in segment.units)
        return msgspec.structs.replace(
            frame, subject=value.units + rest, segments=(Segment("", frame.subject),), exchanged=True
        )
    return frame
