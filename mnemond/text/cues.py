"""What kind of answer a question wants, by counting its cues (spec 11.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from mnemond.text.caches import register, text_cache
from mnemond.text.resources import regex
from mnemond.text.similarity import token_set
from mnemond.text.tokens import REMEMBERED_FOLDS, fold, latin_words, tokens

Cued = Literal["WHY", "WHEN", "ENTITY"]

_ENGLISH: dict[Cued, tuple[str, ...]] = {
    "WHY": ("why", "reason", "reasons", "because", "cause", "caused", "causes", "motivation", "rationale", "how come"),
    "WHEN": ("when", "time", "date", "before", "after", "during", "since", "until", "timeline", "history"),
    "ENTITY": ("what is", "what are", "what's", "who is", "who's", "tell me about", "describe"),
}
_CHINESE: dict[Cued, tuple[str, ...]] = {
    "WHY": ("为什么", "為什麼", "原因", "理由", "为何", "為何"),
    "WHEN": ("什么时候", "什麼時候", "何时", "何時", "时间", "時間", "之前", "之后", "之後"),
    "ENTITY": ("是什么", "是什麼", "谁是", "誰是", "关于", "關於", "介绍", "介紹"),
}
"""The words of the specification, in simplified and in traditional characters."""

_KIND: dict[str, Cued] = {cue: kind for cues in (_ENGLISH, _CHINESE) for kind, words in cues.items() for cue in words}


def _whole_words(cue: str) -> str:
    """The left edge is looked at behind the first word: a pattern that begins with a letter is searched for faster."""
    first, *others = cue.split()
    return rf"{first}(?<![a-z0-9_]{first})" + "".join(rf"\s+{word}" for word in others) + "(?![a-z0-9_])"


_INTENT_CUES = regex(
    "|".join(
        [_whole_words(cue) for cues in _ENGLISH.values() for cue in cues]
        + [cue for cues in _CHINESE.values() for cue in cues]
    )
)
"""Latin cues are whole words, also beside Han characters; Chinese ones stand anywhere."""

READ = 2_000
"""Characters of a question that are looked at: what it asks stands in its first sentences, and a pasted log asks
nothing."""


def intent_of(question: str) -> Literal["WHY", "WHEN", "ENTITY", "GENERAL"]:
    """The kind with the most cues; of equal ones WHY before WHEN before ENTITY. GENERAL when there is no cue."""
    counts = cue_counts(question)
    most = max(counts.values())
    if not most:
        return "GENERAL"
    return next(kind for kind, count in counts.items() if count == most)


def cue_counts(question: str) -> dict[Cued, int]:
    """How many cues of each kind a question has, in the order that settles ties."""
    counts: dict[Cued, int] = {"WHY": 0, "WHEN": 0, "ENTITY": 0}
    for found in _INTENT_CUES.findall(fold(question[:READ]).replace("’", "'")):
        counts[_KIND[found] if found in _KIND else _KIND[" ".join(found.split())]] += 1
    return counts


# Which phrases of a fixed list stand in a text, found without looking for each of them.
#
# Every phrase is filed under one of its words. What a word may be part of is worked out when it is first met and then
# remembered, so a text costs one look-up a word and one search for each phrase that is likely to be there.


REMEMBERED_WORDS, LONGEST_REMEMBERED = 65_536, 64
"""Words of which it is remembered what they may be part of, and how many characters one may have: a few megabytes."""

_RUN = regex(r"[a-z0-9]+")
_NONE: frozenset[str] = frozenset()


class _Key(msgspec.Struct, frozen=True):
    """The word a phrase is filed under; a side where the phrase goes on is one where the word of a text must end."""

    word: str
    begins: bool
    ends: bool

    def may_be(self, word: str) -> bool:
        """Whether `word`, of a text, may be this one: "residue" may be the "due" of "due to", which begins with it."""
        if self.begins:
            return word.startswith(self.word) and (not self.ends or word == self.word)
        return word.endswith(self.word) if self.ends else self.word in word


class Phrases:
    """Phrases of folded text with single spaces. One without a Latin letter or digit stands in no ASCII text."""

    def __init__(self, phrases: Iterable[str]) -> None:
        keys = {phrase: _key(phrase) for phrase in phrases}
        self._others = tuple(phrase for phrase, key in keys.items() if key is None)
        self._parts = _Parts({phrase: key for phrase, key in keys.items() if key is not None})

    def found(self, plain: str, words: frozenset[str]) -> frozenset[str]:
        """Those that stand in `plain`, whose runs of a-z and 0-9 are `words`."""
        likely = _NONE.union(*map(self._parts.__getitem__, words), () if plain.isascii() else self._others)
        return frozenset([phrase for phrase in likely if phrase in plain]) if likely else _NONE

    def forget(self) -> None:
        """Let go of every remembered word."""
        self._parts.clear()


class _Parts(dict[str, frozenset[str]]):
    """From a word to the phrases it may be part of."""

    def __init__(self, keys: dict[str, _Key]) -> None:
        super().__init__()
        self._keys = keys
        parts = keys.values()
        self._beginnings = tuple({key.word for key in parts if key.begins})
        self._endings = tuple({key.word for key in parts if key.ends})
        self._inside = tuple({key.word for key in parts if not key.begins and not key.ends})

    def __missing__(self, word: str) -> frozenset[str]:
        found = self._phrases_of(word)
        if len(self) < REMEMBERED_WORDS and len(word) <= LONGEST_REMEMBERED:
            self[word] = found
        return found

    def _phrases_of(self, word: str) -> frozenset[str]:
        """Most words are of none, which has to be seen fast: every text brings a few that are new."""
        likely = word.startswith(self._beginnings) or word.endswith(self._endings)
        if likely or any(part in word for part in self._inside):
            return frozenset([phrase for phrase, key in self._keys.items() if key.may_be(word)])
        return _NONE


def _key(phrase: str) -> _Key | None:
    """The longest word of `phrase`, which is the rarest as a rule."""
    runs = list(_RUN.finditer(phrase))
    if not runs:
        return None
    run = max(runs, key=lambda each: len(each[0]))
    return _Key(run[0], begins=run.start() > 0, ends=run.end() < len(phrase))


# Words and phrases that say what kind of thing a text is, as data, and the one way to look for them.
#
# A word is found among the tokens of a text, a phrase anywhere in its plain form. That is faster than an alternation
# of regular expressions by an order of magnitude, and its time hardly depends on what the text says.


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


@text_cache(maxsize=REMEMBERED_FOLDS)
def reading(text: str) -> Reading:
    """`text` as `found` wants it. Linear time."""
    folded = fold(text)
    if not text.isascii():
        folded = folded.replace("’", "'")
    plain = " ".join(folded.split())
    words, phrases = token_set(text), _PHRASES.found(plain, latin_words(text))
    return Reading(plain, words, phrases, not phrases and plain.isascii() and _WORDS.isdisjoint(words))


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

_CUE_WORDS_CUES = (DECISION, PREFERENCE, ERROR, FIX, WORKS, PRAISE, CORRECTION, REALISED, FAILED)
_WORDS = frozenset[str]().union(*(cue.words for cue in _CUE_WORDS_CUES))
_PHRASES = Phrases(phrase for cue in _CUE_WORDS_CUES for phrase in (*cue.phrases, *cue.unless))
register(_PHRASES.forget)


# Words by which a memory says that it is the effect, or the cause, of something else (spec 6.4).
#
# Most cues speak for themselves. The others are looked at again in their place: "blocks" is a noun in "two blocks are
# missing", and "since" tells a time in "since 2019". What stays undecided is no cue, because an edge that is missing
# can be suggested later while a wrong one misleads every search that walks along it.


Role = Literal["effect", "cause"]
SubType = Literal["causes", "enables", "prevents"]
Direction = Literal["new_to_previous", "previous_to_new"]


class CausalCue(msgspec.Struct, frozen=True):
    """What one text says about cause and effect."""

    role: Role
    """The part that the memory with the cue plays."""
    sub_type: SubType
    signal: str
    """The cue as it was found, folded, with single spaces."""


_EFFECT = (
    r"because|since|(?:due|owing|thanks)\s+to|(?:caused|prevented|blocked|enabled)\s+by|as\s+a\s+result(?:\s+of)?"
    r"|therefore|thus|hence|consequently|so\s+that|in\s+order\s+to|decided\s+to"
)
_CAUSE = (
    r"(?:leads?|led|leading)\s+to|result(?:s|ed|ing)?\s+in|caus(?:es|ed|ing)|enables|ensures|mean[st]\s+that"
    r"|prevent(?:s|ed|ing)?|block(?:s|ed)"
)
_SUB_TYPE_ONLY = r"despite|block(?:ing)?|enabl(?:e|ed|ing)"
_CHINESE_EFFECT = "因[为為]|由[于於]|所以(?!然)|因此|[为為]了|以便|[决決]定(?!性)"
_CHINESE_CAUSE = "[导導]致|阻止|防止"

_CUE = regex(
    rf"\b(?:(?P<effect>{_EFFECT})|(?P<cause>{_CAUSE})|(?P<other>{_SUB_TYPE_ONLY}))\b(?!['’-])"
    rf"|(?P<chinese_effect>{_CHINESE_EFFECT})|(?P<chinese_cause>{_CHINESE_CAUSE})"
)
_TELLING = words_of(
    "because since due owing thanks caused prevented blocked enabled result therefore thus hence consequently order",
    "decided lead leads led leading results resulted resulting causes causing enables ensures means meant",
    "prevent prevents preventing blocks",
)
_SO_THAT = words_of("so that")
_TELLING_CHINESE = regex("[因由所为為以决決导導阻防]")
"""Every cue that has a role has one of these words, both of the next, or one of these characters."""

_PREVENTS = regex(r"prevent|block|despite|阻止|防止")
_ENABLES = regex(r"enabl|so that|in order to|lead|led|[为為]了|以便")

_SEEN_AROUND = 48
"""Characters on either side that decide about an ambiguous cue: a clause of ordinary length."""

_DETERMINER_BEFORE = regex(r"\b(?:the|these|those|all|any|some|no|of|our|my|their|your|its|both|new|which)\s+$")
_OBJECT_AFTER = regex(
    r"\s+(?!(?:are|is|were|was|be|been|in|on|at|of|to|from|for|with|and|or|but|by|that|which|when|while|if|as|have|has"
    r"|had|should|must|can|could|will|would|may|might|do|does|did|not|into|per|during|after|before|than|until|since"
    r"|without|because|so|where|who)\b)[\w\"'`/.$<(-]"
)
_SUBJECT_BEFORE = regex(r"(?:^|\b(?:the|an?|this|our|my|your|their|its|that|which|it|who)\s+)(?:[\w-]+\s+){0,2}$")
_NOUN_BEFORE = regex(r"\b(?:\w+(?:ed|able)|many|few|more|most|missing|old|empty|valid|invalid|\d+)\s+$")
_OBJECT_STARTS = regex(
    r"\s+(?:the|an?|this|that|these|those|all|any|every|us|it|me|him|her|them|you|our|my|your|its|their|his|\w+ing)\b"
)
_GRATITUDE_BEFORE = regex(r"\b(?:many|special|big|huge|major|thanks|lots\s+of|give|and)\s+$")
_GRATITUDE_AFTER = regex(r"\s+(?:everyone|everybody|all\s+who|(?:\w+\s+){1,3}(?:for|who)\b)")
_SPAN_BEFORE = regex(
    r"\b(?:ever|long|been|while|time|times|seconds?|minutes?|hours?|days?|weeks?|months?|years?|ages)\b[\s,:]*(?:now\s+)?$"
    r"|(?:\b(?:have|has|had|haven't|hasn't|hadn't)\b|'ve\b|'s\s+\w+(?:ed|en)\b)[^.!?;,\n]*$"
)
_PERSON_AFTER = regex(
    r"\s+(?:i|we|you|he|she|it|they|there|this|that|nobody|everyone|everything)\b"
    r"(?!\s+(?:last|talked|spoke|met|chatted)\b)"
)
_LIFE_AFTER = regex(r"\s+(?:i|we|you|he|she|they)\s+(?:was|were)\s+(?:\d|an?\b|little|young|born|kids|children)")
_VERB_AFTER = regex(
    r"\s+(?!(?:last|early|late|then|yesterday|today|version|v?\d|\w+ing)\b)(?:\w[\w'/-]*(?:\.\w+)?\s+){1,4}?"
    r"(?:is|are|was|were|has|have|had|does|do|did|can|can't|cannot|could|will|won't|would|should|must|may|might"
    r"|isn't|aren't|doesn't|don't|didn't|wasn't|needs?|lacks?|uses?|makes?|supports?|requires?|wants?|allows?|works?"
    r"|provides?|returns?|gives?|takes?|contains?|comes?|goes|runs?|keeps?|depends?|fails?|failed|expects?|knows?)\b"
)
_SUBJECT_AND_VERB_AFTER = regex(
    r"\s+(?:the|an?|our|my|your|its|this|that|each|every)\s+(?:\w+\s+)?\w+(?<!s)\s+\w{2,}(?<!s)s\s+"
    r"(?!(?:of|in|at|on|and|or|for|to|from|with|by)\b)\w"
)


def causal_cue(text: str) -> CausalCue | None:
    """What `text` says about cause and effect; None when it says nothing.

    When cues of both roles occur, the first in the text decides the role and is the signal: a sentence opens with
    what it is about. The sub-type is the strongest of all cues, prevents before enables before causes; "despite" and
    other forms of block and enable count for it without being a cue themselves.
    """
    folded = fold(text)
    if not _may_have_one(text, folded):
        return None
    first: tuple[Role, str] | None = None
    sub_type: SubType = "causes"
    for role, signal in _cues(folded):
        if first is None and role is not None:
            first = role, signal
        sub_type = _stronger(sub_type, signal)
    return None if first is None else CausalCue(role=first[0], sub_type=sub_type, signal=first[1])


def direction(new: CausalCue | None, previous: CausalCue | None) -> Direction | None:
    """Which of two memories causes the other: the cue of the new one decides, else that of the previous one."""
    if new is not None:
        return "previous_to_new" if new.role == "effect" else "new_to_previous"
    if previous is not None:
        return "new_to_previous" if previous.role == "effect" else "previous_to_new"
    return None


def deciding(new: CausalCue | None, previous: CausalCue | None) -> CausalCue | None:
    """The cue that `direction` goes by, whose sub-type and signal belong to the edge."""
    return new if new is not None else previous


def _may_have_one(text: str, folded: str) -> bool:
    """Whether `text` has a word that no cue goes without: of five texts four have none."""
    words = latin_words(text)
    if not _TELLING.isdisjoint(words) or words >= _SO_THAT:
        return True
    return not folded.isascii() and _TELLING_CHINESE.search(folded) is not None


def _cues(folded: str) -> Iterator[tuple[Role | None, str]]:
    for found in _CUE.finditer(folded):
        signal = " ".join(found[0].split())
        if _is_meant(signal, folded, found.start(), found.end()):
            role = (found.lastgroup or "").removeprefix("chinese_")
            yield ("effect" if role == "effect" else "cause" if role == "cause" else None), signal


def _is_meant(signal: str, folded: str, start: int, end: int) -> bool:
    """Whether a cue that may also be a noun, an adjective or a time is one here."""
    before, after = folded[max(0, start - _SEEN_AROUND) : start], folded[end : end + _SEEN_AROUND]
    match signal:
        case "since":
            return _opens_reason(before, after)
        case "blocks":
            return _is_verb(before, after) and (
                _OBJECT_STARTS.match(after) is not None or _SUBJECT_BEFORE.search(before) is not None
            )
        case "causes":
            return _is_verb(before, after)
        case "blocked" | "block" | "blocking":
            return _OBJECT_STARTS.match(after) is not None
        case "results in" | "result in" | "leads to" | "lead to":
            return _DETERMINER_BEFORE.search(before) is None
        case "thanks to":
            return _GRATITUDE_BEFORE.search(before) is None and _GRATITUDE_AFTER.match(after) is None
        case "so that":
            return not after.startswith((" is ", " was ", " means ", " makes "))
        case "enabled by":
            return not after.startswith(" default")
        case _:
            return True


def _is_verb(before: str, after: str) -> bool:
    """Whether "blocks" or "causes" has something before it that can do so, and something after it to be done to."""
    is_noun = _DETERMINER_BEFORE.search(before) or _NOUN_BEFORE.search(before)
    return is_noun is None and _OBJECT_AFTER.match(after) is not None


def _opens_reason(before: str, after: str) -> bool:
    """Whether "since" starts a clause that gives a reason rather than telling from when."""
    if _SPAN_BEFORE.search(before) or _LIFE_AFTER.match(after):
        return False
    return any(shape.match(after) for shape in (_PERSON_AFTER, _VERB_AFTER, _SUBJECT_AND_VERB_AFTER))


def _stronger(known: SubType, signal: str) -> SubType:
    if known == "prevents" or _PREVENTS.match(signal):
        return "prevents"
    return "enables" if _ENABLES.match(signal) else known
