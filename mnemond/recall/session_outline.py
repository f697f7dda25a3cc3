"""Choose the sentences of a session that say how it ended: what came of it, and what is open.

Sentences are quoted, at most cut; none is rewritten. What answers list under a heading ("Done", "Still open", 下一步)
counts most, then what the last answers say, then causes and changes that were told in the middle of the session. What
was open and is said to be done later in the session is not open. Code, logs, tables and quotations are not read. The
words are in text/data/session_outline.toml. For a thread: a session of ten exchanges takes some milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from mnemond.extract.orders import is_attack
from mnemond.extract.prose import is_machine, sentences
from mnemond.index.arrays import Rows
from mnemond.index.passages import PassageSnapshot
from mnemond.model.passages import Passage
from mnemond.text.resources import on_first_use, read, regex
from mnemond.text.similarity import overlap, token_set
from mnemond.text.tokens import index_terms
from mnemond.text.transcripts import typed, without_recalled

MAX_CHARACTERS: Final = 600
"""Characters of all chosen sentences together."""

OPEN_SHARE: Final = 0.55
"""Share of these that open work may take while there are outcomes as well."""

MIN_OPEN: Final = 48
MIN_OUTCOME: Final = 80
"""Characters to which a sentence may be cut so that others have room: what it is about stands at its beginning."""

MAX_PIECE: Final = 170
"""Characters of one sentence."""

MAX_READ: Final = 24
"""Passages of a session that are read, the last ones."""

MAX_SESSIONS: Final = 5
"""Sessions that are looked at for one that says what came of it, the last ones: some say nothing ("hello")."""

MAX_ANSWER: Final = 24_000
"""Characters of an answer that are read, its end."""

MIN_TERMS: Final = 3
"""Terms of a sentence about an outcome: one with fewer ("Done.") says nothing without those around it."""

SHORT: Final = 40
"""Characters of a sentence that is quoted with the next one."""

MAX_HEADING: Final = 90
"""Characters of a line that can be a heading."""

SURE_OPEN: Final = 2.0
SURE: Final = 2.0
"""Weight from which a sentence is surely about open work, or worth telling."""

DECAY: Final = 0.7
"""Factor for each exchange that came after a sentence about open work."""

BOLD: Final = 1.5
FIRST: Final = 2.0
VALUE: Final = 0.5
"""Weight of a sentence that is emphasised, of the first one of an answer, and of one with a number."""

LISTED: Final = 4.0
"""Weight of an item of a list of outcomes at the end of the session."""

DONE: Final = 0.5
"""Share of the words of an open sentence that a later one repeats which says that it is done."""


class Outline(NamedTuple):
    """The sentences that were chosen, in the order of the session, and those about open work."""

    outcome: tuple[str, ...] = ()
    open: tuple[str, ...] = ()


class _SessionOutlineWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One language of data/session_outline.toml"""

    question: tuple[str, ...]
    question_filler: str
    open_heading: tuple[str, ...]
    done_heading: tuple[str, ...]
    neutral_heading: tuple[str, ...]
    open_strong: tuple[str, ...]
    open_weak: tuple[str, ...]
    cause: tuple[str, ...]
    changed: tuple[str, ...]
    decided: tuple[str, ...]
    works: tuple[str, ...]
    smalltalk: tuple[str, ...]


_words: Final = on_first_use(lambda: read("session_outline", dict[str, _SessionOutlineWords]))


def _any(kind: str) -> re.Pattern[str]:
    return regex(lambda: "|".join(each for words in _words().values() for each in getattr(words, kind)), re.IGNORECASE)


_OPEN_HEADING, _DONE_HEADING, _NEUTRAL_HEADING = map(_any, ("open_heading", "done_heading", "neutral_heading"))
_OPEN, _MAYBE_OPEN, _SMALLTALK = _any("open_strong"), _any("open_weak"), _any("smalltalk")
_CHANGED, _WORKS = _any("changed"), _any("works")
_OUTCOMES: Final = ((_any("cause"), 3.0), (_CHANGED, 2.0), (_any("decided"), 2.0), (_WORKS, 1.0))
"""Kinds of sentences that say what came of a session, with their weights: a cause cannot be read off the code."""


# ---------------------------------------------------------------- the question for it


