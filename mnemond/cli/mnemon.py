"""The command lines of mnemon (github.com/mnemon-dev/mnemon), for scripts and agents that were written for it.

`mnemonctl setup --mnemon-alias` links the name. Commands, options, JSON documents, the texts of `store` and `log`, and
the sentences of errors that scripts look for are those of mnemon's Go edition. Each command runs the methods that
`mnemonctl` runs, so that what it wrote has the same history, undo and backups. Where the two differ nevertheless:
docs/decisions/0063-mnemons-own-name.md.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Final, TypeVar

import msgspec

from mnemond.api.registry import METHODS
from mnemond.api.types_changes import DEFAULT_DEPTH, DEFAULT_WEIGHT, MAX_DEPTH
from mnemond.api.types_daemon import CliRunParams
from mnemond.cli import help as help_text
from mnemond.cli.grammar import Output, output_of, reading
from mnemond.cli.help import BY_NAME, FIRST_WORDS, option_row, table
from mnemond.cli.output import Style, lines, one_line, short_id, text_width
from mnemond.cli.parser import (
    MAX_SHOWN,
    Parser,
    Request,
    UsageError,
    looks_like_option,
    nearest_command,
    options_of,
    read_json,
    split_at_dashes,
    standard_input,
)
from mnemond.errors import INVALID_PARAMS, NOT_FOUND, MnemonError
from mnemond.model.answers import GcCandidate, InsightView, LogLine, RecallHit
from mnemond.model.memory import CATEGORIES, EDGE_TYPES, ENTITY_MODES
from mnemond.model.outcomes import CausalCandidate
from mnemond.model.query import INTENTS
from mnemond.text.cues import causal_cue
from mnemond.wire.dispatch import Call, Invoke
from mnemond.wire.params import SERVER_VERSION, about

MAX_RESULTS: Final = 1000
"""The largest limit of our methods; mnemon has none."""

MAX_THRESHOLD: Final = 100.0
"""The largest threshold of our `gc`, above every effective importance; mnemon takes any."""

DETAIL: Final = 60
"""Characters of a detail in mnemon's log."""

T = TypeVar("T", bound=msgspec.Struct)

Document = dict[str, object]


class Globals(msgspec.Struct, frozen=True):
    """Options of every command."""

    store: Annotated[str | None, about("named memory store (before $MNEMON_STORE and the active one)")] = None
    data_dir: Annotated[str | None, about("base data directory (default: $MNEMON_DATA_DIR, ~/.mnemon)")] = None
    readonly: Annotated[bool, about("write nothing")] = False
    embed_model: Annotated[str | None, about("not here: mnemonctl embed --switch changes a store's model")] = None
    help: Annotated[bool, about("show help", "-h")] = False
    version: Annotated[bool, about("show the version", "-v")] = False


GLOBALS: Final = tuple(options_of(Globals))
_VALUES: Final = {flag for option in GLOBALS if option.read for flag in option.flags}
_FLAGS: Final = {flag for option in GLOBALS if not option.read for flag in option.flags}


class Line:
    """A command line that was understood, and the way to the methods of the daemon."""

    def __init__(
        self, name: str, words: list[str], options: dict[str, Any], run: CliRunParams, invoke: Invoke, call: Call
    ) -> None:
        self.name, self.words = name, words
        self._options = options
        self._run, self._invoke, self._call = run, invoke, call

    @property
    def store(self) -> str | None:
        """The store that was named; None for the active one."""
        return self._options.get("store") or self._run.env_store or None

    def options(self, kind: type[T]) -> T:
        """The options of the command itself."""
        own = {name: value for name, value in self._options.items() if name in kind.__struct_fields__}
        return msgspec.convert(own, kind)

    def text(self) -> str:
        """All words as one text; standard input for a lone "-". Raises UsageError when there is nothing."""
        if self.words == ["-"]:
            return standard_input(self.name, self._run.stdin)
        if not self.words:
            raise UsageError("requires at least 1 arg(s), only received 0", f"See: mnemon {self.name} --help")
        return " ".join(self.words)

    def exactly(self, count: int) -> list[str]:
        """The words, of which there are so many. Raises UsageError."""
        if len(self.words) != count:
            message = f"accepts {count} arg(s), received {len(self.words)}"
            raise UsageError(message, f"See: mnemon {self.name} --help")
        return self.words

    async def ask(self, method: str, *, missing: str = "", **params: object) -> Any:  # noqa: ANN401 - any result
        """Run a method, in the store that was named. `missing` is the sentence where it finds nothing.

        Parameters that are None are left out. Raises MnemonError.
        """
        taken = METHODS[method].params.__struct_encode_fields__
        given = {name: value for name, value in {"store": self.store, **params}.items() if value is not None}
        request = Request(method, {name: value for name, value in given.items() if name in taken})
        if self._options.get("readonly"):
            request = reading(request)
        try:
            return await self._invoke(METHODS[request.method], request.params, self._call)
        except MnemonError as error:
            if missing and error.kind is NOT_FOUND:
                raise MnemonError(NOT_FOUND, missing, outcome=error.outcome) from None
            raise


