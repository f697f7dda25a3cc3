"""Report the shape of the code: lines, modules, structs, repetition, files that a request enters. Check the budget.

python -m benchmarks.shape [--check] [--root DIR] [--python FILE]

`--check` counts the lines of mnemond and mnemonctl only, and exits with 1 if they pass the budget in docs/shape.json.
Nothing else is an error. `--root` measures another checkout, whose daemon is run by the interpreter `--python`.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

from benchmarks import traced_daemon
from benchmarks.daemon_process import NO_CAP, DaemonProcess, Tree, temporary_data_dir
from benchmarks.report import Cell, say, table
from benchmarks.wire import Json

ROOT = Path(__file__).resolve().parents[1]
FILE = Path("docs/shape.json")
PACKAGES = ("mnemond", "mnemonctl")

LANGUAGE = re.compile(r"mnemond/(text|extract)/|mnemond/memory/(frame_|diff_|merged_text|wordings|alike)"
                      r"|mnemond/recall/(corrections|former)")  # fmt: skip
"""Files of the product whose subject is language."""

STRUCT_BASES = {"Struct", "NamedTuple"}

PAIR_FIELDS, PAIR_SHARE = 4, 0.6
"""Two structs are a pair if they share so many fields, and these are that share of the smaller struct's fields."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = ast.Module | ast.ClassDef | Function


# ------------------------------------------------------------------ the sources


@dataclass(frozen=True)
class Module:
    """One source file. `functions` and `classes` go by their qualified names, nested ones included."""

    name: str
    is_package: bool
    tree: ast.Module
    imports: list[ast.Import | ast.ImportFrom]
    functions: list[tuple[str, Function]]
    classes: list[tuple[str, ast.ClassDef]]


def read_modules(root: Path) -> dict[str, Module]:
    """Return the modules of mnemond and mnemonctl under `root`, by dotted name."""
    modules = {}
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            is_package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if is_package else parts)
            modules[name] = parse_module(name, path.read_text(encoding="utf-8"), is_package=is_package)
    return modules


def parse_module(name: str, source: str, *, is_package: bool = False) -> Module:
    """Return what the measures need of one source file."""
    module = Module(name, is_package, ast.parse(source), [], [], [])
    _collect(module, module.tree, name)
    return module


def _collect(module: Module, node: ast.AST, name: str) -> None:
    """Gather what is defined and imported below a node; nested definitions are gathered under their own names."""
    for child in ast.iter_child_nodes(node):
        inner = name
        if isinstance(child, ast.ClassDef):
            inner = f"{name}.{child.name}"
            module.classes.append((inner, child))
        elif isinstance(child, Function):
            inner = f"{name}.{child.name}"
            module.functions.append((inner, child))
        elif isinstance(child, ast.Import | ast.ImportFrom):
            module.imports.append(child)
        _collect(module, child, inner)


def count_lines(root: Path, *packages: str) -> dict[str, int]:
    """Return the number of lines of each Python file of packages under `root`, by its path from there."""
    return {
        str(path.relative_to(root)): len(path.read_text(encoding="utf-8").splitlines())
        for package in packages
        for path in sorted((root / package).rglob("*.py"))
    }


def single_use_helpers(modules: Mapping[str, Module]) -> int:
    """Count the private functions and methods whose name their module uses once."""
    found = 0
    for module in modules.values():
        used = Counter(
            node.id if isinstance(node, ast.Name) else node.attr
            for node in ast.walk(module.tree)
            if isinstance(node, ast.Name | ast.Attribute)
        )
        names = (name.rpartition(".")[2] for name, _ in module.functions)
        found += sum(used[name] == 1 for name in names if name.startswith("_") and not name.endswith("__"))
    return found


# ------------------------------------------------------------------ structs


@dataclass(frozen=True)
class Struct:
    """A msgspec.Struct, NamedTuple or dataclass. `fields`: every field, with the class that declares it."""

    name: str
    fields: dict[str, str] = field(default_factory=dict)

    def declared(self) -> frozenset[str]:
        """Return the fields that the class declares itself."""
        return frozenset(name for name, owner in self.fields.items() if owner == self.name)


def structs(modules: Mapping[str, Module]) -> list[Struct]:
    """Return every struct-like class, those by inheritance from classes of the project included."""
    classes = {name: (module, node) for module in modules.values() for name, node in module.classes}
    known: dict[str, Struct | None] = {}

    def struct(name: str) -> Struct | None:
        if name not in known:
            known[name] = None  # ends a circle of bases
            module, node = classes[name]
            known[name] = build(name, module, node)
        return known[name]

    def build(name: str, module: Module, node: ast.ClassDef) -> Struct | None:
        is_struct = any(_last_name(decorator) == "dataclass" for decorator in node.decorator_list)
        fields: dict[str, str] = {}
        for base in node.bases:
            if (known_base := _resolve(base, module, name, classes)) is not None:
                inherited = struct(known_base)
                is_struct = is_struct or inherited is not None
                fields |= inherited.fields if inherited else {}
            else:
                is_struct = is_struct or _last_name(base) in STRUCT_BASES
        fields |= dict.fromkeys(_declared_fields(node), name)
        return Struct(name, fields) if is_struct else None

    return [found for name in sorted(classes) if (found := struct(name)) is not None]