def _question() -> str:
    fillers = "|".join(words.question_filler for words in _words().values())
    asked = "|".join(each for words in _words().values() for each in words.question)
    apart = r"[\s,.!?:;，。！？：；—–-]*"
    return rf"{apart}(?:(?:{fillers}){apart}){{0,6}}(?:(?:{asked}){apart}(?:(?:{fillers}){apart}){{0,6}}){{1,3}}"


_ASKS: Final = regex(_question, re.IGNORECASE)

MAX_QUESTION: Final = 120
"""Characters of a question for the last session."""


def asks_for_last_session(text: str) -> bool:
    """Return True if a text asks where the work stands and nothing else: "where were we", was ist offen, 还剩什么."""
    return len(text) <= MAX_QUESTION and _ASKS.fullmatch(text.strip()) is not None


# ---------------------------------------------------------------- lines of an answer


class _Piece(NamedTuple):
    """A sentence, or an item of a list, under a heading; `exchange`, `place`: where it stands; `bold`: a part of it is
    emphasised."""

    text: str
    heading: str
    itemised: bool
    bold: bool
    exchange: int
    place: int


_FENCE: Final = regex(r"\s{0,12}(`{3,}|~{3,})")
_BULLET: Final = regex(
    r"\s{0,12}(?:[-*+•–]|\d{1,2}[.)、]|\(\d{1,2}\))\s+(?:\[( |x|X)\]\s+)?|\s{0,12}\*\*\d{1,2}[.)]?\*\*\s+"
)
_TITLE: Final = regex(r"\s{0,3}#{1,6}\s+(.+?)\s*#*$")
_BOLD: Final = regex(r"\*\*([^*]{1,80})\*\*[:：]?(?:\s*[(（][^()（）]{1,80}[)）])?[:：]?$")
_LABEL: Final = regex(r"(?:\*\*([^*]{1,60}?)[:：]?\*\*[:：]?|([^:：`*|]{1,40}?)[:：])(?:\s+|(?<=：))(?=\S)")
_EMPHASIS: Final = regex(r"\*\*|~~|__(?=\w)|(?<=\w)__|(?<![\w*])\*(?=\w)|(?<=[\w.!?])\*(?![\w*])")
_DIGIT: Final = regex(r"\d")
_CLAUSE: Final = regex(r"[;；，。.:]\s*|, (?:but|and|so|which|aber|und)\s")
_ENDS: Final = (".", "!", "?", "。", "！", "？", ",", "，", ";", "；")


def _pieces(answer: str, exchange: int) -> list[_Piece]:
    """Return the sentences and items of an answer, with their headings."""
    lines = without_recalled(answer[-MAX_ANSWER:]).splitlines()
    found: list[_Piece] = []
    heading, fence, in_list, titled = "", "", False, False

    def add(raw: str, itemised: bool, under: str) -> None:
        text = _plain(raw)
        if any(map(str.isalpha, text)) and ((itemised and _says(under)) or not is_machine(text)):
            found.append(_Piece(text, under, itemised, "**" in raw, exchange, len(found)))

    for at, raw in enumerate(lines):
        line = raw.strip()
        if fence or _FENCE.match(raw):
            fence = "" if fence and line.startswith(fence) else fence or line[:3]
        elif not line or line.startswith((">", "＞")) or line.count("|") > 1:
            continue
        elif (bullet := _BULLET.match(raw)) is not None:
            in_list = True
            add(raw[bullet.end() :], True, {None: heading, " ": "TODO"}.get(bullet[1], "Done"))
        elif in_list and raw[:1].isspace():
            continue  # an item goes on: what it is about stood in its first line
        elif (title := _TITLE.match(raw) or _BOLD.match(line)) is not None:
            heading, titled, in_list = _plain(title[1]), raw.startswith("#"), False
        elif _is_lead(line, next((each for each in lines[at + 1 :] if each.strip()), "")):
            *before, lead = sentences(line)
            for each in before:
                add(each, False, "")
            heading, titled, in_list = _plain(lead).rstrip(":："), False, False
        else:
            if in_list and not titled:
                heading = ""
            in_list = False
            under, itemised = heading, False
            for each in _sentences(line):
                label = _LABEL.match(each)
                if label is not None and _says(named := _plain(label[0]).rstrip(":： ")):
                    under, itemised = named, True
                add(each, itemised, under)
    return found