Result = Document | list[Document] | str
"""A JSON document, or a text."""


class MnemonCommand(msgspec.Struct, frozen=True, dict=True):
    """One command of mnemon: its name, of one or two words, what follows it, and what it does."""

    name: str
    usage: str
    summary: str
    run: Callable[[Line], Awaitable[Result]]
    options: type[msgspec.Struct] | None = None

    @cached_property
    def parser(self) -> Parser:
        """Its options, derived on first use."""
        own = [] if self.options is None else options_of(self.options)
        return Parser(self.name, own, shared=GLOBALS, program="mnemon")


# Checks whose sentences scripts read.


def _one_of(value: str, choices: Sequence[str], what: str) -> str:
    if value not in choices:
        raise UsageError(f'invalid {what} "{one_line(value[:MAX_SHOWN])}"; valid: {", ".join(choices)}')
    return value


def _limit(value: int) -> int:
    if value < 1:
        raise UsageError(f"--limit must be greater than 0, got {value}")
    return min(value, MAX_RESULTS)


# Shapes.


def _insight(view: InsightView) -> Document:
    return {
        "id": view.id, "content": view.content, "category": view.category, "importance": view.importance,
        "tags": view.tags, "entities": view.entities, "source": view.source, "access_count": view.access_count,
        "created_at": view.created_at, "updated_at": view.updated_at,
    }  # fmt: skip


def _rows(links: Mapping[str, int]) -> dict[str, int]:
    """Count links as mnemon does: one that leads both ways, which a causal one does not, is two rows."""
    return {kind: count if kind == "causal" else 2 * count for kind, count in links.items()}


# Memories.


class RememberOptions(msgspec.Struct, frozen=True):
    cat: Annotated[str, about("category: preference, decision, fact, insight, context or general")] = "general"
    imp: Annotated[int, about("importance, 1 to 5")] = 3
    tags: Annotated[list[str], about("comma-separated tags")] = []
    source: Annotated[str, about("who said it: user, agent or external")] = "user"
    entities: Annotated[list[str], about("comma-separated entities")] = []
    entity_mode: Annotated[str, about("entities: merge with those in the text, provided alone, or auto")] = "merge"
    no_diff: Annotated[bool, about("store it without a comparison with other memories")] = False


_ACTIONS: Final = {"replaced": "updated"}
"""Actions by the names that mnemon gives them; others are the same."""


async def _remember(line: Line) -> Result:
    options = line.options(RememberOptions)
    if not 1 <= options.imp <= 5:
        raise UsageError(f"importance must be 1-5, got {options.imp}")
    content = line.text()
    done = await line.ask(
        "remember",
        content=content,
        category=_one_of(options.cat, CATEGORIES, "category"),
        importance=options.imp,
        tags=options.tags,
        source=options.source,
        entities=options.entities,
        entity_mode=_one_of(options.entity_mode, ENTITY_MODES, "entity mode"),
        no_diff=options.no_diff,
    )
    head: Document = {"id": done.id}
    if done.id is not None:
        stored = (await line.ask("get", id=done.id)).insight
        shown = {name: getattr(stored, name) for name in ("content", "category", "importance", "tags", "entities")}
        head |= {**shown, "created_at": stored.created_at}
    head |= {"action": _ACTIONS.get(done.action, done.action), "diff_suggestion": done.diff_suggestion}
    if replaced := done.replaced_id or done.duplicate_of:
        head["replaced_id"] = replaced
    return head | {
        "edges_created": _rows(msgspec.structs.asdict(done.edges_created)),
        "semantic_candidates": done.semantic_candidates,
        "causal_candidates": [_causal(each, content) for each in done.causal_candidates],
        "quality_warnings": done.quality_warnings,
        "embedded": done.embedded,
        "effective_importance": done.effective_importance,
        "auto_pruned": done.auto_pruned,
        "auto_pruned_ids": done.pruned_ids,
    }


