"""What a text states, sentence by sentence, in a form in which two statements can be laid side by side.

Of each sentence: its words in order, stemmed, without those that say nothing; what it says has changed, and what is no
longer so. "Ana lives in Oslo" is ana·in·oslo, a place somebody lives in; "Ana has moved to Bergen" is ana·to·bergen, a
move. Only short sentences are read so: of a long one the words alone do not tell what is said of what.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import Final, NamedTuple

from mnemond.text.caches import text_cache
from mnemond.text.contrast import LABEL_NOUNS, numbers, polarity
from mnemond.text.date_phrases import tense
from mnemond.text.resources import regex, words_of
from mnemond.text.tokens import FUNCTION_WORDS, fold, index_term

# Words by which a statement says that something changed, or what state it tells of, as data.
#
# A change is told by what it leads to: who moved lives elsewhere, what was renamed is called otherwise. So each
# change has a name, and each state that of the changes that end it. To the change cues of spec 6.5 belong here those
# that announce one in a note somebody writes in passing ("now", "as of May", 以后改为); they order memories, and retire
# none.


NOW, MOVE, SWITCH, RENAME, JOIN = "now", "move", "switch", "rename", "join"
"""Changes: of anything, of a place or a time, of what is used or chosen, of a name, of where somebody works."""

LIVE, USE, WORK, CALLED, REPORT, BE = "live", "use", "work", "called", "report", "be"
"""States that a thing is in one of at a time; what is used, for one purpose."""

ONE_AT_A_TIME: Final = frozenset({LIVE, WORK, CALLED, REPORT})
"""States of which whoever speaks has one, so that no other word need say what changed."""

ENDS: Final = {
    LIVE: frozenset({NOW, MOVE}),
    USE: frozenset({NOW, MOVE, SWITCH}),
    WORK: frozenset({NOW, JOIN, SWITCH}),
    CALLED: frozenset({NOW, RENAME, SWITCH}),
    REPORT: frozenset({NOW, MOVE, SWITCH}),
    BE: frozenset({NOW, MOVE, SWITCH, RENAME}),
}
"""The changes that end each state."""

GONE_BEFORE, GONE_AFTER, IGNORED = "gone before", "gone after", "ignored"
"""Parts of a statement beside changes and states: what is no longer so stands before them or behind them."""

_ENGLISH: Final = {
    NOW: "now, nowadays, currently, these days, at the moment, meanwhile, already, actually, correction, update, newly",
    MOVE: (
        "moved, moves, moving, relocated, relocates, rescheduled, shifted, shifts, postponed, pushed, bumped"
        ", brought forward"
    ),
    SWITCH: (
        "switched, switches, switching, migrated, migrates, migrating, changed, changes, changing, converted, upgraded"
        ", downgraded, raised, increased, lowered, reduced, extended, shortened, promoted"
    ),
    RENAME: "renamed, renames, renaming",
    JOIN: "joined, joins, started at, started working at, started work at",
    GONE_BEFORE: "replaced by, replaced with",
    GONE_AFTER: "instead of, rather than, in place of, no longer at, replaced, replaces, replacing, left, quit",
    LIVE: "live, lives, living, reside, resides, located, based, sit, sits, stay, stays",
    USE: (
        "use, uses, using, run on, runs on, running on, chose, picked, decided on, went with, settled on, adopted"
        ", selected"
    ),
    WORK: "work at, works at, working at, work for, works for, working for",
    CALLED: "called, named",
    REPORT: "report to, reports to",
    IGNORED: "any more, anymore, any longer",
}


def _by_first_word(lists: dict[str, str]) -> dict[str, tuple[tuple[tuple[str, ...], str], ...]]:
    found: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for kind, listed in lists.items():
        for phrase in listed.split(", "):
            first, *rest = phrase.split()
            found.setdefault(first, []).append((tuple(rest), kind))
    return {first: tuple(sorted(each, key=lambda one: -len(one[0]))) for first, each in found.items()}


PHRASES: Final = _by_first_word(_ENGLISH)
"""Of the first word of a phrase the words behind it and what the phrase is, the longest first."""

LEADS: Final = frozenset({"to", "from", "into", "for"})
"""One of these stands behind a verb of switching that says from what or to what: "changed the oil" says neither."""

BETWEEN: Final = frozenset({"over", "back", "everything", "it", "this", "away"})
"""May stand between the two."""

SINCE: Final = frozenset({"as", "starting", "beginning", "effective", "from"})
TIMES: Final = words_of(
    "today now tomorrow yesterday this next last week month year quarter sprint summer winter spring autumn january",
    "february march april may june july august september october november december monday tuesday wednesday thursday",
    "friday saturday sunday of in on",
)
"""What follows a word of `SINCE` where it says from when on something is so: "as of this week", "starting in May"."""

_CHINESE: Final = (
    r"(?P<zh_now>现在|現在|如今|目前|以后|以後|今后|从今|从此|已经|已經|其实|更正|最新)"
    r"|(?P<zh_gone_after>而不是|取代了?|替代了?|离开了?)"
    r"|(?P<zh_move>搬到|搬去|搬进|迁到|迁至|遷到|移到|改到|挪到|推迟到|推遲到|延期到|提前到)"
    r"|(?P<zh_switch>换成|換成|改用|改成|改为|改為|切换到|切換到|迁移到|遷移到|替换成|替换为|变成|变为|變成)"
    r"|(?P<zh_rename>改名为?|更名为?|改叫)"
    r"|(?P<zh_join>加入|跳槽到|入职)"
    r"|(?P<zh_live>住在|居住在|位于|位於|坐落在)"
    r"|(?P<zh_use>使用|采用|選用|选用|运行在|跑在"
    r"|(?<![作应應利费費通信引常专專公实實备備适適运運使采])用(?![户戶于於途法量水来來处處]))"
    r"|(?P<zh_work>就职于|任职于)"
    r"|(?P<zh_called>名叫|叫做|叫)"
    r"|(?P<zh_no_more>不再)"
    r"|(?P<zh_be>是)"
)
_MONTHS: Final = {
    form: name[:3]
    for name in words_of("january february march april may june july august september october november december")
    for form in (name, name[:3])
} | {"sept": "sep"}
_WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

_PLAIN: Final = (
    r"(?P<weekday>\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:tue|wed|thu|fri)\b)"
    r"|(?P<zh_weekday>(?:周|週|星期|礼拜|禮拜)[一二三四五六日天])"
    r"|(?P<word>[a-z0-9$€£][a-z0-9_'./:+#%-]*[a-z0-9_+#%]|[a-z0-9])"
    r"|(?P<han>[\u3400-\u9fff])"
    r"|(?P<other>\w+)"
)
PLAIN_PARTS: Final = regex(_PLAIN)
"""The words of a folded statement in ASCII."""

ANNOUNCING: Final = words_of(
    "now nowadays currently days moment meanwhile already actually correction update newly starting beginning",
    "effective moved moves moving relocated relocates rescheduled shifted shifts postponed pushed bumped forward",
    "switched switches switching migrated migrates migrating changed changes changing converted upgraded downgraded",
    "raised increased lowered reduced extended shortened promoted renamed renames renaming joined joins started",
    "replaced replaces replacing instead rather place longer left quit anymore",
)
"""A sentence that says in English that something changed has one of these words, or `SINCE` with a time."""

ANNOUNCING_SINCE: Final = regex(r"\bas of \w|\bfrom \w+(?: \w+){0,3} on\b|\bany more\b")
ANNOUNCING_CHINESE: Final = regex(
    "现在|現在|如今|目前|以后|以後|今后|从今|从此|已经|已經|其实|更正|最新|而不是|取代|替代|离开|不再|[搬迁遷移改挪推延提][到去进至名叫用成为為迟遲期前]"
    "|[换換变變]成|[换換变變][为為]|切[换換]|替[换換]|更名|加入|跳槽|入职"
)
"""What a Chinese sentence has that says so."""

PARTS: Final = regex(rf"{_CHINESE}|{_PLAIN}")
"""The words, characters and Chinese phrases of any other; the name of a group that begins with "zh_" is what it is."""
"""What a folded statement is made of: each match is a phrase of this module, or one word or character."""
FROM: Final = frozenset({"from", "从", "由"})
PREPOSITIONS: Final = frozenset({
    "in", "on", "at", "to", "for", "with", "by", "of", "into", "onto", "as", "about", "under", "via", "through",
    "between", "after", "before", "during", "until", "since", "because", "than",
    *"在于於到给給对對做当當为為",
}) | FROM  # fmt: skip
"""Words after which a statement says something else of its thing: where, for what, with whom."""

DROPPED: Final = frozenset({
    "a", "an", "the", "this", "that", "these", "those", "there", "here", "every", "each", "all", "both", "usually",
    "always", "normally", "just", "also", "so", "and", "but", "or", "then", "very", "only", "still", "again", "not",
    "no", "don't", "doesn't", "do", "does", "did", "didn't", "will", "would", "can", "could", "should", "must", "has",
    "have", "had", "been", "being", "our", "recently", "finally", "longer", "ok", "okay", "btw", "fyi", "note",
    *"的了每都也就着著过過吗呢吧啊个個們们把被将將再不没沒又",
})  # fmt: skip
"""Words that say nothing of what a statement is about, or that are looked at apart: articles, auxiliaries, particles,
negation."""

BEING: Final = frozenset({"is", "are", "was", "were", "am", "be", "isn't", "aren't", "wasn't", "weren't"})

PRONOUNS: Final = {
    "i": "i", "my": "i", "me": "i", "i'm": "i", "we": "we", "us": "we", "we're": "we", "you": "you",
    "your": "you", "he": "he", "his": "he", "him": "he", "she": "she", "her": "she", "they": "they", "their": "they",
    "it": "it", "its": "it", "我": "我", "你": "你", "他": "他", "她": "她", "它": "它", "咱": "我",
}  # fmt: skip
"""Who is spoken of, in one form: "my editor" and "I" belong together."""

INDEFINITE: Final = regex(r"^\W*(?:and |but )?(?:a|an|one|another|some|other)\b|^(?:一个|另一个|有)")
"""How a statement begins that tells of one of several."""

ROLE: Final = regex(
    r"\b(?:is|are)(?: (?:now|currently))? (?:the|our|my|in charge of|responsible for)\b"
    r"|现在是|是(?=[\u3400-\u9fff]+的)|负责"
)
"""Of what there is one: "Priya is the owner of billing"."""

ONE_OF_MANY: Final = frozenset({
    "option", "alternative", "candidate", "example", "choice", "possibility", "idea", "proposal", "friend", "colleague",
    "member", "reason", "step", "goal", "feature", "bug", "issue", "problem", "task", "todo", "tip", "lesson", "rule",
})  # fmt: skip
"""Nouns of which a thing has several: another one does not correct the first."""


def month(word: str) -> str | None:
    """The month a folded word names, in one spelling."""
    return _MONTHS.get(word)


def weekday(found: str) -> str:
    """One spelling for a match of `weekday` or `zh_weekday`."""
    if found.isascii():
        return found[:3]
    return _WEEKDAYS["一二三四五六日".find(found[-1].replace("天", "日"))]


READ: Final = 600
"""Characters of a text that are read."""

MOST: Final = 12
"""Sentences of a text, the first ones."""

LONGEST: Final = 160
"""Characters of a sentence that is read."""

MAX_UNITS: Final = 30
"""Units of a statement; of a longer one the first."""

REMEMBERED: Final = 1_024
"""Sentences whose statement is remembered."""

_END: Final = regex(r"([!?;。！？；，\n]+|\.+(?=\s|$))")
_WORD: Final = regex(r"[a-z0-9']+")
_WORDLESS: Final = (FUNCTION_WORDS - PRONOUNS.keys()) | DROPPED | PREPOSITIONS | set(" ,.")
_LATIN: Final = regex(r"[a-z]+")
_CONJUNCTION: Final = regex(r",\s+(?:and|but|so|which|because|while|whereas)\s+", re.IGNORECASE)
_CAPITAL: Final = regex(r"(?<=\s)[\"'(]?([A-Z][\w'+#./-]*\w|[A-Z])")
_SUPPOSED: Final = regex(
    r"\b(?:if|might|could|would|maybe|perhaps|whether|consider\w*|thinking|plan(?:s|ned|ning)? to|wants? to|propos\w+"
    r"|suggest\w*|discuss\w*|(?:we|you|they|he|she|it|i) may)\b|如果|可能|也许|打算|考虑|建议|想要?"
)
_RECURS: Final = regex(r"\b(?:every|each|daily|hourly|nightly|weekly|monthly|always)\b|每")

LEAVING: Final = frozenset({"left", "quit", "no", "离开", "离开了"})
REPLACING: Final = ("replac", "取代", "替代")
"""What came instead stands before these words: "NATS replaced RabbitMQ" is about whatever RabbitMQ was."""

PERSONS: Final = frozenset(PRONOUNS.values())
"""Units of pronouns."""

PREPOSITION: Final = "…"
"""What the unit of a preposition begins with."""

FIXED: Final = ("day:", "month:", "number:")
"""What the units begin with that are values by themselves."""

_CHANGES: Final = {NOW, MOVE, SWITCH, RENAME, JOIN}
_STATES: Final = {LIVE, USE, WORK, CALLED, REPORT}


class Sentence(NamedTuple):
    """A sentence of a text, and the same in small letters."""

    text: str
    small: str


class Statement:
    """`units`: stems, single Chinese characters, numbers, days and months in one spelling; `words`: the same folded,
    not stemmed. `change`: what it says has changed, `state`: what it tells of, see `change_words`. `gone`: units of
    what it says is no longer. `headless`: what it is about stands in `gone`. `labelled`: it has a number that names
    something. `changed_at`, `stated_at`: units before the words that say what changed, and what state it tells of.

    What is seldom asked for is looked for when it is.
    """

    def __init__(self, sentence: str) -> None:
        read = _Reading(sentence)
        self._sentence = sentence
        self._folded = read.folded
        self.units = tuple(read.units)
        self.words = tuple(read.words)
        self.change, self.state = read.change, read.state
        self.gone = tuple(read.gone)
        self.headless, self.labelled = read.headless, read.labelled
        self.changed_at, self.stated_at = read.changed_at, read.stated_at

    @cached_property
    def names(self) -> frozenset[str]:
        """Folded words that were written with a capital, the first one aside."""
        return frozenset(fold(name).removesuffix("'s") for name in _CAPITAL.findall(self._sentence))

    @cached_property
    def denies(self) -> bool:
        """Whether it negates."""
        return polarity(self._sentence) == 1

    @cached_property
    def past(self) -> bool:
        """Whether it looks back at one event."""
        return _RECURS.search(self._folded) is None and tense(self._folded, 0, 0) == "past"

    @cached_property
    def supposed(self) -> bool:
        """Whether it says what may be."""
        return _SUPPOSED.search(self._folded) is not None

    @cached_property
    def indefinite(self) -> bool:
        """Whether it tells of one of several."""
        return INDEFINITE.search(self._folded) is not None

    @cached_property
    def role(self) -> bool:
        """Whether it says who or what is the one that …."""
        return ROLE.search(self._folded) is not None

    @cached_property
    def settles(self) -> bool:
        """Whether it may tell of something that can only be so and not otherwise, now."""
        fixed = self.state != "" or any(unit.startswith(FIXED) for unit in self.units)
        return fixed and not (self.labelled or self.indefinite or self.past or self.supposed)


def sentences(text: str) -> tuple[Sentence, ...]:
    """The sentences of a text in order, without questions and long ones. Linear time."""
    found = islice(_sentences(text[:READ]), MOST)
    return tuple(Sentence(each, each.lower()) for each in found)


def _sentences(text: str) -> Iterator[str]:
    parts = [*_END.split(text), ""]
    for whole, end in zip(parts[::2], parts[1::2], strict=True):
        if end[:1] in ("?", "？") and end:
            continue
        for part in _CONJUNCTION.split(whole) if ", " in whole else (whole,):
            sentence = part.strip()
            if 1 < len(sentence) <= LONGEST:
                yield sentence


def announces(text: str) -> bool:
    """Whether a text may say that something changed: far cheaper than to read it."""
    small = text[:READ].lower()
    if not ANNOUNCING.isdisjoint(_LATIN.findall(small)):
        return True
    if not small.isascii() and ANNOUNCING_CHINESE.search(small) is not None:
        return True
    return ("of " in small or " on" in small or "more" in small) and ANNOUNCING_SINCE.search(small) is not None


def content_words(small: str) -> frozenset[str]:
    """Words of a sentence in small letters that say something, with pronouns; unless it is ASCII its characters."""
    return frozenset(_WORD.findall(small) if small.isascii() else small) - _WORDLESS


@text_cache(maxsize=REMEMBERED)
def statement(sentence: str) -> Statement:
    """What one sentence states. Linear time."""
    return Statement(sentence)


class _Reading:
    """One sentence, part by part."""

    def __init__(self, sentence: str) -> None:
        self.folded = fold(sentence).replace("’", "'")
        self.units: list[str] = []
        self.words: list[str] = []
        self.gone: list[str] = []
        self.change = self.state = ""
        self.changed_at = self.stated_at = 0
        self.headless = self.labelled = self._going = False
        pattern = PLAIN_PARTS if self.folded.isascii() else PARTS
        self._read([(found.lastgroup or "", found[0]) for found in pattern.finditer(self.folded)])

    def _read(self, parts: list[tuple[str, str]]) -> None:
        words = [word for _, word in parts]
        place = 0
        while place < len(parts) and len(self.units) < MAX_UNITS:
            group, word = parts[place]
            place += 1
            if group.startswith("zh_"):
                self._part(group.removeprefix("zh_").replace("_", " "), word)
            elif group == "weekday":
                self._part(group, word)
            elif word in SINCE and (told := _since(words, place)):
                self._changes(NOW)
                place += told
            elif phrase := _phrase(words, place):
                rest, kind = phrase
                self._part(kind, word)
                place += len(rest)
            else:
                self._word(word)

    def _part(self, kind: str, found: str) -> None:
        if kind in _CHANGES:
            self._changes(kind)
        elif kind in _STATES:
            if self.state in ("", BE):
                self.state, self.stated_at = kind, len(self.units)
        elif kind == BE:
            self._is()
        elif kind == GONE_BEFORE:
            self._replaced()
        elif kind == GONE_AFTER:
            self._lets_go(found)
        elif kind == "weekday":
            self._add(f"day:{weekday(found)}", found)

    def _changes(self, kind: str) -> None:
        self._going = False
        if kind != NOW or not self.change:
            self.change, self.changed_at = kind, len(self.units)

    def _is(self) -> None:
        if not self.state:
            self.state, self.stated_at = BE, len(self.units)

    def _replaced(self) -> None:
        """What stood so far is what was replaced."""
        self.gone, self.units, self.words = self.units, [], []
        self.change, self.headless, self.labelled = SWITCH, True, False

    def _lets_go(self, found: str) -> None:
        self.change = JOIN if found in LEAVING else SWITCH
        self.headless = found.startswith(REPLACING) and self.units[:1] != [] and self.units[0] not in PERSONS
        self._going = True

    def _word(self, word: str) -> None:
        word = word.removesuffix("'s")
        if word in BEING:
            self._is()
        elif word in FROM and (self.change not in ("", NOW) or not word.isascii()):
            self._going = True
        elif word in PREPOSITIONS:
            if word == "在":
                self._is()
            self._preposition(word)
        elif word not in DROPPED:
            self._content(word)

    def _preposition(self, word: str) -> None:
        if self._going:
            self._going = False
        elif not (self.units and self.units[-1].startswith(PREPOSITION)):
            self._add(PREPOSITION + word, word)

    def _content(self, word: str) -> None:
        if len(word) == 1 and not word.isascii():
            self._add(PRONOUNS.get(word, word), word)
            return
        own = () if word.isalpha() else tuple(numbers(word))
        if len(own) == 1:
            self.labelled |= bool(self.words) and self.words[-1] in LABEL_NOUNS
            self._add(f"number:{own[0]}", word)
        elif name := month(word):
            self._add(f"month:{name}", word)
        else:
            self._add(PRONOUNS.get(word) or index_term(word) or word, word)

    def _add(self, unit: str, word: str) -> None:
        if self._going:
            self.gone.append(unit)
        elif not (self.units and self.units[-1] == unit):
            self.units.append(unit)
            self.words.append(word)


def _phrase(words: list[str], place: int) -> tuple[tuple[str, ...], str] | None:
    """The phrase that begins with the word before `place`: the words behind that one, and what it is."""
    for rest, kind in PHRASES.get(words[place - 1], ()):
        if tuple(words[place : place + len(rest)]) == rest and (kind != SWITCH or _leads(words, place)):
            return rest, kind
    return None


def _leads(words: list[str], place: int) -> bool:
    """Whether a verb of switching says from what or to what."""
    if place < len(words) and words[place] in BETWEEN:
        place += 1
    return place < len(words) and words[place] in LEADS


def _since(words: list[str], place: int) -> int:
    """How many words behind one of `SINCE` tell a time; with "from" only where "on" ends them."""
    end = place
    while end < len(words) and (words[end] in TIMES or words[end].isdigit()):
        end += 1
    first = words[place - 1]
    if end == place or (first == "from" and words[end - 1] != "on") or (first == "as" and words[place] != "of"):
        return 0
    return end - place


# The first clause of a text: what it is about, short enough for a label or a question (spec 6.9, 6.10).


MAX_CLAUSE = 120
"""Characters of a first clause (spec 6.9)."""

LOOKED_AT = 400
"""Characters of a text in which its first clause is looked for."""

_LABEL = regex(
    r"(?:[-*+•#>\s]|\[[ xX]\]|\*\*|(?:user|assistant|note|problem|bug|issue|error|symptom|learned|learning|lesson|til|"
    r"pitfall|gotcha|warning|tip|fix|fixed|solution|用户|助手|问题|错误|现象|教训|经验|学到|注意|踩坑|坑|解决)"
    r"(?:\*\*)?\s{0,3}[:：])+\s*",
    re.IGNORECASE,
)
_CLAUSES_END = regex(
    r"[.!?;。！？；\n ,，](?:"  # one set of characters first: the search skips to them
    r"(?<=[;。！？；\n])"
    r"|(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?=[\s\"'”’)]|\Z)"
    r"|(?<= )(?:[-–—]{1,2}|→|->|=>)\s"
    r"|(?<=[,，])\s{0,3}(?:(?:and|but|so|fixed|fix|solved|resolved|which|because|since|the fix|workaround|instead|"
    r"until|now)\b|解决|修复|修好|通过|所以|因此|但|后来|原因|改用|改成|于是|因为|最后))",
    re.IGNORECASE,
)


def first_clause(text: str, longest: int = MAX_CLAUSE) -> str:
    """The first clause of `text`, on one line, without list marks, labels and closing punctuation; "" if there is none.

    At most `longest` characters, cut between words where there are any, the last one then an ellipsis.
    """
    start = text[:LOOKED_AT].strip()
    labels = _LABEL.match(start)
    body = start[labels.end() :] if labels else start
    end = _CLAUSES_END.search(body)
    clause = body[: end.start()] if end and end.start() else body
    return shortened(" ".join(clause.split()).strip(" \"'“”‘’`*_()（）「」.,;:!?。，；：！？"), longest)


def shortened(line: str, longest: int = MAX_CLAUSE) -> str:
    """`line` if it fits into `longest` characters (1 or more), else its beginning and an ellipsis."""
    if len(line) <= longest:
        return line
    space = line.rfind(" ", longest // 2, longest)
    return line[: space if space > 0 else longest - 1].rstrip(" ,;:，；：") + "…"
