"""Pictures for tests, one of them of a store whose every text tries to be more than text."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from mnemond.model.graph import Graph, GraphCommunity, GraphEdge, GraphNode
from mnemond.model.relations import StatedRelation
from tests.cli.test_terminal import PAYLOADS

AT = "2026-02-01T10:00:00.000000Z"

HOSTILE = (
    "<script>window.ran = 1; console.error('ran')</script>",
    "</script><script>window.ran = 1</script>",
    "</SCRIPT ><img src=x onerror=window.ran=1>",
    "<!-- --><!--<script>",
    "]]><script>window.ran = 1</script>",
    "</noscript><script>window.ran = 1</script><noscript>",
    "</style><script>window.ran = 1</script>",
    "</title><script>window.ran = 1</script>",
    "</svg></path><script>window.ran = 1</script>",
    "<svg/onload=window.ran=1>",
    '"><img src="http://evil.example/x.png" onerror="window.ran=1">',
    "' autofocus onfocus=window.ran=1 x='",
    '<iframe src="javascript:parent.ran=1"></iframe>',
    "<a href=javascript:window.ran=1>click</a> http://evil.example/ javascript:alert(1)",
    "<base href=http://evil.example/><link rel=stylesheet href=//evil.example/x.css>",
    "<meta http-equiv=refresh content='0;url=http://evil.example/'>",
    "<form action=http://evil.example><button autofocus>x</button></form>",
    "{{constructor.constructor('window.ran=1')()}} ${window.ran=1} `${window.ran=1}`",
    "\\u003cscript>window.ran=1</script> \\\" \\' \\\\",
    "$policy $data $script ${title} $$ $&",
    "url(http://evil.example/x) ; } body { background: red } @import '//evil.example/x.css';",
    "__proto__",
    "constructor",
    "toString",
    "data:text/html,<script>window.ran=1</script>",
    "\ufeff<?xml version='1.0'?><!DOCTYPE x [<!ENTITY y SYSTEM 'file:///etc/passwd'>]>&y;",
    '"]; evil [label=<<b>x</b>>, URL="http://evil.example"]; //',
    '\\N \\G \\" \\',
    "x" * 8_000,
    "\n\n\t ",
    "🧨" * 200,
    *(text for text in PAYLOADS.values() if text != "\ud800"),
)  # fmt: skip
"""Texts that could get out of an element, an attribute, a string, a template or a line."""


def hostile() -> Graph:
    """A picture with each of them as the text, the tag, the names and the project of a memory, and in a relation."""
    ids = [f"{at:08x}-0000-4000-8000-00000000000b" for at in range(len(HOSTILE))]
    return graph(
        [
            node(
                each, text, at=at, tags=(text[:100],), entities=(text[:200], f"{text[:90]}!"), project=text[:50],
                community=1 + at % 13,
            )
            for at, (each, text) in enumerate(zip(ids, HOSTILE, strict=True))
        ],
        edges=[GraphEdge(one, other, ["causal", "entity"], 0.5) for one, other in pairwise(ids)],
        communities=[GraphCommunity(1 + at, 3) for at in range(13)],
        relations=[StatedRelation(text[:200], text[:100], text[:200], ids[0]) for text in HOSTILE],
    )  # fmt: skip


def node(insight_id: str, content: str, *, at: int = 0, community: int | None = None, **more: Any) -> GraphNode:
    """A memory."""
    fields: dict[str, Any] = {"tags": (), "entities": (), "project": None, **more}
    return GraphNode(
        id=insight_id, content=content, category=("fact", "decision", "general")[at % 3], importance=1 + at % 5,
        community=community, created_at=f"2026-02-{1 + at % 28:02d}T10:00:00.000000Z", event_start=None, event_end=None,
        pinned=False, degree=2, **fields,
    )  # fmt: skip


def graph(nodes: list[GraphNode], **more: Any) -> Graph:
    """A picture of these memories."""
    fields: dict[str, Any] = {"edges": [], "communities": [], "relations": [], **more}
    return Graph(
        store="default", generated_at=AT, redacted=False, total=len(nodes), limit=5_000,
        total_edges=len(fields["edges"]), cut_at=None, nodes=nodes, **fields,
    )  # fmt: skip


PARTS = ("mast", "keel", "rudder", "hull", "anchor", "sail", "deck")


def town(memories: int) -> Graph:
    """A picture of notes that are linked to the next one and to one far away."""
    ids = [f"{at:08x}-0000-4000-8000-00000000000a" for at in range(memories)]
    nodes = [
        node(
            each,
            f"Note {at} about the {PARTS[at % 7]}",
            at=at,
            community=1 + at % 3,
            entities=(PARTS[at % 7],),
            tags=("t",),
        )
        for at, each in enumerate(ids)
    ]
    edges = [GraphEdge(ids[at], ids[at + 1], ["temporal"], 1.0) for at in range(memories - 1)]
    edges += [GraphEdge(ids[at], ids[at // 2], ["causal"], 0.5) for at in range(3, memories)]
    groups = [GraphCommunity(number, memories // 3) for number in (1, 2, 3)]
    return graph(nodes, edges=edges, communities=groups, relations=[StatedRelation("Ana", "owns", "mast", ids[0])])