def _causal(each: CausalCandidate, content: str) -> Document:
    """A candidate with a signal where one of the two texts has one: mnemon does not compare their clauses."""
    cue = causal_cue(each.content) or causal_cue(content) if each.causal_signal is None else None
    signs = {"causal_signal": each.causal_signal or ""}
    if cue is not None:
        signs = {"causal_signal": cue.signal, "suggested_sub_type": cue.sub_type}
    return msgspec.structs.asdict(each) | signs


class RecallOptions(msgspec.Struct, frozen=True):
    cat: Annotated[str | None, about("of this category alone")] = None
    limit: Annotated[int, about("at most so many results")] = 10
    source: Annotated[str | None, about("of this source alone")] = None
    basic: Annotated[bool, about("texts that contain the query, without ranking by links")] = False
    smart: Annotated[bool, about("as in any case")] = False
    intent: Annotated[str | None, about("intent of the query: WHY, WHEN, ENTITY or GENERAL")] = None
    verbose: Annotated[bool, about("everything about each result: signals, times, how it was found")] = False


async def _recall(line: Line) -> Result:
    options = line.options(RecallOptions)
    query, intent = line.text(), (options.intent or "").upper()
    if intent and intent not in INTENTS:
        raise UsageError(f'unknown intent "{one_line(intent[:MAX_SHOWN])}"; valid: {", ".join(INTENTS)}')
    found = await line.ask(
        "recall",
        query=query,
        limit=_limit(options.limit),
        category=None if options.cat is None else _one_of(options.cat, CATEGORIES, "category"),
        source=options.source,
        basic=options.basic or None,
        intent=intent.lower() or None,
        profile=None if options.basic else "mnemon",
        compact=None if options.basic or options.verbose else True,
    )
    if options.basic:
        return [_insight(hit.insight) for hit in found.results]
    hint = {"hint": found.meta.hint} if found.meta.hint else {}
    if options.verbose:
        meta = {name: getattr(found.meta, name) for name in ("intent", "intent_source", "anchor_count", "traversed")}
        return {"results": [_hit(hit) for hit in found.results], "meta": meta | hint}
    shown = ("id", "content", "category", "importance", "intent", "matched_via", "confidence", "score")
    return {"results": [{name: getattr(hit, name) for name in shown} for hit in found.results], **hint}


def _hit(hit: RecallHit) -> Document:
    signals = {name: getattr(hit.signals, name) for name in ("keyword", "entity", "similarity", "graph")}
    return {
        "insight": _insight(hit.insight), "score": hit.score, "intent": hit.intent, "via": hit.via, "signals": signals
    }  # fmt: skip


class SearchOptions(msgspec.Struct, frozen=True):
    limit: Annotated[int, about("at most so many results")] = 10


async def _search(line: Line) -> Result:
    found = await line.ask("search", query=line.text(), limit=_limit(line.options(SearchOptions).limit))
    shown = ("id", "content", "category", "importance", "tags")
    return [{**{name: getattr(hit.insight, name) for name in shown}, "score": hit.score} for hit in found.results]


async def _forget(line: Line) -> Result:
    (identifier,) = line.exactly(1)
    missing = f"forget: insight {one_line(identifier)} not found or already deleted"
    done = await line.ask("forget", id=identifier, missing=missing)
    return {"id": done.id, "status": done.status, "message": "Insight soft-deleted successfully"}


# Links.


class LinkOptions(msgspec.Struct, frozen=True):
    type: Annotated[str, about("type of the link: temporal, semantic, causal or entity")] = "semantic"
    weight: Annotated[float, about("weight, 0 to 1")] = DEFAULT_WEIGHT
    meta: Annotated[str | None, about('what else to note, as JSON: \'{"reason":"similar topic"}\'')] = None


