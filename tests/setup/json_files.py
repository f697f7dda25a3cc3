"""JSON as people and programs write it: any layout, line break and, where they are allowed, comments."""

from __future__ import annotations

import json

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from mnemonctl.setup.json_edit import Dialect

JSONC = Dialect(comments=True, trailing_commas=True)

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**20), 10**20), st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8), st.sampled_from(["http://x/*y*/", "//", '"', "\\", "é", "\u2028", "mnemond", "/home/u/hook"]),
)  # fmt: skip
NAMES = st.one_of(st.text(max_size=6), st.sampled_from(["hooks", "Stop", "SessionStart", "mcpServers", "//", "a b"]))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=5)


@st.composite
def written(draw: DrawFn, value: object, dialect: Dialect, newline: str = "\n") -> str:
    """The value in one of its many spellings."""
    gaps = ["", " ", "  ", "\t", newline, f"{newline}  ", f"{newline}{newline}\t"]
    if dialect.comments:
        gaps += [f" // note, {{[{newline}", "/* a */", f" /* b{newline} */ ", f'// "x": 1,{newline}    ']
    gap = st.sampled_from(gaps)

    def write(node: object) -> str:
        if isinstance(node, dict):
            names = [json.dumps(name, ensure_ascii=draw(st.booleans())) for name in node]
            items = [
                f"{name}{draw(gap)}:{draw(gap)}{write(each)}" for name, each in zip(names, node.values(), strict=True)
            ]
            return f"{{{between(items)}}}"
        if isinstance(node, list):
            return f"[{between([write(each) for each in node])}]"
        return json.dumps(node, ensure_ascii=draw(st.booleans()))

    def between(items: list[str]) -> str:
        said = ",".join(f"{draw(gap)}{item}{draw(gap)}" for item in items)
        if items and dialect.trailing_commas and draw(st.booleans()):
            said += f",{draw(gap)}"
        return said or draw(gap)

    return f"{draw(gap)}{write(value)}{draw(gap)}"


@st.composite
def laid_out(draw: DrawFn, value: object) -> str:
    """As programs write it: one indentation throughout, or one line."""
    indent = draw(st.sampled_from([None, 1, 2, 3, 4, 8, "\t", " \t"]))
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (",", ": ")])) if indent is None else (",", ": ")
    text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=draw(st.booleans()))
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"]))) + draw(st.sampled_from(["", "\n", "\r\n", " "]))
