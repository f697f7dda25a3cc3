"""Whether a text says anything worth keeping, judged by rules alone (spec 6.8, S2)."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from mnemond.text.cue_words import DECISION, ERROR, FIX, PREFERENCE, WORKS, Reading, found, reading
from mnemond.text.tokens import tokens

MIN_CONFIDENCE = 0.7
"""How sure of a discard one must be. It is confidence in discarding, so a score up to 0.30 goes (spec 6.8)."""

# Hundredths, so that sums are exact (spec 6.8).
BASE, CAUSAL, PREFERRED, REPAIR, REFERENCE, LONG = 50, 25, 20, 20, 15, 10
GREETING, SHORT, QUESTION = 50, 25, 20

LONG_TOKENS, SHORT_TOKENS, GREETING_TOKENS = 8, 3, 4
"""Content tokens from which a text is long, below which it is short, and up to which it can be a mere greeting."""

GREETING_PAIRS = 10
"""The last of these for a text that is not all ASCII: pairs of characters overlap, two or more to a word."""

COURTESIES = (
    "ok okay okey k kk yes yeah yep yup nope sure fine good great cool nice perfect awesome excellent wonderful",
    "lovely thanks thank thx ty cheers please welcome sorry hello hi hey morning afternoon evening night bye",
    "goodbye see later got understood noted right alright exactly agreed correct done well wow haha lol hmm hm",
    "oh ah sounds makes sense absolutely definitely indeed again everyone guys much lot day amazing lgtm sgtm",
    "np don't worry never mind understand understood help helping time appreciate appreciated gotcha roger",
    "continue go ahead 好 好的 好吧 好啊 好呀 嗯 嗯嗯 哦 哦哦 行 行吧 可以 对 对的 是 是的 是啊 没错 当然 谢谢",
    "谢谢你 谢谢您 多谢 感谢 非常感谢 你好 您好 大家好 早 早安 早上好 上午好 下午好 晚上好 晚安 再见 拜拜 回见",
    "收到 明白 明白了 了解 知道了 我知道了 懂了 没事 没问题 不客气 不用谢 辛苦了 抱歉 对不起 不好意思 哈哈",
    "哈哈哈 太好了 太棒了 真棒 很好 不错 赞 厉害 加油 好了 完成 谢谢你的帮助 感谢您的帮助 继续 请继续 继续吧",
)
"""What people say without saying anything."""

COURTESY_TOKENS = frozenset(token for line in COURTESIES for word in line.split() for token in tokens(word))

_STATEMENT = re.compile(r"[.!…;]\s|[。！；]|[^?？\s][^\S\n]*\n")


class Substance(msgspec.Struct, frozen=True):
    """The score, 0…1 in steps of 0.05, and what follows from it."""

    score: float
    decision: Literal["keep", "discard"]


def substance(text: str, *, has_reference: bool, causal: bool, min_confidence: float = MIN_CONFIDENCE) -> Substance:
    """Judge `text` by the table of spec 6.8; discard when 1 - score reaches `min_confidence` (0…1).

    `has_reference`: it names an entity, a number or a date. `causal`: a causal cue was found in it.
    """
    read = reading(text)
    points = BASE + _gains(read, has_reference=has_reference, causal=causal) - _losses(text, read)
    score = max(0, min(100, points)) / 100
    return Substance(score, "discard" if round(1 - score, 9) >= min_confidence else "keep")


def only_questions(text: str) -> bool:
    """Whether every sentence of `text` asks: it ends in a question mark, and no sentence before ends otherwise."""
    asked = text.rstrip().rstrip("\"'”’)）」』").rstrip()
    return asked.endswith(("?", "？")) and _STATEMENT.search(asked) is None


def _gains(read: Reading, *, has_reference: bool, causal: bool) -> int:
    return (
        CAUSAL * (causal or found(DECISION, read))
        + PREFERRED * found(PREFERENCE, read)
        + REPAIR * (found(ERROR, read) or found(FIX, read) or found(WORKS, read))
        + REFERENCE * has_reference
        + LONG * (len(read.words) >= LONG_TOKENS)
    )


def _losses(text: str, read: Reading) -> int:
    size = len(read.words)
    most = GREETING_TOKENS if read.plain.isascii() else GREETING_PAIRS
    greeting = size <= most and read.words <= COURTESY_TOKENS
    return GREETING * greeting + SHORT * (size < SHORT_TOKENS) + QUESTION * only_questions(text)
