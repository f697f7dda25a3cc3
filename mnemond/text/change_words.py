"""Words by which a statement says that something changed, or what state it tells of, as data.

A change is told by what it leads to: who moved lives elsewhere, what was renamed is called otherwise. So each change
has a name, and each state that of the changes that end it. To the change cues of spec 6.5 belong here those that
announce one in a note somebody writes in passing ("now", "as of May", 以后改为); they order memories, and retire none.
"""

from __future__ import annotations

import re
from typing import Final

from mnemond.text.cue_words import words_of

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
PLAIN_PARTS: Final = re.compile(_PLAIN)
"""The words of a folded statement in ASCII."""

ANNOUNCING: Final = words_of(
    "now nowadays currently days moment meanwhile already actually correction update newly starting beginning",
    "effective moved moves moving relocated relocates rescheduled shifted shifts postponed pushed bumped forward",
    "switched switches switching migrated migrates migrating changed changes changing converted upgraded downgraded",
    "raised increased lowered reduced extended shortened promoted renamed renames renaming joined joins started",
    "replaced replaces replacing instead rather place longer left quit anymore",
)
"""A sentence that says in English that something changed has one of these words, or `SINCE` with a time."""

ANNOUNCING_SINCE: Final = re.compile(r"\bas of \w|\bfrom \w+(?: \w+){0,3} on\b|\bany more\b")
ANNOUNCING_CHINESE: Final = re.compile(
    "现在|現在|如今|目前|以后|以後|今后|从今|从此|已经|已經|其实|更正|最新|而不是|取代|替代|离开|不再|[搬迁遷移改挪推延提][到去进至名叫用成为為迟遲期前]"
    "|[换換变變]成|[换換变變][为為]|切[换換]|替[换換]|更名|加入|跳槽|入职"
)
"""What a Chinese sentence has that says so."""

PARTS: Final = re.compile(rf"{_CHINESE}|{_PLAIN}")
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

INDEFINITE: Final = re.compile(r"^\W*(?:and |but )?(?:a|an|one|another|some|other)\b|^(?:一个|另一个|有)")
"""How a statement begins that tells of one of several."""

ROLE: Final = re.compile(
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
