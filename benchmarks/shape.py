"""Report the shape of the code: sizes, repetition, wording, files that a request enters. Keep it in docs/shape.json.

python -m benchmarks.shape [--write | --check] [--root DIR] [--python FILE]

`--write` stores the figures; `--check` compares them with the stored ones, prints what differs and exits with 1. A
figure that got worse is no error: it is committed, and seen in review. Times are printed, never stored or compared.
`--root` measures another checkout of mnemond, whose daemon is run by the interpreter `--python`. The figures depend on
the sources alone: they are the same for every Python version, user and machine.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

from benchmarks import traced_daemon
from benchmarks.daemon_process import NO_CAP, DaemonProcess, Tree, temporary_data_dir
from benchmarks.report import Cell, median, say, table
from benchmarks.wire import Json

ROOT = Path(__file__).resolve().parents[1]
FILE = Path("docs/shape.json")
PACKAGES = ("mnemond", "mnemonctl")

TINY_LINES = 40
"""Lines of code up to which a module with a single importer in its own package is listed."""

LONGEST = 10
"""Modules and functions that are listed as the longest."""

STRUCT_BASES = {"Struct", "NamedTuple"}

PAIR_FIELDS, PAIR_SHARE = 4, 0.6
"""Two structs are a pair if they share so many fields, and these are that share of the smaller struct's fields."""

TWIN_FIELDS, TWIN_SHARE = 6, 0.8
"""A pair is listed if the smaller struct has so many fields, and that share of them is in the other."""

PERSONS = re.compile(r"nobody|somebody|whoever", re.IGNORECASE)
"""Persons that stand for components; in names, too."""

OPENING = re.compile(r"\s*(What|Whether|Who)\b")
"""How a docstring begins that does not start with a verb or a noun."""

CITATION = re.compile(r"spec \d|\bS[0-4]\b|\bchapter \d\d")
"""A document that is not part of the repository."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = ast.Module | ast.ClassDef | Function


# ------------------------------------------------------------------ the sources


@dataclass(frozen=True)
class Module:
    """One source file. `code`: numbers of the lines that hold more than a comment, a docstring or nothing.

    `functions` and `classes` go by their qualified names, nested ones included. `docstrings` are those of the module,
    of classes and of functions; `notes` are strings after an assignment, which document an attribute.
    """

    name: str
    is_package: bool
    lines: list[str]
    code: set[int]
    imports: list[ast.Import | ast.ImportFrom]
    functions: list[tuple[str, Function]]
    classes: list[tuple[str, ast.ClassDef]]
    docstrings: list[str]
    notes: list[str]

    @property
    def package(self) -> str:
        """Name of the package that the module lies in."""
        return self.name.rpartition(".")[0]


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
    lines = source.splitlines()
    module = Module(name, is_package, lines, set(), [], [], [], [], [])
    texts: set[int] = set()  # lines that continue a string, where a number sign begins no comment
    documentation: set[int] = set()
    _collect(module, ast.parse(source), name, texts, documentation)
    for number, line in enumerate(lines, 1):
        text = line.strip()
        is_comment = text.startswith("#") and number not in texts
        if text and not is_comment and number not in documentation:
            module.code.add(number)
    return module


def _collect(module: Module, definition: Definition, name: str, texts: set[int], documentation: set[int]) -> None:
    """Gather everything in a definition; nested definitions are gathered under their own names."""
    for place, statement in enumerate(definition.body):
        if (text := _text_of(statement)) is not None:
            (module.notes if place else module.docstrings).append(text)
    waiting: list[ast.AST] = list(ast.iter_child_nodes(definition))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.ClassDef | Function):
            inner = f"{name}.{node.name}"
            if isinstance(node, ast.ClassDef):
                module.classes.append((inner, node))
            else:
                module.functions.append((inner, node))
            _collect(module, node, inner, texts, documentation)
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            module.imports.append(node)
        elif isinstance(node, ast.stmt) and _text_of(node) is not None:
            documentation.update(_lines_of(node))
        elif isinstance(node, ast.Constant | ast.JoinedStr):
            texts.update(_lines_of(node)[1:])
        waiting.extend(ast.iter_child_nodes(node))


def _text_of(statement: ast.stmt) -> str | None:
    """Return the string that a statement consists of, if it does."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        value = statement.value.value
        return value if isinstance(value, str) else None
    return None


