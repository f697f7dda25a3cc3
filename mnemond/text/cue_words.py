"""Words and phrases that say what kind of thing a text is, as data, and the one way to look for them.

A word is found among the tokens of a text, a phrase anywhere in its plain form. That is faster than an alternation of
regular expressions by an order of magnitude, and its time does not depend on what the text says.
"""

from __future__ import annotations

import msgspec

from mnemond.text.similarity import token_set
from mnemond.text.tokens import fold, tokens


class Reading(msgspec.Struct, frozen=True, gc=False):
    """A text made ready to be searched: `plain` is folded, its white space single, with straight apostrophes."""

    plain: str
    words: frozenset[str]


class Cue(msgspec.Struct, frozen=True):
    """One kind of hint: tokens, English phrases and Chinese phrases, and phrases that look like them and are not."""

    words: frozenset[str]
    phrases: tuple[str, ...] = ()
    chinese: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()


def reading(text: str) -> Reading:
    """`text` as `found` wants it. Linear time."""
    folded = fold(text)
    if not text.isascii():
        folded = folded.replace("’", "'")
    return Reading(" ".join(folded.split()), token_set(text))


def found(cue: Cue, read: Reading) -> bool:
    """Whether the text gives this hint, beyond the phrases that only look like it."""
    if not _occurs(cue, read.plain, read.words):
        return False
    if not any(phrase in read.plain for phrase in cue.unless):
        return True
    bare = read.plain
    for phrase in cue.unless:
        bare = bare.replace(phrase, " ")
    return _occurs(cue, bare, frozenset(tokens(bare)))


def _occurs(cue: Cue, plain: str, words: frozenset[str]) -> bool:
    if not cue.words.isdisjoint(words):
        return True
    if any(phrase in plain for phrase in cue.phrases):
        return True
    return not plain.isascii() and any(phrase in plain for phrase in cue.chinese)


def words_of(*lines: str) -> frozenset[str]:
    """The words of some lines, as a set."""
    return frozenset(word for line in lines for word in line.split())


DECISION = Cue(
    words_of(
        "decide decided decides decision decisions chose chosen choose choosing picked selected adopted adopting",
        "agreed settled concluded approved rejected opted switched migrated replaced standardised standardized",
        "because therefore hence thus consequently",
    ),
    ("due to", "so that", "caused by", "owing to", "as a result", "in order to", "went with", "going with"),
    ("决定", "选择了", "选用", "采用", "改用", "敲定", "选定", "放弃", "因为", "由于", "所以", "因此", "以便", "导致"),
)
"""A decision was made or a reason is given (spec 6.8)."""

PREFERENCE = Cue(
    words_of(
        "prefer prefers preferred preference preferences favourite favorite favourites favorites always never must",
        "dislike dislikes hate hates enjoy enjoys loves likes insists wants convention mandatory forbidden prohibited",
    ),
    (
        "don't ",
        "do not ",
        "make sure",
        "remember to",
        "remember that",
        "from now on",
        "need to",
        "needs to",
        "have to",
        "has to",
        "i like ",
        "i love ",
        "i want ",
        "we want ",
        "we like ",
        "i'd like",
        "i'd rather",
        "would rather",
        "shouldn't ",
        "should not ",
        "should be ",
        "be sure to",
        "ensure that",
    ),
    (
        "喜欢",
        "偏好",
        "偏爱",
        "讨厌",
        "希望",
        "想要",
        "总是",
        "从不",
        "永远",
        "必须",
        "不要",
        "务必",
        "记住",
        "一定要",
        "最好",
        "习惯用",
        "不能",
        "禁止",
        "应该",
        "应当",
        "优先",
    ),
    unless=("don't know", "don't mind", "do not know", "don't worry", "never mind", "you don't have to"),
)
"""Somebody's taste, or what is to be done from now on (spec 6.8)."""

ERROR = Cue(
    words_of(
        "error errors bug bugs bugfix exception exceptions crash crashes crashed crashing fail fails failed failing",
        "failure failures failed broke broken breaks panic panics panicked traceback segfault deadlock deadlocks",
        "timeout timeouts leak leaks leaked regression problem problems issue issues flaky corrupted outage hangs hung",
        "oom conflict conflicts stuck",
    ),
    ("timed out", "race condition", "went wrong", "root cause", "out of memory", "doesn't work", "didn't work"),
    ("错误", "报错", "失败", "崩溃", "异常", "故障", "问题", "超时", "死锁", "泄漏", "卡死", "不工作", "出错"),
    unless=("no problem", "not a problem", "no issue", "no worries", "no error", "没问题", "没有问题", "不是问题"),
)
"""Something went wrong (spec 6.8, 6.9)."""

FIX = Cue(
    words_of(
        "fix fixed fixes fixing bugfix solved solve solves solution resolved resolves resolve workaround patched",
        "hotfix remedied mended cured corrected worked",
    ),
    ("work around", "worked around", "the trick is", "the trick was", "is to set", "was to set", "goes away"),
    ("修复", "修好", "解决", "修正", "改好", "绕过", "规避"),
    unless=(
        "didn't fix",
        "not fix",
        "doesn't fix",
        "not fixed",
        "unresolved",
        "未解决",
        "没有解决",
        "没解决",
        "无法解决",
    ),
)
"""What went wrong was mended (spec 6.8, 6.9)."""

WORKS = Cue(
    words_of("works worked"),
    ("is working", "are working", "now working", "working now", "working again", "got it working"),
    (
        "有效果",
        "很有效",
        "确实有效",
        "生效了",
        "可行",
        "能用了",
        "奏效",
        "管用",
        "行得通",
        "成功了",
        "运行成功",
        "终于成功",
    ),
    unless=(
        *(
            f"{verb} {word} "
            for verb in ("works", "worked", "working")
            for word in ("at", "as", "for", "in", "on", "with")
        ),
        "working hard",
        "no longer works",
        "never works",
        "never worked",
        "nothing works",
        "nothing worked",
        "无效",
        "没有成功",
        "不成功",
        "未成功",
        "不可行",
    ),
)
"""Something does what it should (spec 6.8, 6.9)."""
