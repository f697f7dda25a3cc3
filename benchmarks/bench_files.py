"""Benchmark files: one JSON object a line (meta, store, memory, query, pair), and the requests made from them.

Every store's memories become one fresh store of the daemon; a memory is sent with what the product has of a
conversation: speaker, conversation, time.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from benchmarks.wire import Json

LONGEST_CONTENT = 8000
"""Characters the product accepts; longer memories are cut there."""

LIMIT = 100
"""Results requested; the scorer uses no more."""


@dataclass
class BenchFile:
    """One file: its name, memories by store in the order they are to be inserted, and queries by store."""

    name: str
    path: Path
    memories: dict[str, list[Json]] = field(default_factory=lambda: defaultdict(list))
    queries: dict[str, list[Json]] = field(default_factory=lambda: defaultdict(list))

    @property
    def query_count(self) -> int:
        """Queries in all stores."""
        return sum(map(len, self.queries.values()))


def load(path: Path) -> BenchFile:
    """Read one file; stores without queries keep their memories."""
    bench = BenchFile(path.stem, path)
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            entry = json.loads(line)
            if entry["type"] == "memory":
                bench.memories[entry["store"]].append(entry)
            elif entry["type"] == "query":
                bench.queries[entry["store"]].append(entry)
    for memories in bench.memories.values():
        memories.sort(key=lambda memory: int(memory["seq"]))
    return bench


def remember_params(memory: Json, store: str) -> Json:
    """Return the parameters for a memory."""
    content = memory["content"]
    if memory.get("caption"):
        content += f" [image: {memory['caption']}]"
    speaker = memory.get("speaker")
    params: Json = {
        "content": content[:LONGEST_CONTENT],
        "source": speaker or memory.get("role") or "user",
        "entities": [speaker] if speaker else [],
        "no_diff": True,
        "store": store,
    }
    if memory.get("ts"):
        params["created_at"] = memory["ts"]
    if memory.get("session"):
        params["conversation_id"] = memory["session"]
    return params


def recall_params(query: Json, store: str) -> Json:
    """Return the parameters for a query: its words and its time, never the known answer."""
    params: Json = {"query": query["text"], "limit": LIMIT, "touch": False, "store": store}
    if query.get("ref_time"):
        params["now"] = query["ref_time"]
    return params


def run_line(query: Json, result: Json, bench_ids: dict[str, str]) -> str:
    """One line of a run: the ids of the file, best first, with their scores."""
    hits = result["results"]
    return ranked_line(query, [bench_ids[hit["insight"]["id"]] for hit in hits], [hit["score"] for hit in hits])


def ranked_line(query: Json, ranked: Sequence[str], scores: Sequence[float]) -> str:
    """Return the same for ids of the file."""
    return json.dumps({"store": query["store"], "query": query["id"], "ranked": list(ranked), "scores": list(scores)})


class HasSplit(Protocol):
    """A line of benchmarks/data, which names the half that it belongs to."""

    @property
    def split(self) -> str:
        """ "tune" or "report"."""
        ...


Line = TypeVar("Line", bound=HasSplit)


def lines_of(path: Path, kind: type[Line], split: str | None) -> list[Line]:
    """Read a set of sentences, one half of it or all.

    Raises msgspec.ValidationError for a line that is no `kind`, OSError.
    """
    decoder = msgspec.json.Decoder(kind)
    found = [decoder.decode(line) for line in path.read_bytes().splitlines() if line.strip()]
    return [each for each in found if split in (None, each.split)]
