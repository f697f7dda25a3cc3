"""Every forbidden import, as a change to the tree and the contracts it must break.

The layers and doors are written out here a second time, on purpose: a contract that was weakened in pyproject.toml
must fail against this list.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, permutations, product
from typing import NamedTuple

LAYERS = (
    ("__main__",),
    ("daemon", "docs_pages"),
    ("cli", "mcp"),
    ("hooks",),
    ("api",),
    ("jobs", "interchange"),
    ("recall",),
    ("memory",),
    ("extract", "embed", "llm", "store"),
    ("index",),
    ("text",),
    ("model",),
    ("wire", "service"),
    ("logs", "model_servers"),
    ("config", "http"),
    ("errors", "clock", "ids"),
)
SINGLE_MODULES = ("__main__", "daemon", "docs_pages", "logs", "model_servers", "http", "errors", "clock", "ids")
PACKAGES = tuple(name for layer in LAYERS for name in layer if name not in SINGLE_MODULES)
MEMORY = ("jobs", "interchange", "recall", "memory", "extract", "embed", "llm", "store", "index", "text", "model")
PURE = (
    "config/settings", "model/seeded", "text/seeded", "index/seeded", "extract/seeded",
    "memory/compare", "memory/decay", "memory/diff", "memory/diff_rules", "memory/edge_builders",
    "recall/beam", "recall/causal_order", "recall/conditions", "recall/corrections", "recall/default_profile",
    "recall/fusion", "recall/profiles", "recall/published_profiles", "recall/question",
    "recall/ranking", "recall/rerank", "recall/result_order", "recall/two_stage", "recall/walks",
    "wire/hook_payload", "wire/jsonrpc", "wire/params",
    "api/registry", "api/types_daemon", "api/types_jobs", "api/types_stores", "api/types_changes", "api/types_extract",
    "api/types_memories",
    "mcp/protocol", "mcp/tools",
)  # fmt: skip
IMPURE = {
    "trio": set(),
    "structlog": set(),
    "os": set(),
    "apsw": {"sqlite-door"},
    "httpx": {"network-door"},
    "time": {"clock-door"},
    "random": {"chance-door"},
}  # type: dict[str, set[str]]
CLIENT_LAYERS = (
    ("mem0", "slow"),
    ("browse", "commands", "daemon_commands", "doctor", "logs", "prompts"),
    ("client",),
    ("connection",),
    ("setup", "daemon"),
    ("service", "rpc"),
    ("files", "transcripts"),
    ("fast", "launcher"),
)
SETUP_LAYERS = (
    ("command", "check"),
    ("install",),
    ("plan",),
    ("host", "record"),
    ("claude_plugin", "alias", "shell"),
    ("environment", "toml_entries"),
    ("entries", "own_files"),
    ("files", "json_edit"),
)
CLIENT_PACKAGES = ("browse", "launcher")
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


def _doors_between(importer: str, imported: str) -> tuple[str, ...]:
    """The doors that an import breaks besides the layers."""
    if imported == "wire":
        return () if importer in ABOVE_THE_WIRE else ("wire-door",)
    if imported in ("cli", "mcp", "hooks", "service"):
        return () if importer in ("__main__", "daemon", "docs_pages", "mcp") else ("edge-door",)
    return ()


ABOVE_THE_WIRE = ("__main__", "daemon", "docs_pages", "cli", "mcp", "hooks", "api")


def _layer_seeds() -> Iterator[Seed]:
    for upper, lower in pairwise(LAYERS):
        for importer in lower:
            yield from (_seed(importer, _inside(name), "layers", *_doors_between(importer, name)) for name in upper)
    for layer in LAYERS[:-1]:
        for importer, imported in permutations(layer, 2):
            yield _seed(importer, _inside(imported), "layers", *_doors_between(importer, imported))
    yield Seed("mnemond/newcomer.py", "import sys", frozenset({"layers"}))


def _wire_seeds() -> Iterator[Seed]:
    for importer in MEMORY:
        yield _seed(importer, _inside("wire"), "wire-door")
        yield _seed(importer, _inside("service"), "edge-door")
        yield from (_seed(importer, _inside(name), "layers", "edge-door") for name in ("cli", "mcp", "hooks"))


def _outside_seeds() -> Iterator[Seed]:
    for importer in ("daemon", "store", "wire"):
        yield _seed(importer, "apsw", "sqlite-door")
        yield _seed(importer, "sqlite3", "sqlite-door")
        yield _seed(importer, "psycopg", "postgresql-door")
        yield _seed(importer, "httpx", "network-door")
        yield _seed(importer, "urllib.request", "network-door")
        yield _seed(importer, "time", "clock-door")
        yield from (_seed(importer, name, "chance-door") for name in ("random", "secrets", "uuid"))
    for file in ("mnemond/cli/seeded.py", "mnemonctl/slow.py", "mnemonctl/browse/command.py"):
        yield Seed(file, "import textual", frozenset({"terminal-door"}))
    for name, door in {"apsw": "sqlite-door", "httpx": "network-door"}.items():
        yield Seed("mnemonctl/setup/json_edit.py", f"import {name}", frozenset({door}))


def _pure_seeds() -> Iterator[Seed]:
    for importer in PURE:
        for name, doors in IMPURE.items():
            yield Seed(f"mnemond/{importer}.py", f"import {name}", frozenset({"pure-rules", *doors}))
        yield Seed(f"mnemond/{importer}.py", "import mnemond.clock", frozenset({"pure-rules"}))


def _client_seeds() -> Iterator[Seed]:
    for importer in (*SINGLE_MODULES, *PACKAGES):
        yield _seed(importer, f"mnemonctl.launcher.{TARGET}", "client-door")
    for name in LIBRARIES:
        yield Seed("mnemonctl/fast.py", f"import {name}", frozenset({"fast-path"}))
    for contract, package, layers in (
        ("client-layers", "mnemonctl", CLIENT_LAYERS), ("setup-layers", "mnemonctl/setup", SETUP_LAYERS)
    ):  # fmt: skip
        for upper, lower in pairwise(layers):
            for importer, imported in product(lower, upper):
                too = {"setup-layers"} if (importer, imported) == ("setup", "doctor") else set()  # it imports `check`
                yield _client_seed(package, importer, imported, contract, *too)
        yield Seed(f"{package}/newcomer.py", "import sys", frozenset({contract}))
    yield _client_seed("mnemonctl", "daemon", "setup", "client-layers")
    yield _client_seed("mnemonctl", "fast", "slow", "client-layers")


def _client_seed(package: str, importer: str, imported: str, *breaks: str) -> Seed:
    """An import of one layer of the client in another; an empty module is imported where the layer is a package."""

    def module(layer: str, name: str) -> str:
        path = f"{package}/{'setup/json_edit' if layer == 'setup' else layer}"
        return f"{path}/{name}" if path.removeprefix("mnemonctl/") in CLIENT_PACKAGES else path

    target = module(imported, TARGET).replace("/", ".")
    return Seed(f"{module(importer, 'seeded')}.py", f"import {target}", frozenset(breaks))


def _allowed() -> Iterator[Seed]:
    """Imports that must stay possible: a contract that forbids everything guards nothing."""
    yield _seed("api", _inside("wire"))
    yield _seed("daemon", _inside("cli"))
    yield _seed("api", _inside("memory"))
    yield Seed("mnemond/http.py", "import httpx", frozenset())
    yield Seed("mnemond/store/connection.py", "import apsw", frozenset())
    yield _seed("clock", "time")
    yield from (_seed("ids", name) for name in ("random", "secrets", "uuid"))
    yield Seed("mnemonctl/fast.py", "import _socket", frozenset())
    yield Seed("mnemonctl/setup/json_edit.py", "import mnemond.wire.params", frozenset())
    yield Seed("mnemonctl/browse/app.py", "import textual", frozenset())
    yield _client_seed("mnemonctl", "mem0", "launcher")
    yield _client_seed("mnemonctl/setup", "command", "host")


FORBIDDEN = (*_layer_seeds(), *_wire_seeds(), *_outside_seeds(), *_pure_seeds(), *_client_seeds())
ALLOWED = tuple(_allowed())