async def _link(line: Line) -> Result:
    source, target = line.exactly(2)
    options = line.options(LinkOptions)
    kind = _one_of(options.type, EDGE_TYPES, "edge type")
    if not 0 <= options.weight <= 1:
        raise UsageError(f"weight must be between 0.0 and 1.0, got {options.weight:.2f}")
    noted = None if options.meta is None else read_json(options.meta, "--meta", '{"reason":"similar topic"}')
    for end, identifier in (("source", source), ("target", target)):
        await line.ask("get", id=identifier, missing=f"{end} insight {one_line(identifier)} not found")
    done = await line.ask(
        "link", source_id=source, target_id=target, type=kind, weight=options.weight, metadata=noted, created_by="host"
    )
    shown = ("status", "source_id", "target_id", "edge_type", "weight", "metadata")
    return {name: getattr(done, name) for name in shown}


class RelatedOptions(msgspec.Struct, frozen=True):
    edge: Annotated[str | None, about("over links of this type alone: temporal, semantic, causal or entity")] = None
    depth: Annotated[int, about("at most so many links away")] = DEFAULT_DEPTH


async def _related(line: Line) -> Result:
    (identifier,) = line.exactly(1)
    options = line.options(RelatedOptions)
    if options.depth < 1:
        raise UsageError("depth must be greater than 0")
    found = await line.ask(
        "related",
        id=identifier,
        edge=None if options.edge is None else _one_of(options.edge, EDGE_TYPES, "edge type"),
        depth=min(options.depth, MAX_DEPTH),
        limit=MAX_RESULTS,
        missing=f"insight {one_line(identifier)} not found",
    )
    shown = ("id", "content", "category", "importance", "depth", "via_edge_type")
    return [{name: getattr(each, name) for name in shown} for each in found]


# Retention.


class GcOptions(msgspec.Struct, frozen=True):
    threshold: Annotated[float, about("memories of less effective importance")] = 0.5
    limit: Annotated[int, about("at most so many memories")] = 20
    keep: Annotated[str | None, about("raise the retention of this memory", metavar="ID")] = None


async def _gc(line: Line) -> Result:
    line.exactly(0)
    options = line.options(GcOptions)
    limit = _limit(options.limit)
    if options.threshold < 0:
        raise UsageError(f"--threshold must not be negative, got {options.threshold:g}")
    if options.keep is not None:
        kept = await line.ask("gc", keep=options.keep, missing=f"insight {one_line(options.keep)} not found")
        shown = ("status", "id", "content", "new_access", "effective_importance", "immune")
        return {name: getattr(kept, name) for name in shown}
    listed = await line.ask("gc", threshold=min(options.threshold, MAX_THRESHOLD), limit=limit)
    candidates = [await _gc_candidate(line, each) for each in listed.candidates]
    return {
        "total_insights": listed.total_insights,
        "threshold": options.threshold,
        "candidates_found": len(candidates),
        "candidates": candidates,
        "max_insights": listed.max_insights,
        "actions": {"purge": "mnemon forget <id>", "keep": "mnemon gc --keep <id>"},
    }


async def _gc_candidate(line: Line, each: GcCandidate) -> Document:
    stored = await line.ask("get", id=each.id)
    shown = ("effective_importance", "days_since_access", "edge_count", "immune")
    return {"insight": _insight(stored.insight), **{name: getattr(each, name) for name in shown}}


# Stores: texts, which scripts read.


async def _stores(line: Line) -> tuple[list[str], str]:
    """The names of all stores, and the one that commands use."""
    listed = await line.ask("store.list")
    return [each.name for each in listed.stores], line.store or listed.active


def _store_name(line: Line) -> str:
    (name,) = line.exactly(1)
    plain = name.replace("_", "a").replace("-", "a")
    if not (plain.isascii() and plain.isalnum() and name[0].isalnum()):
        raise UsageError(f'invalid store name "{one_line(name[:MAX_SHOWN])}": must match [a-zA-Z0-9][a-zA-Z0-9_-]*')
    return name


async def _store_list(line: Line) -> Result:
    line.exactly(0)
    names, active = await _stores(line)
    if not names:
        return lines("  (no stores yet — run 'mnemon store create <name>' or any command to create default)")
    return lines(*(f"{'*' if name == active else ' '} {one_line(name)}" for name in names))


