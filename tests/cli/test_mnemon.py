"""mnemon's command lines inside the daemon: what is requested of which method, and sentences of errors.

Their output with a real store: tests/daemon/test_mnemon.py.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mnemonctl import fast
from mnemond.api.types_daemon import CliRunParams, CliRunResult
from mnemond.api.types_stores import StoreEntry, StoreListResult, StoreRemoveResult, StoreSetResult
from mnemond.cli import mnemon
from mnemond.cli.mnemon import BY_CLIENT, COMMANDS, INSTEAD, OPTIONS_INSTEAD
from mnemond.cli.run import CliHandler
from mnemond.errors import NOT_FOUND, STORAGE, MnemonError
from mnemond.model.answers import CompactHit, CompactResult, LogLine
from mnemond.model.outcomes import CausalCandidate
from mnemond.wire.deferred import run_now
from mnemond.wire.dispatch import Call
from mnemond.wire.params import Method
from tests.cli import audit_results, embed_results, results
from tests.cli.results import ID, OLD, RECALLED, SEARCHED
from tests.tables import each_row

CALL = Call(connection=1, peer_pid=2, peer_uid=3)
COMPACT = CompactResult(
    results=[CompactHit(ID, "x", "fact", 3, intent="WHY", matched_via="keyword", confidence="low", score=0.1)],
    meta=msgspec.structs.replace(RECALLED.meta, hint="sparse_results"),
)


class Methods:
    """Results by method; a method without one fails the test."""

    def __init__(self, **results: object) -> None:
        self.results = {name.replace("_", "."): result for name, result in results.items()}
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def __call__(self, method: Method, params: Any, call: Call) -> Any:
        msgspec.convert(params, method.params)  # as the daemon reads them
        self.asked.append((method.name, params))
        result = self.results[method.name]
        if isinstance(result, Exception):
            raise result
        return result


def run(methods: Methods, *argv: str, **facts: Any) -> CliRunResult:
    params = CliRunParams(argv=list(argv), program="mnemon", **facts)

    def no_task(_: object) -> None:
        raise AssertionError("nothing here needs a task")

    answer = run_now(CliHandler(methods).run(CALL, params), no_task)
    assert isinstance(answer, CliRunResult)
    return answer


def error(*argv: str, methods: Methods | None = None) -> str:
    done = run(methods or Methods(), *argv)
    assert (done.exit_code, done.stdout) == (1, "")
    return done.stderr


INSIGHT_KEYS = [
    "id", "content", "category", "importance", "tags", "entities", "source", "access_count", "created_at", "updated_at"
]  # fmt: skip
REMEMBER_KEYS = [
    "id", "content", "category", "importance", "tags", "entities", "created_at", "action", "diff_suggestion",
    "edges_created", "semantic_candidates", "causal_candidates", "quality_warnings", "embedded",
    "effective_importance", "auto_pruned", "auto_pruned_ids",
]  # fmt: skip


def shown(methods: Methods, *argv: str) -> Any:
    done = run(methods, *argv)
    assert (done.exit_code, done.stderr) == (0, "")
    return msgspec.json.decode(done.stdout)


def test_the_reply_of_remember_has_the_memory_as_it_is_stored() -> None:
    methods = Methods(remember=results.REMEMBERED, get=results.GOT)
    reply = shown(
        methods, "remember", "We", "chose", "it", "--cat", "decision", "--imp", "4", "--tags", "a, b", "--no-diff"
    )
    assert list(reply) == REMEMBER_KEYS
    assert reply["entities"] == list(results.GOT.insight.entities)
    assert methods.asked == [
        ("remember", {"content": "We chose it", "category": "decision", "importance": 4, "tags": ["a", "b"],
                      "source": "user", "entities": [], "entity_mode": "merge", "no_diff": True}),
        ("get", {"id": results.REMEMBERED.id}),
    ]  # fmt: skip


def test_a_replaced_memory_is_called_updated_and_a_discarded_text_has_no_memory() -> None:
    reply = shown(Methods(remember=results.REPLACED, get=results.GOT), "remember", "x")
    assert (reply["action"], reply["replaced_id"]) == ("updated", OLD)
    discarded = msgspec.structs.replace(results.REMEMBERED, id=None, action="discarded")
    reply = shown(Methods(remember=discarded), "remember", "x")
    assert (reply["id"], reply["action"], "content" in reply) == (None, "discarded", False)


@pytest.mark.parametrize("signal", ["because", None])
def test_a_causal_candidate_has_the_signal_of_either_text(signal: str | None) -> None:
    def candidate(content: str, found: str | None) -> CausalCandidate:
        return CausalCandidate(OLD, content, 2, "entity", found, "causes", "to_candidate", 0.5)

    near = [candidate("It rained", signal), candidate("In order to win", None), candidate("It rained", None)]
    stored = msgspec.structs.replace(results.REMEMBERED, causal_candidates=near)
    reply = shown(Methods(remember=stored, get=results.GOT), "remember", "Nothing else")
    assert [each["causal_signal"] for each in reply["causal_candidates"]] == [signal or "", "in order to", ""]


@each_row(
    ("line", "methods", "keys"),
    [
        (["forget", ID], {"forget": results.FORGOTTEN}, ["id", "status", "message"]),
        (["link", ID, OLD, "--meta", '{"reason":"r"}'], {"get": results.GOT, "link": results.LINKED},
         ["status", "source_id", "target_id", "edge_type", "weight", "metadata"]),
        (["gc", "--keep", ID], {"gc": audit_results.KEPT},
         ["status", "id", "content", "new_access", "effective_importance", "immune"]),
        (["gc", "--threshold", "999"], {"gc": audit_results.COLLECTABLE, "get": results.GOT},
         ["total_insights", "threshold", "candidates_found", "candidates", "max_insights", "actions"]),
        (["status"], {"status": results.STATUS},
         ["total_insights", "deleted_insights", "by_category", "edge_count", "top_entities", "oplog_count", "db_path",
          "db_size_bytes"]),
        (["receipt"], {"receipt": audit_results.RECEIPT},
         ["schema", "generated_at", "store", "limit", "count", "privacy", "events"]),
        (["embed", "--status"], {"embed_status": embed_results.STATUS},
         ["total_insights", "embedded", "coverage", "embedding_available", "ollama_available", "protocol", "model"]),
        (["embed", ID], {"embed_run": embed_results.EMBEDDED}, ["status", "id", "dimension", "model"]),
        (["embed", "--all"], {"embed_run": embed_results.RAN}, ["status", "succeeded", "failed", "model"]),
        (["embed", "--all"], {"embed_run": embed_results.NOTHING}, ["status", "message"]),
        (["recall", "x"], {"recall": COMPACT}, ["results", "hint"]),
    ],
)  # fmt: skip
def test_documents_have_mnemons_fields(line: list[str], methods: dict[str, object], keys: list[str]) -> None:
    assert list(shown(Methods(**methods), *line)) == keys


def test_parts_of_documents_have_mnemons_fields() -> None:
    (hit, *_) = shown(Methods(recall=RECALLED), "recall", "x", "--verbose")["results"]
    assert list(hit) == ["insight", "score", "intent", "via", "signals"]
    assert list(hit["insight"]) == list(shown(Methods(recall=RECALLED), "recall", "x", "--basic")[0]) == INSIGHT_KEYS
    methods = Methods(gc=audit_results.COLLECTABLE, get=results.GOT)
    (candidate, *_) = shown(methods, "gc", "--threshold", "999")["candidates"]
    assert list(candidate) == ["insight", "effective_importance", "days_since_access", "edge_count", "immune"]
    assert methods.asked[0] == ("gc", {"threshold": 100.0, "limit": 20})
    events = shown(Methods(receipt=audit_results.RECEIPT), "receipt")["events"]
    assert {each["event_name"] for each in events} == {"mnemon.memory.operation.observed"}
    assert None not in [value for each in events for value in each.values()]
    links = results.STATUS.edges_by_type
    rows = sum(count if kind == "causal" else 2 * count for kind, count in links.items())
    assert shown(Methods(status=results.STATUS), "status")["edge_count"] == rows


def test_texts_of_stores() -> None:
    assert run(Methods(store_list=results.STORES), "store", "list").stdout.startswith(("* ", "  "))
    assert run(Methods(store_create=results.CREATED), "store", "create", "work").stdout == 'Created store "work"\n'
    there = msgspec.structs.replace(results.CREATED, created=False)
    assert (
        error("store", "create", "work", methods=Methods(store_create=there)) == 'Error: store "work" already exists\n'
    )
    chosen = StoreSetResult(name="work", previous="default")
    assert run(Methods(store_set=chosen), "store", "set", "work").stdout == 'Active store set to "work"\n'
    absent = 'Error: store "gone" does not exist'
    assert error("store", "remove", "gone", methods=Methods(store_list=results.STORES)) == f"{absent}\n"
    missing = MnemonError(NOT_FOUND, "no store")
    assert error("store", "set", "gone", methods=Methods(store_set=missing)).startswith(absent)
    none = StoreListResult(stores=[], active="default", source="default")
    assert "no stores yet" in run(Methods(store_list=none), "store", "list").stdout


def test_help_without_the_daemon_is_the_same() -> None:
    for argv in (["--help"], [], ["help", "gc"], ["gc", "-h"], ["--version"]):
        params = CliRunParams(argv=argv, program="mnemon")
        assert mnemon.answer(params) == run(Methods(), *argv).stdout
    with pytest.raises(MnemonError, match="unknown flag: --nothing"):
        mnemon.answer(CliRunParams(argv=["--nothing"], program="mnemon"))


def test_what_is_larger_than_our_limits_is_cut_to_them() -> None:
    methods = Methods(search=SEARCHED)
    run(methods, "search", "x", "--limit", "5000", "--store", "work")
    assert methods.asked == [("search", {"store": "work", "query": "x", "limit": 1000})]
    methods = Methods(related=[])
    assert run(methods, "related", "aaaaaaaa", "--depth", "9").stdout == "[]\n"
    assert methods.asked == [("related", {"id": "aaaaaaaa", "depth": 5, "limit": 1000})]


def test_standard_input_is_the_text_of_a_dash() -> None:
    methods = Methods(search=SEARCHED)
    run(methods, "search", "-", stdin="two words\n")
    assert methods.asked[0][1]["query"] == "two words"


def test_read_only_calls_of_what_writes_are_refused_before_they_are_made() -> None:
    assert "--readonly was given" in error("remember", "x", "--readonly")
    methods = Methods(recall=RECALLED)
    run(methods, "recall", "x", "--readonly", "--verbose")
    assert methods.asked[0][1]["touch"] is False


def test_a_store_is_removed_without_a_question_but_never_the_one_in_use() -> None:
    stores = StoreListResult(
        stores=[StoreEntry("default", True), StoreEntry("work", False)], active="default", source="default"
    )
    removed = StoreRemoveResult(name="work", backup="b", purged=False)
    methods = Methods(store_list=stores, store_remove=removed)
    assert run(methods, "store", "remove", "work").stdout == 'Removed store "work"\n'
    assert methods.asked[-1] == ("store.remove", {"name": "work", "yes": True})
    for line in (["store", "remove", "default"], ["store", "remove", "work", "--store", "work"]):
        assert error(*line, methods=methods).startswith("Error: cannot remove the active store")


def test_a_hostile_name_or_text_drives_no_terminal() -> None:
    entry = LogLine(1, "remember", "a" * 36, "", "2026-01-01T00:00:00Z", None, words="\x1b[31mred\nline " + "x" * 80)
    shown = run(Methods(log=[entry]), "log", tty=True).stdout
    assert "\x1b" not in shown
    assert len(shown.splitlines()) == 3
    assert shown.endswith("...\n")
    assert "\x1b" not in error("store", "create", "\x1b[31m") + error("\x1b[31m") + error("--\x1b[31m")


def test_an_empty_log_and_other_errors_of_methods() -> None:
    assert run(Methods(log=[]), "log").stdout == "No operations recorded yet.\n"
    refused = MnemonError(STORAGE, "the disk is full", hint="make room")
    assert error("status", methods=Methods(status=refused)) == "Error: the disk is full\n  make room\n"
    gone = MnemonError(NOT_FOUND, "not there", hint="a hint of mnemonctl")
    assert error("forget", "aaaaaaaa", methods=Methods(forget=gone)).endswith("not found or already deleted\n")
    assert error("status", methods=Methods(status=gone)).startswith("Error: not there\n")


@each_row(
    ("line", "sentence"),
    [
        (["remember", "x", "--cat", "nonsense"], 'invalid category "nonsense"; valid: preference, decision, fact'),
        (["remember", "x", "--entity-mode", "all"], 'invalid entity mode "all"; valid: merge, provided, auto'),
        (["remember"], "requires at least 1 arg(s), only received 0"),
        (["link", "a"], "accepts 2 arg(s), received 1"),
        (["link", "a", "b", "--type", "narrative"], 'invalid edge type "narrative"; valid: '),
        (["link", "a", "b", "--meta", "{"], "--meta is not JSON"),
        (["recall", "x", "--limit", "0"], "--limit must be greater than 0, got 0"),
        (["recall", "x", "--cat", "y"], 'invalid category "y"'),
        (["related", "a", "--depth", "0"], "depth must be greater than 0"),
        (["gc", "--threshold", "-1"], "--threshold must not be negative, got -1"),
        (["embed"], "specify --all to backfill, --status to check coverage, or provide an insight ID"),
        (["store", "create", "a/b"], 'invalid store name "a/b"'),
        (["store", "create", ""], 'invalid store name ""'),
        (["store", "rename"], 'unknown command "store rename" for "mnemon"'),
        (["recal", "x"], 'unknown command "recal" for "mnemon"\n  Did you mean: mnemon recall?'),
        (["nothing-like-it"], 'unknown command "nothing-like-it" for "mnemon"\n  See: mnemon --help'),
        (["undo"], 'unknown command "undo" for "mnemon"\n  Use: mnemonctl undo'),
        (["daemon"], 'unknown command "daemon" for "mnemon"\n  Use: mnemonctl daemon'),
        (["--limit", "3", "recall", "x"], "unknown flag: --limit"),
        (["status", "--nothing"], "status has no option --nothing\n  See: mnemon status --help"),
        (["remember", "x", "--imp", "many"], "--imp: must be a whole number, not 'many'\n  See: mnemon remember"),
    ],
)  # fmt: skip
def test_sentences_of_errors(line: list[str], sentence: str) -> None:
    assert error(*line).startswith(f"Error: {sentence}")


@each_row("name", sorted(set(INSTEAD) - {"help"}))
def test_a_command_that_is_not_here_says_what_to_use(name: str) -> None:
    assert error(name) == f'Error: unknown command "{name}" for "mnemon"\n  Use: {INSTEAD[name]}\n'


@each_row("name", OPTIONS_INSTEAD)
def test_an_option_that_is_not_here_says_what_to_use(name: str) -> None:
    for word in (name, f"{name}=x"):
        assert error("recall", "x", word) == f"Error: unknown flag: {name}\n  Use: {OPTIONS_INSTEAD[name]}\n"


@each_row("command", COMMANDS)
def test_every_command_has_a_page_and_is_listed(command: mnemon.MnemonCommand) -> None:
    words = command.name.split()
    page = run(Methods(), *words, "--help").stdout
    assert f"mnemon {command.name}" in page
    assert all(flag in page for option in command.parser.options for flag in option.flags)
    assert page == run(Methods(), "help", *words).stdout
    assert f"  {command.name} {command.usage}".rstrip() in run(Methods(), "--help").stdout
    if words[0] == "store":
        assert f"  {command.name}" in run(Methods(), "store").stdout


def test_the_client_runs_the_same_commands_as_the_help_says() -> None:
    assert set(BY_CLIENT) == fast.SAME_COMMANDS
    assert not set(BY_CLIENT) & {command.name for command in COMMANDS}
    assert run(Methods(), "setup", "--help").stdout.startswith("Examples\n  mnemonctl setup\n")


def test_json_for_a_terminal_is_escaped() -> None:
    hit = SEARCHED.results[0]
    evil = msgspec.structs.replace(hit, insight=msgspec.structs.replace(hit.insight, content="a\u202eb\x7f"))
    shown = run(Methods(search=msgspec.structs.replace(SEARCHED, results=[evil])), "search", "x", tty=True).stdout
    assert "\u202e" not in shown
    assert msgspec.json.decode(shown)[0]["content"] == "a\u202eb\x7f"
