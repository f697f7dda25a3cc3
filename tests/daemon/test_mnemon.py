"""mnemon's commands through the link that setup makes, with the real daemon and client.

The transcript has the examples of mnemon's guide and readme. The tests below it are for what scripts that were written
for mnemon rely on: texts, the fields of JSON documents, and what is found and linked.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.daemon_process import DaemonProcess
from tests.daemon.typed import Terminal, play, quoted
from tests.tables import each_row

EXAMPLES = """\
$ mnemon store list
  (no stores yet — run 'mnemon store create <name>' or any command to create default)
$ mnemon remember "Chose Qdrant over Milvus for vector search" \
--cat decision --imp 5 --entities "Qdrant,Milvus" --tags "architecture,search" --source agent
{
  "id": "00000001-0000-0000-0000-000000000000",
  "content": "Chose Qdrant over Milvus for vector search",
  "category": "decision",
  "importance": 5,
  "tags": [
    "architecture",
    "search"
  ],
  "entities": [
    "Qdrant",
    "Milvus"
  ],
  "created_at": "TIME",
  "action": "added",
  "diff_suggestion": "ADD",
  "edges_created": {
    "temporal": 0,
    "entity": 0,
    "causal": 0,
    "semantic": 0
  },
  "semantic_candidates": [],
  "causal_candidates": [],
  "quality_warnings": [],
  "embedded": true,
  "effective_importance": 1.0,
  "auto_pruned": 0,
  "auto_pruned_ids": []
}
$ mnemon remember "Raw note" --no-diff | grep '^  "id"'
  "id": "00000002-0000-0000-0000-000000000000",
$ mnemon remember "Chose Qdrant over Milvus for vector search" | grep -E '"(id|action|diff_suggestion|replaced_id)"'
  "id": "00000001-0000-0000-0000-000000000000",
  "action": "skipped",
  "diff_suggestion": "DUPLICATE",
  "replaced_id": "00000001-0000-0000-0000-000000000000",
$ mnemon recall "vector database" --limit 1 | grep -vE "score|confidence"
{
  "results": [
    {
      "id": "00000001-0000-0000-0000-000000000000",
      "content": "Chose Qdrant over Milvus for vector search",
      "category": "decision",
      "importance": 5,
      "intent": "GENERAL",
      "matched_via": "hybrid",
    }
  ]
}
$ mnemon recall "vector database" --smart --limit 10 | grep -c '"confidence"'
2
$ mnemon recall "vector database" --verbose | grep -oE '"(signals|meta|anchor_count|traversed|created_at)"' | sort -u
"anchor_count"
"created_at"
"meta"
"signals"
"traversed"
$ mnemon recall "why did we choose Qdrant" --intent WHY --verbose | grep intent_source
    "intent_source": "override",
$ mnemon recall "Qdrant" --cat decision --source agent | grep '"id"'
      "id": "00000001-0000-0000-0000-000000000000",