async def _store_create(line: Line) -> Result:
    name = _store_name(line)
    done = await line.ask("store.create", name=name)
    if not done.created:
        raise UsageError(f'store "{name}" already exists')
    return lines(f'Created store "{name}"')


async def _store_set(line: Line) -> Result:
    name = _store_name(line)
    missing = f"store \"{name}\" does not exist (use 'mnemon store create {name}' first)"
    await line.ask("store.set", name=name, missing=missing)
    return lines(f'Active store set to "{name}"')


async def _store_remove(line: Line) -> Result:
    name = _store_name(line)
    names, active = await _stores(line)
    if name not in names:
        raise UsageError(f'store "{name}" does not exist')
    if name == active:
        hint = "switch first with 'mnemon store set <other>'"
        raise UsageError(f'cannot remove the active store "{name}" ({hint})')
    await line.ask("store.remove", name=name, yes=True)
    return lines(f'Removed store "{name}"')


# Looking.


async def _status(line: Line) -> Result:
    line.exactly(0)
    found = await line.ask("status")
    shown = ("total_insights", "deleted_insights", "by_category")
    return {
        **{name: getattr(found, name) for name in shown},
        "edge_count": sum(_rows(found.edges_by_type).values()),
        "top_entities": found.top_entities,
        "oplog_count": found.oplog_count,
        "db_path": found.db_path,
        "db_size_bytes": found.db_size_bytes,
    }


class LogOptions(msgspec.Struct, frozen=True):
    limit: Annotated[int, about("at most so many operations")] = 20


_OPERATIONS: Final = {"gc-keep": "gc_keep"}
"""Operations by the names that mnemon gives them; others are the same."""


async def _log(line: Line) -> Result:
    line.exactly(0)
    entries: list[LogLine] = await line.ask("log", limit=_limit(line.options(LogOptions).limit))
    if not entries:
        return lines("No operations recorded yet.")
    rows = [("TIME", "OP", "INSIGHT", "DETAIL"), ("----", "--", "-------", "------"), *map(_log_row, entries)]
    widths = [max(text_width(row[at]) for row in rows) for at in range(3)]
    return lines(*("  ".join([*map(_padded, row, widths), row[3]]).rstrip() for row in rows))


def _log_row(entry: LogLine) -> tuple[str, str, str, str]:
    detail = one_line(entry.words or entry.detail)
    short = detail if len(detail) <= DETAIL else f"{detail[: DETAIL - 3]}..."
    operation = _OPERATIONS.get(entry.operation, entry.operation)
    return one_line(entry.created_at), one_line(operation), short_id(entry.insight_id or ""), short


def _padded(cell: str, width: int) -> str:
    return cell + " " * (width - text_width(cell))


_RECEIPT_NOTE: Final = (
    "Raw memory contents, recall queries, paths, and operation details are omitted; only hashes and operation metadata"
    " are emitted."
)


async def _receipt(line: Line) -> Result:
    line.exactly(0)
    found = await line.ask("receipt", limit=_limit(line.options(LogOptions).limit))
    events = []
    for each in found.events:
        hashes = {"insight_id_hash": each.insight_id_hash, "detail_hash": each.detail_hash}
        events.append(
            {
                "event_name": "mnemon.memory.operation.observed",
                "operation": _OPERATIONS.get(each.operation, each.operation),
                "created_at": each.created_at,
                **{name: value for name, value in hashes.items() if value is not None},
                "detail_present": each.detail_present,
            }
        )
    return {
        "schema": "mnemon.memory.receipt.v1",
        **{name: getattr(found, name) for name in ("generated_at", "store", "limit", "count")},
        "privacy": {**msgspec.structs.asdict(found.privacy), "note": _RECEIPT_NOTE},
        "events": events,
    }


class EmbedOptions(msgspec.Struct, frozen=True):
    all: Annotated[bool, about("embed every memory without a vector")] = False
    status: Annotated[bool, about("show how many have one")] = False


