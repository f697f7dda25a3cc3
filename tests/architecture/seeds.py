"""Every forbidden import, as a change to the tree and the contracts it must break.

The layers and doors are written out here a second time, on purpose: a contract that was weakened in pyproject.toml
must fail against this list.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, permutations
from typing import NamedTuple

LAYERS = (
    ("__main__",),
    ("process",),
    ("app",),
    ("handlers",),
    ("lifecycle", "interchange"),
    ("pipelines",),
    ("extract", "graph", "rank", "embed", "store"),
    ("index", "outbound"),
    ("text",),
    ("model",),
    ("commands", "server", "service"),
    ("protocol",),
    ("config", "errors", "clock", "ids", "logs"),
)
SINGLE_MODULES = ("__main__", "process", "app", "config", "errors", "clock", "ids", "logs")
PACKAGES = tuple(name for layer in LAYERS for name in layer if name not in SINGLE_MODULES)
MEMORY = (
    "lifecycle",
    "interchange",
    "pipelines",
    "extract",
    "graph",
    "rank",
    "embed",
    "store",
    "index",
    "text",
    "model",
)
PURE = ("model", "text", "index", "graph", "rank", "extract", "protocol")
EDGE_BUILDERS = ("temporal", "entity", "causal", "semantic")
IMPURE = {
    "trio": set(),
    "structlog": set(),
    "os": set(),
    "apsw": {"sqlite-door"},
    "httpx": {"network-door"},
    "time": {"clock-door"},
    "random": {"chance-door"},
}  # type: dict[str, set[str]]
LIBRARIES = ("mnemond", "argparse", "json", "msgspec", "os", "pathlib", "re", "socket", "subprocess", "time", "typing")
TARGET = "seeded_target"


class Seed(NamedTuple):
    """`line` appended to `file` (made if missing) must break exactly the contracts in `breaks`."""

    file: str
    line: str
    breaks: frozenset[str]

    @property
    def name(self) -> str:
        """What a test report calls it."""
        return f"{self.file}: {self.line}"


def _seed(importer: str, imported: str, *breaks: str) -> Seed:
    """An import of `imported`, anywhere in the module or package `importer` of mnemond."""
    file = f"mnemond/{importer}.py" if importer in SINGLE_MODULES else f"mnemond/{importer}/seeded.py"
    return Seed(file, f"import {imported}", frozenset(breaks))


def _inside(name: str) -> str:
    """Something to import from a layer: an empty module of a package, so that no further import hides behind it."""
    return f"mnemond.{name}" if name in SINGLE_MODULES else f"mnemond.{name}.{TARGET}"


def _doors_of(name: str) -> tuple[str, ...]:
    """The doors that an import of this layer from anywhere below it breaks as well."""
    doors = {
        "protocol": ("wire-door",),
        "server": ("edge-door",),
        "commands": ("edge-door",),
        "service": ("edge-door",),
    }
    return doors.get(name, ())


def _layer_seeds() -> Iterator[Seed]:
    for upper, lower in pairwise(LAYERS):
        for importer in lower:
            yield from (_seed(importer, _inside(name), "layers", *_doors_of(name)) for name in upper)
    for layer in LAYERS[:-1]:
        for importer, imported in permutations(layer, 2):
            yield _seed(importer, _inside(imported), "layers", *_doors_of(imported))
    yield Seed("mnemond/newcomer.py", "import sys", frozenset({"layers"}))


def _wire_seeds() -> Iterator[Seed]:
    for importer in MEMORY:
        yield _seed(importer, _inside("protocol"), "wire-door")
        yield _seed(importer, _inside("server"), "edge-door")
        yield _seed(importer, _inside("commands"), "edge-door")
        yield _seed(importer, _inside("service"), "edge-door")


def _outside_seeds() -> Iterator[Seed]:
    for importer in ("app", "store", "server"):
        yield _seed(importer, "apsw", "sqlite-door")
        yield _seed(importer, "sqlite3", "sqlite-door")
        yield _seed(importer, "httpx", "network-door")
        yield _seed(importer, "urllib.request", "network-door")
        yield _seed(importer, "time", "clock-door")
        yield from (_seed(importer, name, "chance-door") for name in ("random", "secrets", "uuid"))
    for name, door in {"apsw": "sqlite-door", "httpx": "network-door"}.items():
        yield Seed("mnemonctl/seeded.py", f"import {name}", frozenset({door}))


def _pure_seeds() -> Iterator[Seed]:
    for importer in PURE:
        yield from (_seed(importer, name, "pure-rules", *doors) for name, doors in IMPURE.items())
        yield _seed(importer, "mnemond.clock", "pure-rules")


def _builder_seeds() -> Iterator[Seed]:
    for importer, imported in permutations(EDGE_BUILDERS, 2):
        yield Seed(f"mnemond/graph/{importer}.py", f"import mnemond.graph.{imported}", frozenset({"edge-builders"}))


def _client_seeds() -> Iterator[Seed]:
    for importer in (*SINGLE_MODULES, *PACKAGES):
        yield _seed(importer, f"mnemonctl.{TARGET}", "client-door")
    for name in LIBRARIES:
        yield Seed("mnemonctl/fast.py", f"import {name}", frozenset({"fast-path"}))


def _allowed() -> Iterator[Seed]:
    """What must stay possible: a door that nobody can pass is no door."""
    yield _seed("handlers", _inside("protocol"))
    yield _seed("app", _inside("server"))
    yield _seed("handlers", _inside("pipelines"))
    yield _seed("outbound", "httpx")
    yield Seed("mnemond/store/connection.py", "import apsw", frozenset())
    yield _seed("clock", "time")
    yield from (_seed("ids", name) for name in ("random", "secrets", "uuid"))
    yield Seed("mnemonctl/fast.py", "import _socket", frozenset())
    yield Seed("mnemonctl/seeded.py", "import mnemond.protocol.version", frozenset())


FORBIDDEN = (*_layer_seeds(), *_wire_seeds(), *_outside_seeds(), *_pure_seeds(), *_builder_seeds(), *_client_seeds())
ALLOWED = tuple(_allowed())