def _lines_of(node: ast.stmt | ast.expr) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


# ------------------------------------------------------------------ modules and imports


def import_percent(modules: Mapping[str, Module]) -> float:
    """Return how much of the code are import statements, in per cent to one decimal."""
    code = sum(len(module.code) for module in modules.values())
    imports = sum(
        len(module.code & {line for statement in module.imports for line in _lines_of(statement)})
        for module in modules.values()
    )
    return round(100 * imports / code, 1) if code else 0.0


def tiny_modules(modules: Mapping[str, Module]) -> list[str]:
    """Return the modules of at most TINY_LINES lines of code that one module imports, which is in the same package."""
    importers: dict[str, set[str]] = defaultdict(set)
    for module in modules.values():
        for imported in _imported(module, modules):
            importers[imported].add(module.name)
    found = []
    for module in modules.values():
        users = importers[module.name] - {module.name}
        if not module.is_package and len(module.code) <= TINY_LINES and len(users) == 1:
            (user,) = users
            if modules[user].package == module.package:
                found.append(f"{module.name}: {len(module.code)} lines, for {user}")
    return sorted(found)


def _imported(module: Module, modules: Mapping[str, Module]) -> Iterator[str]:
    for statement in module.imports:
        for alias in statement.names:
            if isinstance(statement, ast.Import):
                yield alias.name
            else:
                inner = f"{statement.module}.{alias.name}"
                yield inner if inner in modules else str(statement.module)


def longest_modules(modules: Mapping[str, Module]) -> list[str]:
    """Return the names and lengths in lines of the longest modules, longest first."""
    return _longest((module.name, len(module.lines)) for module in modules.values())


def _longest(lengths: Iterable[tuple[str, int]]) -> list[str]:
    ordered = sorted(lengths, key=lambda each: (-each[1], each[0]))
    return [f"{name}: {length}" for name, length in ordered[:LONGEST]]


# ------------------------------------------------------------------ functions


def longest_functions(modules: Mapping[str, Module]) -> list[str]:
    """Return the names and lengths in lines of the longest functions, without decorators, longest first."""
    return _longest((name, len(_lines_of(node))) for module in modules.values() for name, node in module.functions)


def one_statement(modules: Mapping[str, Module]) -> int:
    """Count the functions that consist of one statement, besides a docstring. A body of `...` has none."""
    return sum(
        len(body) == 1 and not _is_ellipsis(body[0])
        for module in modules.values()
        for _, node in module.functions
        for body in [_statements(node)]
    )


def forwarding(modules: Mapping[str, Module]) -> int:
    """Count the functions that do nothing but call another with all of their arguments as they are.

    Other arguments may be added. Functions without parameters, `self` aside, are not counted.
    """
    return sum(_forwards(node) for module in modules.values() for _, node in module.functions)


def _forwards(function: Function) -> bool:
    body = _statements(function)
    if len(body) != 1 or not isinstance(body[0], ast.Return | ast.Expr):
        return False
    value = body[0].value
    call = value.value if isinstance(value, ast.Await) else value
    if not isinstance(call, ast.Call):
        return False
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    plain = [each.value if isinstance(each, ast.Starred) else each for each in arguments]
    passed = {each.id for each in plain if isinstance(each, ast.Name)}
    signature = function.args
    named = [*signature.posonlyargs, *signature.args, *signature.kwonlyargs, signature.vararg, signature.kwarg]
    own = {each.arg for each in named if each is not None} - {"self", "cls"}
    return bool(own) and own <= passed


def _statements(function: Function) -> list[ast.stmt]:
    """Return the body without a docstring."""
    body = function.body
    return body[1:] if _text_of(body[0]) is not None else body


def _is_ellipsis(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and statement.value.value is Ellipsis
    )


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


def pairs_with_inherited(found: Sequence[Struct]) -> int:
    """Count the same with inherited fields. A field that both inherit from the same class is declared once, so it is
    not shared here."""
    wide = [each for each in found if len(each.fields) >= PAIR_FIELDS]
    return sum(_is_pair(_repeated(a, b), len(a.fields), len(b.fields)) for a, b in combinations(wide, 2))