async def _embed(line: Line) -> Result:
    options = line.options(EmbedOptions)
    if options.status:
        line.exactly(0)
        found = await line.ask("embed.status")
        return {
            "total_insights": found.total_insights,
            "embedded": found.embedded,
            "coverage": f"{100 * found.embedded / max(found.total_insights, 1):.0f}%",
            "embedding_available": found.available,
            "ollama_available": found.ollama_available,
            "protocol": found.provider,
            "model": found.model,
        }
    if line.words:
        (identifier,) = line.exactly(1)
        done = await line.ask("embed.run", id=identifier, missing=f"insight {one_line(identifier)} not found")
        return {name: getattr(done, name) for name in ("status", "id", "dimension", "model")}
    if not options.all:
        raise UsageError("specify --all to backfill, --status to check coverage, or provide an insight ID")
    done = await line.ask("embed.run")
    shown = ("status", "message") if done.status == "complete" else ("status", "succeeded", "failed", "model")
    return {name: getattr(done, name) for name in shown}


COMMANDS: Final = (
    MnemonCommand("remember", "[content]", "Store a new insight", _remember, RememberOptions),
    MnemonCommand("recall", "[keyword]", "Find insights by intent, words, meaning and links", _recall, RecallOptions),
    MnemonCommand("search", "[query]", "Find insights by their words alone", _search, SearchOptions),
    MnemonCommand("forget", "[id]", "Take an insight out of recall", _forget),
    MnemonCommand("link", "<source_id> <target_id>", "Link two insights", _link, LinkOptions),
    MnemonCommand("related", "[id]", "List the insights around one", _related, RelatedOptions),
    MnemonCommand("gc", "", "List what matters least, or keep it", _gc, GcOptions),
    MnemonCommand("store list", "", "List all stores; * marks the one in use", _store_list),
    MnemonCommand("store create", "<name>", "Create a store", _store_create),
    MnemonCommand("store set", "<name>", "Set the active store", _store_set),
    MnemonCommand("store remove", "<name>", "Remove a store, after a last backup of it", _store_remove),
    MnemonCommand("status", "", "Show statistics", _status),
    MnemonCommand("log", "", "Show recent operations", _log, LogOptions),
    MnemonCommand("receipt", "", "Show hashes of recent operations, without their texts", _receipt, LogOptions),
    MnemonCommand("embed", "[id]", "Embed insights, or show how many are embedded", _embed, EmbedOptions),
)
_BY_NAME: Final = {command.name: command for command in COMMANDS}

BY_CLIENT: Final = {
    "setup": "Connect agents, as mnemonctl setup does",
    "import": "Import memories, as mnemonctl import does",
    "viz": "Draw the graph, as mnemonctl viz does",
}
"""Commands that the client runs as if they were typed after `mnemonctl` (`mnemonctl.fast.SAME_COMMANDS`)."""

INSTEAD: Final = {
    "show": "mnemonctl get ID",
    "mcp": "mnemonctl setup, which registers the MCP server with your agents",
    "update": "the program that installed mnemond, for example: pipx upgrade mnemond",
    "agency": "nothing: mnemond has memories alone, and no agency",
    "completion": "mnemonctl completion",
    "help": "mnemon --help",
    "version": "mnemon --version",
}
"""What to use in place of commands of mnemon that do not exist here."""

OPTIONS_INSTEAD: Final = {
    "--brief": "mnemonctl recall QUERY --compact",
    "--excerpt-chars": "mnemonctl recall QUERY --context --budget TOKENS",
    "--embed-model": "mnemonctl embed --switch, which changes the model of a store",
    "--json": "nothing: the output is JSON",
}
"""What to use in place of options that do not exist here."""


# Command lines.


async def run(params: CliRunParams, invoke: Invoke, call: Call) -> str:
    """Run one command line and return what it prints on standard output. Raises MnemonError."""
    try:
        if (told := _answer(params.argv, output_of(params))) is not None:
            return told
        name, rest = _find(params.argv)
        command = _command(name)
        options, words = _split(command, rest, params.stdin)
        result = await command.run(Line(name, words, options, params, invoke, call))
    except UsageError as error:
        raise MnemonError(INVALID_PARAMS, error.message, hint=error.hint, outcome="rejected") from None
    return result if isinstance(result, str) else output_of(params).json(result)


def answer(params: CliRunParams) -> str:
    """Return help or the version, which need no daemon. Raises MnemonError for a line without a command."""
    try:
        return _answer(params.argv, output_of(params)) or _top(output_of(params).style)
    except UsageError as error:
        raise MnemonError(INVALID_PARAMS, error.message, hint=error.hint, outcome="rejected") from None