$ mnemon recall "auth" --basic
[]
$ mnemon search "authentication" --limit 10
[]
$ mnemon link 00000001 00000002 --type semantic --weight 0.85
{
  "status": "linked",
  "source_id": "00000001-0000-0000-0000-000000000000",
  "target_id": "00000002-0000-0000-0000-000000000000",
  "edge_type": "semantic",
  "weight": 0.85,
  "metadata": {
    "created_by": "host"
  }
}
$ mnemon link 00000001 00000002 --type causal --weight 0.8 --meta '{"sub_type":"causes","reason":"..."}' | grep -A5 edge
  "edge_type": "causal",
  "weight": 0.8,
  "metadata": {
    "sub_type": "causes",
    "reason": "...",
    "created_by": "host"
$ mnemon related 00000001 --edge causal --depth 2
[
  {
    "id": "00000002-0000-0000-0000-000000000000",
    "content": "Raw note",
    "category": "general",
    "importance": 3,
    "depth": 1,
    "via_edge_type": "causal"
  }
]
$ mnemon gc --threshold 0.5 --limit 20 | grep -vE '"(purge|keep)"'
{
  "total_insights": 2,
  "threshold": 0.5,
  "candidates_found": 0,
  "candidates": [],
  "max_insights": 1000,
  "actions": {
  }
}
$ mnemon gc --keep 00000002 | grep -E '"(status|new_access|immune)"'
  "status": "retained",
  "new_access": 3,
  "immune": true
$ mnemon store create work
Created store "work"
$ mnemon store set work
Active store set to "work"
$ mnemon store list
  default
* work
$ MNEMON_STORE=default mnemon store list
* default
  work
$ mnemon --store default store set default
Active store set to "default"
$ mnemon store remove work
Removed store "work"
$ mnemon status | grep -vE '_bytes|db_path|oplog|"count"'
{
  "total_insights": 2,
  "deleted_insights": 0,
  "by_category": {
    "decision": 1,
    "general": 1
  },
  "edge_count": 5,
  "top_entities": [
    {
      "entity": "Milvus",
    },
    {
      "entity": "Qdrant",
    }
  ],
}
$ mnemon log --limit 50 | grep -vE ' (recall|search) '
TIME                         OP         INSIGHT   DETAIL
----                         --         -------   ------
TIME  gc_keep    00000002  Raw note
TIME  link       00000001  Chose Qdrant over Milvus for vector search
TIME  link       00000001  Chose Qdrant over Milvus for vector search
TIME  diff-skip  00000001  Chose Qdrant over Milvus for vector search
TIME  remember   00000002  Raw note
TIME  remember   00000001  Chose Qdrant over Milvus for vector search
$ mnemon receipt --limit 50 | grep -oE '"(schema|hash_algorithm|raw_detail_included)": [^,]*'
"schema": "mnemon.memory.receipt.v1"
"raw_detail_included": false
"hash_algorithm": "sha256"
$ mnemon forget 00000002
{
  "id": "00000002-0000-0000-0000-000000000000",
  "status": "deleted",
  "message": "Insight soft-deleted successfully"
}
$ mnemon embed --status
{
  "total_insights": 1,
  "embedded": 1,
  "coverage": "100%",
  "embedding_available": true,
  "ollama_available": false,
  "protocol": "builtin",
  "model": "minilm_static_256_int8"
}
$ mnemon embed --all
{
  "status": "complete",
  "message": "every memory has a vector that can have one"
}
$ mnemon embed 00000001 | grep status
  "status": "embedded",
$ mnemon setup --eject --target gemini --yes
Gemini CLI: absent
everything is in order, nothing was changed
"""


class Mnemon:
    """Runs `mnemon` by the link, as a script does: without a terminal."""

    def __init__(self, data_dir: Path, home: Path) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MNEMON_")}
        path = f"{home}/.local/bin{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.variables = {"HOME": str(home), "PATH": path}
        self._environ = {**kept, **self.variables, "MNEMON_DATA_DIR": str(data_dir)}

    def process(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["mnemon", *words], env={**self._environ, **variables}, cwd="/", capture_output=True, text=True,
            timeout=60, check=False,
        )  # fmt: skip

    def text(self, *words: str, **variables: str) -> str:
        done = self.process(*words, **variables)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def json(self, *words: str, **variables: str) -> Any:
        return json.loads(self.text(*words, **variables))

    def error(self, *words: str) -> str:
        """The first line of what it says about an error; every error has exit status 1 and no output."""
        done = self.process(*words)
        assert (done.returncode, done.stdout) == (1, "")
        return done.stderr.splitlines()[0]

    def remember(self, text: str, *more: str) -> Any:
        return self.json("remember", "--no-diff", text, *more)


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[DaemonProcess]:
    directory = tmp_path / "data"
    directory.mkdir(mode=0o700)
    with DaemonProcess(directory) as running:
        yield running


def set_up(mnemon: Mnemon, data_dir: Path) -> None:
    """Let the client make the link."""
    command = ["mnemonctl", "setup", "--target", "generic", "--mnemon-alias", "--yes", "--data-dir", str(data_dir)]
    subprocess.run(command, env={**os.environ, **mnemon.variables}, check=True, capture_output=True, timeout=60)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where the link leads: the same for every user of this client."""
    home = tmp_path_factory.mktemp("linked")
    (home / "data").mkdir(mode=0o700)
    set_up(Mnemon(home / "data", home), home / "data")
    return os.readlink(home / ".local" / "bin" / "mnemon")


@pytest.fixture
def mnemon(daemon: DaemonProcess, tmp_path: Path, client: str) -> Mnemon:
    home = tmp_path / "home"
    (home / ".local" / "bin").mkdir(parents=True)
    (home / ".local" / "bin" / "mnemon").symlink_to(client)
    return Mnemon(daemon.data_dir, home)


def test_mnemons_examples(daemon: DaemonProcess, mnemon: Mnemon) -> None:
    link = Path(mnemon.variables["HOME"], ".local", "bin", "mnemon")
    link.unlink()
    set_up(mnemon, daemon.data_dir)
    assert link.is_symlink()
    play(EXAMPLES, Terminal(daemon.data_dir, **mnemon.variables))


def test_texts_of_stores(mnemon: Mnemon) -> None:
    assert "no stores yet" in mnemon.text("store", "list")
    assert mnemon.text("store", "create", "default") == 'Created store "default"\n'
    assert mnemon.text("store", "create", "work") == 'Created store "work"\n'
    assert mnemon.error("store", "create", "work") == 'Error: store "work" already exists'
    assert mnemon.error("store", "create", ".bad").startswith('Error: invalid store name ".bad": must match ')
    assert mnemon.error("store", "set", "none").startswith('Error: store "none" does not exist')
    assert mnemon.error("store", "remove", "none") == 'Error: store "none" does not exist'
    assert mnemon.text("store", "set", "work") == 'Active store set to "work"\n'
    assert mnemon.text("store", "list") == "  default\n* work\n"
    assert mnemon.error("store", "remove", "work").startswith('Error: cannot remove the active store "work"')
    assert mnemon.text("store", "remove", "default") == 'Removed store "default"\n'


def test_stores_are_apart_and_the_variable_comes_before_the_active_one(mnemon: Mnemon) -> None:
    mnemon.text("store", "create", "work")
    mnemon.text("store", "set", "work")
    for name in ("default", "work"):
        mnemon.json("remember", f"I am in {name} store", MNEMON_STORE=name)
    for name in ("default", "work"):
        found = mnemon.json("search", "store", MNEMON_STORE=name)
        assert [each["content"] for each in found] == [f"I am in {name} store"]
        assert mnemon.json("status", MNEMON_STORE=name)["db_path"].endswith(f"data/{name}/mnemon.db")


@each_row(
    ("text", "options", "there", "absent"),
    [
        ("User prefers Qdrant for vector DB", [], {"Qdrant"}, set()),
        ("We use HttpServer and DataStore in the project", [], {"HttpServer", "DataStore"}, set()),
        ("Config: ./cmd/root.go and internal/store/db.go", [], {"./cmd/root.go", "internal/store/db.go"}, set()),
        ("推荐阅读《深入理解计算机系统》这本书", [], {"深入理解计算机系统"}, set()),
        ("We use React and TypeScript with Redis for caching", [], {"React", "TypeScript", "Redis"}, set()),
        ("The API uses gRPC and JWT for authentication over HTTP", [], {"API", "JWT", "HTTP"}, set()),
        ("IF YOU CAN SEE THE WAY TO DO IT", [], set(), {"IF", "YOU"}),
        ("Python and FastAPI are great for prototyping", [], {"Python", "FastAPI"}, set()),
        (
            "We deploy HttpServer on Docker with Redis", ["--entities", "deployment-pipeline,high-availability"],
            {"deployment-pipeline", "high-availability", "HttpServer", "Docker", "Redis"}, set(),
        ),
        (
            "We deploy HttpServer on Docker with Redis", ["--entities", "strict-entity", "--entity-mode", "provided"],
            {"strict-entity"}, {"HttpServer", "Docker"},
        ),
        (
            "We deploy HttpServer on Docker with Redis", ["--entities", "ignored-entity", "--entity-mode", "auto"],
            {"HttpServer", "Docker"}, {"ignored-entity"},
        ),
    ],
)  # fmt: skip
def test_entities_are_in_the_reply(
    mnemon: Mnemon, text: str, options: list[str], there: set[str], absent: set[str]
) -> None:
    entities = set(mnemon.remember(text, *options)["entities"])
    assert there <= entities
    assert not absent & entities


def test_links_are_counted_one_for_each_direction(mnemon: Mnemon) -> None:
    first = mnemon.remember("We use HttpServer and DataStore in the project")
    assert first["edges_created"] == {"temporal": 0, "entity": 0, "causal": 0, "semantic": 0}
    second = mnemon.remember("HttpServer handles all API requests")
    assert (second["edges_created"]["temporal"], second["edges_created"]["entity"]) == (2, 2)
    assert mnemon.json("status")["edge_count"] >= 4
    for one, other in ((first, second), (second, first)):
        assert [each["id"] for each in mnemon.json("related", one["id"], "--edge", "entity")] == [other["id"]]


def test_causal_candidates_reach_over_two_hops(mnemon: Mnemon) -> None:
    first = mnemon.remember("Causal test baseline insight about caching")
    assert first["causal_candidates"] == []
    second = mnemon.remember("Chose Redis because of latency requirements in caching", "--cat", "decision")
    (near,) = second["causal_candidates"]
    fields = ("id", "hop", "causal_signal", "suggested_sub_type")
    assert [near[name] for name in fields] == [first["id"], 1, "because", "causes"]
    assert near["via_edge"] in ("temporal", "entity", "causal", "semantic")
    last = mnemon.remember("Edge caching reduces Redis load significantly")
    assert {each["id"] for each in last["causal_candidates"]} == {first["id"], second["id"]}


def test_a_candidate_two_links_away_is_named_as_such(mnemon: Mnemon, daemon: DaemonProcess) -> None:
    earlier = quoted("remember", "Flooded because the dam broke", "--created-at", "2020-01-01T00:00:00Z", "--json")
    far = json.loads(Terminal(daemon.data_dir).type(earlier))["id"]
    between = mnemon.remember("Lunch is at noon")["id"]  # linked to it as the next of the same source
    found = mnemon.remember("Zephyr logs the wind")["causal_candidates"]
    assert {each["id"]: (each["hop"], each["causal_signal"]) for each in found} == {
        between: (1, ""), far: (2, "because")
    }  # fmt: skip


def test_thresholds_above_a_hundred_list_all_that_are_not_immune(mnemon: Mnemon) -> None:
    for number in range(3):
        mnemon.remember(f"Low importance note {number}", "--imp", "1")
    high = mnemon.remember("High importance decision", "--cat", "decision", "--imp", "5")
    for threshold in ("999", "101", "100", "2.0"):
        listed = mnemon.json("gc", "--threshold", threshold)
        assert (listed["total_insights"], listed["threshold"]) == (4, float(threshold))
        assert listed["candidates_found"] == len(listed["candidates"]) == 3
        assert all(each["insight"]["importance"] == 1 and not each["immune"] for each in listed["candidates"])
        assert all(each["effective_importance"] < high["effective_importance"] for each in listed["candidates"])
        assert {"days_since_access", "edge_count"} <= set(listed["candidates"][0])


def test_what_is_kept_is_no_candidate_any_more(mnemon: Mnemon) -> None:
    kept = mnemon.remember("Temporary context note", "--cat", "context", "--imp", "1")["id"]
    listed = mnemon.json("gc", "--threshold", "0.7")
    assert [each["insight"]["id"] for each in listed["candidates"]] == [kept]
    done = mnemon.json("gc", "--keep", kept)
    assert (done["status"], done["new_access"], done["immune"]) == ("retained", 3, True)
    assert mnemon.json("gc", "--threshold", "0.7")["candidates"] == []


def test_a_sparse_answer_says_so(mnemon: Mnemon) -> None:
    assert mnemon.json("recall", "Qdrant") == {"results": [], "hint": "sparse_results"}
    mnemon.remember("User prefers Qdrant for vector DB")
    assert mnemon.json("recall", "nonexistent_xyz")["hint"] == "sparse_results"
    assert "hint" not in mnemon.json("recall", "Qdrant", "--limit", "2")


def test_recall_follows_links_over_two_hops(mnemon: Mnemon) -> None:
    chain = [
        mnemon.remember("Alpha service handles request routing"),
        mnemon.remember("Request routing uses Alpha service because of low latency"),
        mnemon.remember("Low latency achieved because of edge caching"),
    ]
    found = mnemon.json("recall", "why Alpha service routing", "--smart", "--verbose")
    assert {each["insight"]["id"] for each in found["results"]} == {each["id"] for each in chain}
    assert (found["meta"]["intent"], found["meta"]["intent_source"]) == ("WHY", "auto")
    assert {"keyword", "entity", "similarity", "graph"} == set(found["results"][0]["signals"])


@each_row(
    ("line", "sentence"),
    [
        (["link", "aaaaaaaa", "bbbbbbbb", "--weight", "1.5"], "Error: weight must be between 0.0 and 1.0, got 1.50"),
        (["link", "nonexistent-id-000", "x"], "Error: source insight nonexistent-id-000 not found"),
        (["gc", "--keep", "nonexistent-id-000"], "Error: insight nonexistent-id-000 not found"),
        (["related", "nonexistent-id-000"], "Error: insight nonexistent-id-000 not found"),
        (["forget", "nonexistent-id-000"], "Error: forget: insight nonexistent-id-000 not found or already deleted"),
        (["recall", "x", "--intent", "NO"], 'Error: unknown intent "NO"; valid: WHY, WHEN, ENTITY, GENERAL'),
        (["remember", "x", "--imp", "9"], "Error: importance must be 1-5, got 9"),
        (["show", "aaaaaaaa"], 'Error: unknown command "show" for "mnemon"'),
    ],
)  # fmt: skip
def test_sentences_of_errors(mnemon: Mnemon, line: list[str], sentence: str) -> None:
    assert mnemon.error(*line) == sentence


def test_read_only_calls_write_nothing(mnemon: Mnemon) -> None:
    mnemon.remember("User prefers Qdrant for vector DB")
    before = mnemon.json("recall", "Qdrant", "--verbose", "--readonly")["results"][0]["insight"]
    assert mnemon.json("recall", "Qdrant", "--verbose", "--readonly")["results"][0]["insight"] == before
    assert "--readonly" in mnemon.error("remember", "x", "--readonly")
    assert mnemon.json("status")["total_insights"] == 1


@pytest.mark.check_all
def test_a_draft_is_imported_without_a_question(mnemon: Mnemon, tmp_path: Path) -> None:
    insights = [{"content": "Chose Qdrant over Milvus"}, {"content": "The budget was cut in March"}]
    edges = [{"source_index": 0, "target_index": 1, "edge_type": "semantic", "reason": "one meeting"}]
    draft = tmp_path / "memory_draft.json"
    draft.write_text(json.dumps({"schema_version": "1", "insights": insights, "edges": edges}))
    assert mnemon.json("import", str(draft), "--dry-run")["added"] == {"memory": 2, "edge": 1}
    assert mnemon.json("status")["total_insights"] == 0
    assert mnemon.json("import", str(draft), "--no-diff")["memories"] == 2
    assert mnemon.json("import", "--", str(draft))["memories"] == 0
    assert mnemon.json("status")["total_insights"] == 2


def test_what_it_writes_belongs_to_no_project(mnemon: Mnemon, daemon: DaemonProcess, tmp_path: Path) -> None:
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    shell = Terminal(daemon.data_dir, **mnemon.variables)
    shell.place = tmp_path / "repository"
    shell.type("mnemon remember 'The build takes nine minutes'")
    assert '"project":null' in shell.type("mnemonctl list --json")


@pytest.mark.check_all
def test_help_and_the_version_need_no_daemon(mnemon: Mnemon, daemon: DaemonProcess) -> None:
    daemon.stop()
    page = mnemon.text("--help")
    assert "  store create <name>" in page
    assert "undo" not in page
    assert mnemon.text("help", "recall") == mnemon.text("recall", "--help")
    assert mnemon.text("--version").startswith("mnemon version ")
    assert mnemon.text("setup", "--help").startswith("Examples\n  mnemonctl setup\n")
    assert not (daemon.data_dir / "sock").exists()