def _plain(text: str) -> str:
    return _EMPHASIS.sub("", text).strip()


def _says(heading: str) -> bool:
    return any(pattern.match(heading) for pattern in (_OPEN_HEADING, _DONE_HEADING, _NEUTRAL_HEADING))


def _sentences(line: str) -> list[str]:
    """Return the sentences of a line, a short one with the next one: "Not timing. It's the reuse of inodes."."""
    joined: list[str] = []
    for each in sentences(line):
        if joined and len(joined[-1]) < SHORT and not (_LABEL.match(joined[-1]) or _LABEL.match(each)):
            joined[-1] += f" {each}" if f"{joined[-1]} {each}" in line else each
        else:
            joined.append(each)
    return joined


def _is_lead(line: str, following: str) -> bool:
    """Return True if a line introduces what follows: it ends in a colon, or is short, ends in no mark, and a list
    follows."""
    if line.endswith((":", "：", ":**", "：**")):
        return True
    return len(line) <= MAX_HEADING and not line.endswith(_ENDS) and _BULLET.match(following) is not None


# ---------------------------------------------------------------- choosing


class _Rated(NamedTuple):
    piece: _Piece
    weight: float


def outline(passages: Sequence[Passage], most: int = MAX_CHARACTERS) -> Outline:
    """Return the outline of a session, given by its passages, the oldest first, in at most `most` characters."""
    read_ones = [each for each in passages if not is_attack(each.text)][-MAX_READ:]
    last = len(read_ones) - 1
    pieces = [piece for at, each in enumerate(read_ones) for piece in _pieces(each.answer, at)]
    pieces = list({piece.text: piece for piece in pieces}.values())
    rated = [_Rated(piece, weight) for piece in pieces if (weight := _openness(piece, last))]
    open_ones = _still_open(rated, pieces, [typed(each.prompt) for each in read_ones])
    told = {it.piece for it in open_ones}
    outcomes = [_Rated(piece, weight) for piece in pieces if piece not in told and (weight := _worth(piece, last))]
    chosen_open = _fitted(
        sorted(open_ones, key=_weight), int(most * OPEN_SHARE) if outcomes else most, MIN_OPEN, SURE_OPEN, _OPEN
    )
    left = most - sum(map(len, chosen_open.values()))
    chosen = _fitted(_best_of_each(outcomes), left, MIN_OUTCOME, SURE)
    return Outline(_in_order(chosen), _in_order(chosen_open))


def last_outline(snapshot: PassageSnapshot, rows: Rows) -> tuple[list[Passage], Outline]:
    """Return the last session among some passages that says what came of it or what is open, and its outline; empty
    ones if none of the last ones does."""
    for session in islice(snapshot.by_session(rows), MAX_SESSIONS):
        said = [snapshot.passage(row) for row in session]
        found = outline(said)
        if found.outcome or found.open:
            return said, found
    return [], Outline()


def _weight(it: _Rated) -> float:
    return -it.weight


def _openness(piece: _Piece, last: int) -> float:
    """Return how surely a sentence is about open work, 0 if it is not: items under a heading that says so, and
    sentences with words that do; the later, the surer."""
    late = DECAY ** (last - piece.exchange)
    if _OPEN_HEADING.match(piece.heading):
        return 4.0 * late
    if (_DONE_HEADING.match(piece.heading) and piece.itemised) or _SMALLTALK.search(piece.text):
        return 0.0
    if _OPEN.search(piece.text):
        return 3.0 * late
    return late if last - piece.exchange < 2 and _MAYBE_OPEN.search(piece.text) else 0.0


def _still_open(found: list[_Rated], pieces: Sequence[_Piece], prompts: Sequence[str]) -> list[_Rated]:
    """Leave out what a later list of open work leaves out, and what a later sentence says to be done."""
    listed = max((it.piece.exchange for it in found if _OPEN_HEADING.match(it.piece.heading)), default=-1)
    surely = any(it.weight >= SURE_OPEN for it in found)
    kept = []
    for it in found:
        if it.weight < SURE_OPEN and surely and listed >= 0:
            continue
        exchange, words = it.piece.exchange, token_set(it.piece.text)
        later = [each.text for each in pieces if each.exchange > exchange and _is_done(each)]
        later += prompts[exchange + 1 :]
        shared = [overlap(words, token_set(each)) for each in later]
        if exchange >= listed and not any(each.shared > 1 and each.of_old >= DONE for each in shared):
            kept.append(it)
    return kept