def _declared_fields(node: ast.ClassDef) -> Iterator[str]:
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            annotation = statement.annotation
            if _last_name(annotation.value if isinstance(annotation, ast.Subscript) else annotation) != "ClassVar":
                yield statement.target.id


def _resolve(base: ast.expr, module: Module, inside: str, classes: Mapping[str, object]) -> str | None:
    """Return the qualified name of a base class that is part of the project."""
    written = _dotted(base)
    first, _, rest = written.partition(".")
    scope = inside
    while scope := scope.rpartition(".")[0]:
        if f"{scope}.{written}" in classes and scope.startswith(module.name):
            return f"{scope}.{written}"
    for statement in module.imports:
        for alias in statement.names:
            if (alias.asname or alias.name) == first:
                origin = alias.name if isinstance(statement, ast.Import) else f"{statement.module}.{alias.name}"
                full = f"{origin}.{rest}" if rest else origin
                return full if full in classes else None
    return None


def _dotted(node: ast.expr) -> str:
    """Return `a.b` as it is written, of a subscript or call what comes before it; empty for other expressions."""
    if isinstance(node, ast.Subscript):
        return _dotted(node.value)
    if isinstance(node, ast.Call):
        return _dotted(node.func)
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _last_name(node: ast.expr) -> str:
    return _dotted(node).rpartition(".")[2]


def pairs_of_declared(found: Sequence[Struct]) -> int:
    """Count the pairs of structs that declare the same fields, for the most part; inherited fields do not count."""
    fields = [declared for each in found if len(declared := each.declared()) >= PAIR_FIELDS]
    return sum(_is_pair(len(one & other), len(one), len(other)) for one, other in combinations(fields, 2))


def _is_pair(shared: int, size: int, other_size: int) -> bool:
    return shared >= PAIR_FIELDS and shared >= PAIR_SHARE * min(size, other_size)


# ------------------------------------------------------------------ files that a request enters


class TracedDaemon(DaemonProcess):
    """A daemon of the tree that lists the files its calls enter."""

    def __init__(self, data_dir: Path, tree: Tree) -> None:
        super().__init__(data_dir)
        self._tree = tree

    def spawn(self) -> None:
        """Start it without waiting."""
        environment = {**self.environment(), "HOME": str(self.data_dir), "PYTHONHASHSEED": "0", "TZ": "UTC"}
        with self.log_path.open("ab") as log:
            self._traced = subprocess.Popen(
                [self._tree.python, traced_daemon.__file__, self._tree.root, self.data_dir],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=environment, text=True, bufsize=1,
            )  # fmt: skip
        self._process = self._traced

    def command(self, line: str) -> Any:  # noqa: ANN401 - JSON
        """Return the answer to one line of standard input."""
        assert self._traced.stdin is not None
        assert self._traced.stdout is not None
        self._traced.stdin.write(f"{line}\n")
        return json.loads(self._traced.stdout.readline())

    def files_entered(self, send: Callable[[], object]) -> list[str]:
        """Return the files of the project that calls enter from the start of `send` until the daemon is idle again."""
        self.command("begin")
        send()
        return list(self.command("end"))

    def call(self, method: str, **params: object) -> Json:
        """Return the result of one request, made on a connection of its own as clients do."""
        with self.connect() as wire:
            return wire.call(method, **params)

    def prompt(self, session: str, prompt: str) -> None:
        """Report the first prompt of an agent's session, as the hook of Claude Code does."""
        event = {"session_id": session, "cwd": "/home/ada/apollo", "hook_event_name": "UserPromptSubmit",
                 "prompt": prompt, "prompt_id": "1"}  # fmt: skip
        with self.connect() as wire:
            wire.round_trip(json.dumps(event).encode() + b"\n")


STORED = (
    "We chose SQLite because one file is easy to back up.",
    "Ada moved the billing service from Redis to PostgreSQL on 2019-03-04, because it kept losing sessions.",
    "The staging cluster is in Dublin.",
    "The staging cluster moved from Dublin to Frankfurt last week.",
    "Bob prefers tabs to spaces.",
    "Bob no longer prefers tabs; he uses spaces now.",
    "数据库迁移到都柏林，因为旧的太慢。",
)
ROOMS = tuple(f"Team {number} meets in room {number * 37 % 101} for project {number * 13 % 7}." for number in range(8))

PEOPLE = ("Grace Hopper", "Alan Turing", "Edsger Dijkstra", "Barbara Liskov")
TOOLS = ("Redis", "Kafka", "Nginx", "DuckDB")

