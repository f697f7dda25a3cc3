"""Words and phrases that say what kind of thing a text is, as data, and the one way to look for them.

A word is found among the tokens of a text, a phrase anywhere in its plain form. That is faster than an alternation of
regular expressions by an order of magnitude, and its time hardly depends on what the text says.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from mnemond.text.phrases import Phrases
from mnemond.text.similarity import token_set
from mnemond.text.tokens import REMEMBERED_FOLDS, fold, latin_words, tokens


class Reading(msgspec.Struct, frozen=True, gc=False):
    """A text made ready to be searched: `plain` is folded, its white space single, with straight apostrophes.

    `phrases` are those of every cue of this module that stand in it, English ones and those of `unless`. `silent`: it
    has nothing that any of these cues goes by, which is told once instead of by each.
    """

    plain: str
    words: frozenset[str]
    phrases: frozenset[str]
    silent: bool = False


class Cue(msgspec.Struct, frozen=True):
    """One kind of hint: tokens, English phrases and Chinese phrases, and phrases that look like them and are not."""

    words: frozenset[str]
    phrases: tuple[str, ...] = ()
    chinese: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()


@lru_cache(maxsize=REMEMBERED_FOLDS)
def reading(text: str) -> Reading:
    """`text` as `found` wants it. Linear time."""
    folded = fold(text)
    if not text.isascii():
        folded = folded.replace("’", "'")
    plain = " ".join(folded.split())
    words, phrases = token_set(text), _PHRASES.found(plain, latin_words(text))
    return Reading(plain, words, phrases, not phrases and plain.isascii() and _WORDS.isdisjoint(words))


def forget_cached() -> None:
    """Let go of every remembered text and word, so that nothing of a purged memory stays."""
    reading.cache_clear()
    _PHRASES.forget()


def found(cue: Cue, read: Reading) -> bool:
    """Whether the text gives this hint, beyond the phrases that only look like it."""
    if read.silent or not _occurs(cue, read):
        return False
    if not read.phrases or read.phrases.isdisjoint(cue.unless):
        return True
    bare = read.plain
    for phrase in cue.unless:
        bare = bare.replace(phrase, " ")
    left = frozenset(phrase for phrase in cue.phrases if phrase in bare)
    return _occurs(cue, Reading(bare, frozenset(tokens(bare)), left))


def _occurs(cue: Cue, read: Reading) -> bool:
    if not cue.words.isdisjoint(read.words) or (read.phrases and not read.phrases.isdisjoint(cue.phrases)):
        return True
    return not read.plain.isascii() and any(phrase in read.plain for phrase in cue.chinese)


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

PRAISE = Cue(
    words_of("thanks thank thx perfect kudos lgtm done job work"),
    chinese=("👍", "👏", "💯", "🙏", "谢", "好", "棒", "赞"),
)
"""Thanks and approval, which count with a reason beside them (spec 6.9)."""

CORRECTION = Cue(
    words_of("wrong incorrect instead mistaken"),
    ("actually", "that's not", "not what i", "you should have", "i meant", "stop using", "rather than"),
    ("其实", "不对", "错了", "不是这样", "应该是", "不要", "别用", "别再", "而不是", "改成", "纠正", "搞错"),
    unless=(
        "went wrong",
        "goes wrong",
        "go wrong",
        "what's wrong",
        "nothing wrong",
        "wrong with",
        "i actually",
        "i'm actually",
        "we actually",
        "did actually",
        "do actually",
        "is actually working",
    ),
)
REALISED = Cue(
    words_of("learned learnt realised realized discovered"),
    ("turns out", "turned out", "found out", "figured out", "lesson"),
    (
        "学到",
        "学会",
        "原来是",
        "原来要",
        "原来需要",
        "才发现",
        "后来发现",
        "结果发现",
        "我发现",
        "发现原来",
        "明白了",
        "搞懂",
        "结果表明",
    ),
    unless=("learned about", "machine learned"),
)
FAILED = Cue(
    words_of("failed fails failure avoid avoids avoided pitfall pitfalls gotcha gotchas footgun antipattern"),
    (
        "n't work",
        "not work",
        "never work",
        "no longer works",
        "not working",
        "nothing works",
        "nothing worked",
        "dead end",
        "stopped working",
    ),
    ("不起作用", "没用", "失败", "避免", "踩坑", "陷阱", "行不通", "不可行", "无效", "不工作", "走不通", "别用"),
    unless=("never fails", "never failed", "没用过", "没用到"),
)

_CUES = (DECISION, PREFERENCE, ERROR, FIX, WORKS, PRAISE, CORRECTION, REALISED, FAILED)
_WORDS = frozenset[str]().union(*(cue.words for cue in _CUES))
_PHRASES = Phrases(phrase for cue in _CUES for phrase in (*cue.phrases, *cue.unless))