def _is_done(piece: _Piece) -> bool:
    """Return True if a sentence says that something is done now."""
    if _OPEN_HEADING.match(piece.heading) or _OPEN.search(piece.text):
        return False
    return bool(_DONE_HEADING.match(piece.heading) or _CHANGED.search(piece.text) or _WORKS.search(piece.text))


def _worth(piece: _Piece, last: int) -> float:
    """Return how much a sentence says of what came of the session, 0 for nothing: items under a heading that says so,
    causes, changes, decisions, what works."""
    listed = _DONE_HEADING.match(piece.heading) and piece.itemised
    if _OPEN_HEADING.match(piece.heading) or _SMALLTALK.search(piece.text) or len(index_terms(piece.text)) < MIN_TERMS:
        return 0.0
    if not listed and _OPEN.search(piece.text):
        return 0.0
    weight = sum(worth for pattern, worth in _OUTCOMES if pattern.search(piece.text))
    under = any(pattern.match(piece.heading) for pattern in (_DONE_HEADING, _NEUTRAL_HEADING))
    weight += (
        2.0 * under + BOLD * piece.bold + FIRST * (piece.place == 0) + VALUE * (_DIGIT.search(piece.text) is not None)
    )
    weight += LISTED * (under and piece.itemised and piece.exchange >= last - 1)
    if not weight and piece.itemised and any(pattern.search(piece.heading) for pattern, _ in _OUTCOMES):
        weight = 1.0
    return weight + (piece.exchange + 1) / (last + 1) if weight else 0.0


def _best_of_each(found: list[_Rated]) -> list[_Rated]:
    """Return the best first: what was listed at the end, and the best of each exchange, before the second ones."""
    seen: dict[int, int] = {}
    ranked = []
    for it in sorted(found, key=_weight):
        listed = it.weight >= LISTED
        seen[it.piece.exchange] = nth = seen.get(it.piece.exchange, 0) + 1
        ranked.append((1 if listed else nth, it))
    return [it for _, it in sorted(ranked, key=lambda each: each[0])]


def _fitted(
    ranked: Sequence[_Rated], room: int, least: int, sure: float, about: re.Pattern[str] | None = None
) -> dict[_Piece, str]:
    """Return the sentences that have room, the first ones preferred: all are cut to `least` characters so that another
    one that is sure has room. `about`: words around which a sentence is cut."""
    chosen: list[_Rated] = []
    most = MAX_PIECE
    for it in ranked:
        lengths = [len(each.piece.text) for each in (*chosen, it)]
        smallest = least if it.weight >= sure else most
        fits = next((size for size in range(most, smallest - 1, -2) if sum(min(size, n) for n in lengths) <= room), 0)
        if fits:
            chosen.append(it)
            most = fits
    return {it.piece: _cut(it.piece.text, most, about) for it in chosen}


def _cut(text: str, most: int, about: re.Pattern[str] | None) -> str:
    """Return a text, its first sentences, or a part of it and "…", in at most `most` characters."""
    if len(text) <= most:
        return text
    found = about.search(text) if about is not None else None
    begin = 0
    if found is not None and found.end() > most:
        clauses = [each.end() for each in _CLAUSE.finditer(text, 0, found.start())]
        begin = clauses[-1] if clauses else text.rfind(" ", 0, found.start()) + 1
    kept = text[begin:]
    if len(kept) + (begin > 0) > most:
        kept = kept[: most - 1 - (begin > 0)]
        kept = (kept.rpartition(" ")[0] if " " in kept[most // 2 :] else kept).rstrip(" ,;:，；：(（") + "…"
    return f"…{kept}" if begin else kept


def _in_order(chosen: dict[_Piece, str]) -> tuple[str, ...]:
    return tuple(chosen[piece] for piece in sorted(chosen, key=lambda it: (it.exchange, it.place)))