MEMORIES: tuple[Json, ...] = (
    {"content": "{person} keeps the keys of {tool}."},
    {"content": "On 2019-03-0{day} {person} replaced {tool} by SQLite, because it lost sessions.", "importance": 4},
    {"content": "{person} no longer keeps the keys of {tool}; Ada does now."},
    {"content": "因为{tool}太慢，{day}月我们换了数据库。", "source": "user", "conversation_id": "c1"},
    {
        "content": "I prefer {tool} to cron; yesterday that failed in src/main.py:{day} and https://ci.example.org/{day}."
    },
    {"content": "The token of {tool} is ghp_abcdefghijklmnopqrstuvwxyz012345678{day}.", "tags": ["database"]},
)
QUESTIONS = (
    "Why did we choose {tool}?",
    "Why was {tool} replaced by SQLite?",
    "Where is the {tool} cluster now?",
    "What happened last week after the move to {tool}?",
    "What does Bob prefer, tabs or {tool}?",
    "What did Ada do to {tool} before March 2019?",
    "谁换了{tool}？",
)
PROMPT = "Where is {tool}?"

WARM_UP, RECORDED = 1, 3
"""Times that a request is made, each time with other words: first for what happens once, such as filling a cache, then
recorded. A file counts if most of the recorded ones enter it, so that single words matter little."""

Requests = list[Callable[[int], object]]
"""Requests of one kind; the argument tells the words."""


def trace(tree: Tree) -> dict[str, int]:
    """Return how many files of the project each kind of request enters.

    What a remember or a recall enters depends on its text, so files that any of several texts leads to count.
    """
    with temporary_data_dir(NO_CAP) as data_dir, TracedDaemon(data_dir, tree) as daemon:
        for text in STORED:
            daemon.call("remember", content=text)
        pinned = [str(daemon.call("remember", content=text)["id"]) for text in ROOMS]

        def remember(params: Json, turn: int) -> None:
            daemon.call("remember", **{**params, "content": _worded(params["content"], turn)})

        def recall(text: str, turn: int) -> None:
            daemon.call("recall", query=_worded(text, turn))

        kinds: dict[str, Requests] = {
            "remember": [partial(remember, params) for params in MEMORIES],
            "recall": [partial(recall, text) for text in QUESTIONS],
            "hook": [lambda turn: daemon.prompt(f"s{turn}", _worded(PROMPT, turn))],
            "pin": [lambda turn: daemon.call("pin", id=pinned[turn])],
        }
        return {kind: len(_entered(daemon, requests)) for kind, requests in kinds.items()}


def _worded(text: str, turn: int) -> str:
    return text.format(person=PEOPLE[turn], tool=TOOLS[turn], day=turn + 1)


def _entered(daemon: TracedDaemon, requests: Requests) -> set[str]:
    entered: set[str] = set()
    for request in requests:
        times: Counter[str] = Counter()
        for turn in range(WARM_UP + RECORDED):
            files = daemon.files_entered(partial(request, turn))
            times.update(files if turn >= WARM_UP else ())
        entered.update(file for file, count in times.items() if count > RECORDED / 2)
    return entered


# ------------------------------------------------------------------ the report


def measure_sources(root: Path) -> dict[str, int]:
    """Return the figures that need no daemon."""
    modules = read_modules(root)
    product = count_lines(root, *PACKAGES)
    every_struct = structs(modules)
    return {
        "lines of the product": sum(product.values()),
        "lines of it about language": sum(lines for path, lines in product.items() if LANGUAGE.match(path)),
        "lines of tests": sum(count_lines(root, "tests").values()),
        "modules": sum(not module.is_package for module in modules.values()),
        "structs": len(every_struct),
        "pairs of structs": pairs_of_declared(every_struct),
        "private helpers used once": single_use_helpers(modules),
    }


def check(root: Path) -> int:
    """Return 1, and say so, if the product has more lines than its budget; otherwise 0."""
    budget = json.loads((root / FILE).read_text(encoding="utf-8"))["lines"]
    lines = sum(count_lines(root, *PACKAGES).values())
    if lines <= budget:
        return 0
    sys.stderr.write(
        f"mnemond and mnemonctl have {lines} lines, and their budget in {FILE} is {budget}: remove some, or raise it "
        "with a line in CHANGELOG.md that says what users get for it\n"
    )
    return 1


def main(argv: list[str] | None = None) -> int:
    """Report, then compare with the budget, or only compare; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shape", description=__doc__)
    parser.add_argument("--check", action="store_true", help="only compare the lines with the budget")
    parser.add_argument("--root", type=Path, default=ROOT, help="another checkout to measure")
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="interpreter of its daemon")
    options = parser.parse_args(argv)
    tree = Tree(options.root.resolve(), options.python.absolute())
    if not options.check:
        entered = {f"files entered by {kind}": files for kind, files in trace(tree).items()}
        rows: list[Sequence[Cell]] = [[name, number] for name, number in (measure_sources(tree.root) | entered).items()]
        say(table("shape of the code", ("figure", "now"), rows))
    return check(tree.root)


if __name__ == "__main__":
    sys.exit(main())
