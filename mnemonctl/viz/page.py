"""The page of a picture: one HTML file that asks for nothing, places its nodes itself and shows texts as texts.

What a memory says reaches the page as JSON in an element that is not run, and the screen through textContent and
fillText alone. A policy in the head admits the one script and the one style sheet by their hashes and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import html
from importlib import resources
from string import Template
from typing import Final

import msgspec

from mnemond.cli.output import escape_json
from mnemond.model.graph import MADE_BY, Graph
from mnemond.model.memory import CATEGORIES, EDGE_TYPES

ESCAPED: Final = {ord(each): f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"}
"""Characters of JSON that could end the element that it is in, or a line of it."""


def render_page(graph: Graph) -> str:
    """Return the file."""
    texts = {name: resources.files(__package__).joinpath(f"page.{name}").read_text("utf-8") for name in ("js", "css")}
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src '{_hash(texts['js'])}'",
            f"style-src '{_hash(texts['css'])}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    page = resources.files(__package__).joinpath("page.html").read_text("utf-8")
    return Template(page).substitute(
        policy=policy,
        generator=MADE_BY,
        title=html.escape(f"Memories of store “{graph.store}”"),
        description=html.escape(described(graph)),
        style=texts["css"],
        data=as_json(graph),
        script=texts["js"],
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def described(graph: Graph) -> str:
    """Return a sentence about what is in the picture and what is left out."""
    parts = [f"{len(graph.nodes):,} of {graph.total:,} memories, {len(graph.edges):,} of {graph.total_edges:,} links"]
    if graph.redacted:
        parts.append("texts replaced by ids")
    if graph.cut_at is not None:
        parts.append(f"texts cut at {graph.cut_at:,} characters")
    return f"{', '.join(parts)}; {graph.generated_at[:16].replace('T', ' ')} UTC"


def as_json(graph: Graph) -> str:
    """Return the data of the script: names once, nodes and links as lists, in the order that the script reads. It is
    harmless to a terminal, too."""
    place = {it.id: at for at, it in enumerate(graph.nodes)}
    names = list(dict.fromkeys(each for it in graph.nodes for each in it.entities))
    number = {each: at for at, each in enumerate(names)}
    bit = {kind: 1 << at for at, kind in enumerate(EDGE_TYPES)}
    used = {it.category for it in graph.nodes}
    document = {
        "types": EDGE_TYPES,
        "categories": [each for each in CATEGORIES if each in used],
        "entities": names,
        "nodes": [
            [
                it.id, it.content, it.category, it.importance, it.community or 0, it.tags,
                [number[each] for each in it.entities], it.project, it.created_at, it.event_start, it.event_end,
                it.pinned, it.degree,
            ]
            for it in graph.nodes
        ],
        "edges": [
            [place[it.source], place[it.target], sum(bit[each] for each in it.types), round(it.weight, 3)]
            for it in graph.edges
        ],
        "communities": [[it.number, it.memories] for it in graph.communities],
        "relations": [
            [place[it.memory_id], it.source, it.type, it.target] for it in graph.relations if it.memory_id in place
        ],
    }  # fmt: skip
    return escape_json(msgspec.json.encode(document).decode()).translate(ESCAPED)