def twins(found: Sequence[Struct]) -> list[str]:
    """Return the pairs that share TWIN_SHARE of the fields of the smaller, inherited ones included, by name."""
    wide = [each for each in found if len(each.fields) >= TWIN_FIELDS]
    listed = []
    for one, other in combinations(wide, 2):
        smaller, repeated = min(len(one.fields), len(other.fields)), _repeated(one, other)
        if repeated >= TWIN_SHARE * smaller:
            listed.append(f"{one.name} / {other.name}: {repeated} of {smaller}")
    return sorted(listed)


def _is_pair(shared: int, size: int, other_size: int) -> bool:
    return shared >= PAIR_FIELDS and shared >= PAIR_SHARE * min(size, other_size)


def _repeated(one: Struct, other: Struct) -> int:
    """Count the field names of both that come from different declarations."""
    return sum(one.fields[name] != other.fields[name] for name in one.fields.keys() & other.fields.keys())


# ------------------------------------------------------------------ wording


def wording(modules: Mapping[str, Module]) -> dict[str, int]:
    """Count what a reader outside the project stumbles over."""
    every = modules.values()
    return {
        "persons": sum(len(PERSONS.findall(line)) for module in every for line in module.lines),
        "lines_with_citations": sum(CITATION.search(line) is not None for module in every for line in module.lines),
        "docstrings_what_whether_who": _openings(text for module in every for text in module.docstrings),
        "attribute_docstrings_what_whether_who": _openings(text for module in every for text in module.notes),
    }


def _openings(texts: Iterable[str]) -> int:
    return sum(OPENING.match(text) is not None for text in texts)


# ------------------------------------------------------------------ files that a request enters


class TracedDaemon(DaemonProcess):
    """A daemon of the tree that lists the files its calls enter, and the modules it has imported."""

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


def trace(tree: Tree) -> tuple[dict[str, int], list[tuple[str, str | None]]]:
    """Return how many files of the project each kind of request enters, and the modules that a daemon's start imports.

    What a remember or a recall enters depends on its text, so files that any of several texts leads to count.
    """
    with temporary_data_dir(NO_CAP) as data_dir, TracedDaemon(data_dir, tree) as daemon:
        modules = daemon.command("modules")
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
        return {kind: len(_entered(daemon, requests)) for kind, requests in kinds.items()}, modules


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


def modules_of(root: Path, imported: Iterable[tuple[str, str | None]]) -> tuple[list[str], list[str]]:
    """Return the names of the project's modules and of all others, each in the order of their import."""
    places = tuple(f"{root.resolve() / package}{os.sep}" for package in PACKAGES)
    own, others = [], []
    for name, file in imported:
        if file is not None and file.startswith(places):
            own.append("mnemond.__main__" if name == "__main__" else name)
        else:
            others.append(name)
    return own, others


# ------------------------------------------------------------------ time to import, which is not stored

ROUNDS = 7
"""Processes of each kind, one after the other."""

IMPORT = """
import gc, importlib, sys, time
gc.disable()
names = sys.stdin.read().split()
begin = time.process_time()
for name in names:
    try:
        importlib.import_module(name)
    except ImportError:
        pass
print(time.process_time() - begin)
"""
"""The program of such a process. Some modules can only be imported by others, which have been imported before them."""


def import_times(tree: Tree, imported: Iterable[tuple[str, str | None]]) -> tuple[float, float]:
    """Return CPU seconds, the median of several processes: for all modules that the daemon imports when it starts, and
    for those of them that are not the project's. All are compiled; OpenBLAS starts no threads and the collector is off
    in either, as in the daemon."""
    own, others = modules_of(tree.root, imported)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run([tree.python, "-m", "compileall", "-q", *PACKAGES], cwd=tree.root, env=environment, check=True)
    times: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(ROUNDS):
        for whole, so_far in times.items():
            done = subprocess.run(
                [tree.python, "-c", IMPORT], input=" ".join([*own, *others] if whole else others),
                stdout=subprocess.PIPE, text=True, check=True,
                cwd=tree.root, env={**environment, "OPENBLAS_NUM_THREADS": "1"},
            )  # fmt: skip
            so_far.append(float(done.stdout))
    return median(times[True]), median(times[False])


# ------------------------------------------------------------------ the report


def measure(tree: Tree) -> tuple[Json, list[tuple[str, str | None]]]:
    """Return the figures, and the modules of a daemon that has started."""
    entered, imported = trace(tree)
    return {**measure_sources(tree.root), "files_entered": entered,
            "start_modules": len(modules_of(tree.root, imported)[0])}, imported  # fmt: skip


