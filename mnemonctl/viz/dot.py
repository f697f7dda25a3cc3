"""The picture in the language of Graphviz. Everything is a quoted string, nothing HTML."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mnemonctl.viz.page import described
from mnemond.model.graph import MADE_BY, Graph, GraphEdge, GraphNode

LABEL: Final = 60
"""Characters of a memory on its node."""


def render_dot(graph: Graph) -> str:
    """Return the file."""
    return "\n".join(_lines(graph)) + "\n"


def _lines(graph: Graph) -> Iterator[str]:
    yield f"// {MADE_BY}: {described(graph)}"
    yield f"digraph {quoted(graph.store)} {{"
    yield '  node [shape=box, style=rounded, fontname="sans-serif"];'
    for node in graph.nodes:
        yield f"  {_node(node)};"
    for edge in graph.edges:
        yield f"  {_edge(edge)};"
    yield "}"


def _node(it: GraphNode) -> str:
    words = " ".join(it.content.split())
    label = words if len(words) <= LABEL else f"{words[: LABEL - 1]}…"
    community = "" if it.community is None else f", community={quoted(str(it.community))}"
    return (
        f"{quoted(it.id)} [label={quoted(label)}, category={quoted(it.category)},"
        f" importance={quoted(str(it.importance))}{community}]"
    )


def _edge(it: GraphEdge) -> str:
    way = "" if "causal" in it.types else ", dir=none"
    types = quoted(", ".join(it.types))
    return f"{quoted(it.source)} -> {quoted(it.target)} [type={types}, weight={quoted(f'{it.weight:g}')}{way}]"


def quoted(text: str) -> str:
    """Return a string of dot. A backslash would begin an escape such as \\N, the name of the node, so it is doubled;
    control characters become spaces, as NUL ends a file for Graphviz."""
    shown = "".join(each if each.isprintable() else " " for each in text)
    return '"' + shown.replace("\\", "\\\\").replace('"', '\\"') + '"'