def _answer(argv: Sequence[str], output: Output) -> str | None:
    head, _ = split_at_dashes(argv)
    name, rest = _find(head)
    if name == "help":
        name, rest = " ".join(rest[:2]), ["--help"]
    if {"-v", "--version"} & set(head) and not name:
        return lines(f"mnemon version {SERVER_VERSION} (mnemond)")
    if not name:
        return _top(output.style)
    if name == "store":
        return _group(output.style)
    if {"-h", "--help"} & set(rest):
        if name in BY_CLIENT and name in BY_NAME:
            return help_text.command(BY_NAME[name], output.style)
        return _of_command(_command(name), output.style)
    return None


def _find(argv: Sequence[str]) -> tuple[str, list[str]]:
    """The name of the command, "" without one, and the arguments without it. Raises UsageError."""
    rest = list(argv)
    at = _next_word(rest, 0)
    if at is None:
        return "", rest
    first = rest.pop(at)
    if first != "store" or (then := _next_word(rest, at)) is None:
        return first, rest
    return f"store {rest.pop(then)}", rest


def _next_word(argv: Sequence[str], start: int) -> int | None:
    """The index of the next argument that is a word, past options of every command. Raises UsageError for others."""
    at = start
    while at < len(argv) and argv[at] != "--":
        word = argv[at]
        if not looks_like_option(word):
            return at
        name = word.partition("=")[0]
        if name not in _VALUES | _FLAGS:
            raise _unknown_option(name)
        at += 2 if word in _VALUES else 1
    return None


def _command(name: str) -> MnemonCommand:
    if name in _BY_NAME:
        return _BY_NAME[name]
    shown = one_line(name[:MAX_SHOWN])
    message = f'unknown command "{shown}" for "mnemon"'
    if name in INSTEAD:
        raise UsageError(message, f"Use: {INSTEAD[name]}")
    if name in BY_NAME or name in FIRST_WORDS:
        raise UsageError(message, f"Use: mnemonctl {shown}")
    meant = nearest_command(name, _BY_NAME)
    known = meant is not None and meant in _BY_NAME
    raise UsageError(message, f"Did you mean: mnemon {meant}?" if known else "See: mnemon --help")


def _split(command: MnemonCommand, argv: Sequence[str], stdin: str | None) -> tuple[dict[str, Any], list[str]]:
    head, _ = split_at_dashes(argv)
    for word in head:
        name = word.partition("=")[0]
        if name in OPTIONS_INSTEAD and (name == "--embed-model" or name not in command.parser.option_names()):
            raise _unknown_option(name)
    return command.parser.split(argv, stdin)


def _unknown_option(name: str) -> UsageError:
    instead = OPTIONS_INSTEAD.get(name)
    shown = one_line(name[:MAX_SHOWN])
    return UsageError(f"unknown flag: {shown}", f"Use: {instead}" if instead else "See: mnemon --help")


# Help.


def _top(style: Style) -> str:
    commands = [(f"{each.name} {each.usage}".rstrip(), each.summary) for each in COMMANDS]
    same = [(name, summary) for name, summary in BY_CLIENT.items() if name in BY_NAME]
    return lines(
        "mnemon: mnemon's own commands, run by the mnemond daemon",
        "",
        style.strong("Commands"),
        *table([*commands, *same], style),
        "",
        style.strong("Options of every command"),
        *table(map(option_row, GLOBALS), style),
        "",
        "More: mnemon COMMAND --help. Everything else that mnemond can do: mnemonctl --help",
    )


def _group(style: Style) -> str:
    stores = [each for each in COMMANDS if each.name.startswith("store ")]
    return lines(
        style.strong("Commands"),
        *table([(f"{each.name} {each.usage}".rstrip(), each.summary) for each in stores], style),
    )


def _of_command(command: MnemonCommand, style: Style) -> str:
    options = command.parser.options
    return lines(
        command.summary,
        "",
        style.strong("Usage"),
        f"  mnemon {command.name} {command.usage}".rstrip() + " [options]",
        *(["", style.strong("Options"), *table(map(option_row, options), style)] if options else []),
        "",
        style.strong("Options of every command"),
        *table(map(option_row, GLOBALS), style),
    )