def measure_sources(root: Path) -> Json:
    """Return the figures that need no daemon."""
    modules = read_modules(root)
    every_struct = structs(modules)
    return {
        "modules": sum(not module.is_package for module in modules.values()),
        "lines": sum(len(module.lines) for module in modules.values()),
        "import_lines_percent": import_percent(modules),
        "tiny_modules": tiny_modules(modules),
        "longest_modules": longest_modules(modules),
        "functions": {
            "all": sum(len(module.functions) for module in modules.values()),
            "forwarding": forwarding(modules),
            "one_statement": one_statement(modules),
        },
        "longest_functions": longest_functions(modules),
        "structs": {
            "all": len(every_struct),
            "pairs_of_declared_fields": pairs_of_declared(every_struct),
            "pairs_with_inherited_fields": pairs_with_inherited(every_struct),
        },
        "twins": twins(every_struct),
        "wording": wording(modules),
    }


def to_text(figures: Json) -> str:
    """Return the contents of the file, one item a line."""
    return json.dumps(figures, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def render(figures: Json, stored: Json) -> str:
    """Return a table of the figures beside the stored ones, and the lists."""
    numbers, before = _numbers(figures), _numbers(stored)
    rows: list[Sequence[Cell]] = [[name, before.get(name), numbers[name]] for name in sorted(numbers)]
    parts = [table("shape of the code", ("figure", "stored", "now"), rows)]
    for name, items in sorted(figures.items()):
        if isinstance(items, list):
            parts.append("\n".join(["", f"{name} ({len(items)})", *(f"  {item}" for item in items)]))
    return "\n".join(parts)


def differences(stored: Json, figures: Json) -> list[str]:
    """Return a line for each figure and each item of a list that is not as stored."""
    before, now = _numbers(stored), _numbers(figures)
    found = [
        f"{name}: {before.get(name, 'nothing')} in {FILE}, now {now.get(name, 'nothing')}"
        for name in sorted(before.keys() | now.keys())
        if before.get(name) != now.get(name)
    ]
    for name in sorted(stored.keys() | figures.keys()):
        old, new = ([str(item) for item in _items(each, name)] for each in (stored, figures))
        found += [f"{name}: - {item}" for item in old if item not in new]
        found += [f"{name}: + {item}" for item in new if item not in old]
    return found


def _numbers(figures: Json) -> dict[str, float]:
    """Return the figures that are numbers, those of a group as `group.name`."""
    numbers: dict[str, float] = {}
    for name, value in figures.items():
        if isinstance(value, dict):
            numbers |= {f"{name}.{inner}": number for inner, number in value.items()}
        elif not isinstance(value, list):
            numbers[name] = value
    return numbers


def _items(figures: Json, name: str) -> list[object]:
    value = figures.get(name)
    return value if isinstance(value, list) else []


def check(path: Path, figures: Json) -> int:
    """Print what differs from the file, and return the exit status."""
    stored = path.read_text(encoding="utf-8") if path.exists() else ""
    if stored == to_text(figures):
        return 0
    try:
        found = differences(json.loads(stored or "{}"), figures)
    except ValueError:
        found = [f"{FILE} is not JSON"]
    say("\n".join(found or [f"{FILE} has the right figures, but is not laid out as `make shape` writes it"]))
    sys.stderr.write(f"{FILE} is not what the code gives: run `make shape`, read what changed and commit the file\n")
    return 1


def main(argv: list[str] | None = None) -> int:
    """Report, write or compare; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shape", description=__doc__)
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--write", action="store_true", help=f"report, and write the figures into {FILE}")
    action.add_argument("--check", action="store_true", help=f"compare with {FILE} instead of reporting")
    parser.add_argument("--root", type=Path, default=ROOT, help="another checkout to measure")
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="interpreter of its daemon")
    options = parser.parse_args(argv)
    tree = Tree(options.root.resolve(), options.python.absolute())
    path = tree.root / FILE
    figures, imported = measure(tree)
    if options.check:
        return check(path, figures)
    stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    say(render(figures, stored))
    daemon, libraries = import_times(tree, imported)
    say(f"\nCPU of a daemon's imports: {daemon:.3f} s, {daemon / libraries:.2f} times that of its libraries alone")
    if options.write:
        path.write_text(to_text(figures), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
