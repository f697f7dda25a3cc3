"""The first clause of a text: what it is about, short enough for a label or a question (spec 6.9, 6.10)."""

from __future__ import annotations

import re

LONGEST_CLAUSE = 120
"""Characters of a first clause (spec 6.9)."""

LOOKED_AT = 400
"""Characters of a text in which its first clause is looked for."""

_LABEL = re.compile(
    r"(?:[-*+•#>\s]|\[[ xX]\]|\*\*|(?:user|assistant|note|problem|bug|issue|error|symptom|learned|learning|lesson|til|"
    r"pitfall|gotcha|warning|tip|fix|fixed|solution|用户|助手|问题|错误|现象|教训|经验|学到|注意|踩坑|坑|解决)"
    r"(?:\*\*)?\s{0,3}[:：])+\s*",
    re.IGNORECASE,
)
_END = re.compile(
    r"[.!?;。！？；\n ,，](?:"  # one set of characters first: the search skips to them
    r"(?<=[;。！？；\n])"
    r"|(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?=[\s\"'”’)]|\Z)"
    r"|(?<= )(?:[-–—]{1,2}|→|->|=>)\s"
    r"|(?<=[,，])\s{0,3}(?:(?:and|but|so|fixed|fix|solved|resolved|which|because|since|the fix|workaround|instead|"
    r"until|now)\b|解决|修复|修好|通过|所以|因此|但|后来|原因|改用|改成|于是|因为|最后))",
    re.IGNORECASE,
)


def first_clause(text: str, longest: int = LONGEST_CLAUSE) -> str:
    """The first clause of `text`, on one line, without list marks, labels and closing punctuation; "" if there is none.

    At most `longest` characters, cut between words where there are any, the last one then an ellipsis.
    """
    start = text[:LOOKED_AT].strip()
    labels = _LABEL.match(start)
    body = start[labels.end() :] if labels else start
    end = _END.search(body)
    clause = body[: end.start()] if end and end.start() else body
    return shortened(" ".join(clause.split()).strip(" \"'“”‘’`*_()（）「」.,;:!?。，；：！？"), longest)


def shortened(line: str, longest: int = LONGEST_CLAUSE) -> str:
    """`line` if it fits into `longest` characters (1 or more), else its beginning and an ellipsis."""
    if len(line) <= longest:
        return line
    space = line.rfind(" ", longest // 2, longest)
    return line[: space if space > 0 else longest - 1].rstrip(" ,;:，；：") + "…"
