"""Files of other programs, made from their documented shapes: what becomes a memory, and a sentence for the rest."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.api import imports, requests
from mnemond.api.types_changes import UndoParams
from mnemond.api.types_interchange import ImportResult
from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.interchange import json_files, markdown, notes
from mnemond.interchange.items import Item, ItemLink, NotReadableError, moment, pieces, plain
from mnemond.interchange.recognise import KINDS, items_of
from mnemond.interchange.sessions import SessionExchange
from mnemond.interchange.sqlite_files import MAGIC, items_of_database
from mnemond.model.memory import MAX_CONTENT
from tests.api.factories import CALL, Bench, ToyEmbedder, bench
from tests.examples import examples
from tests.interchange.test_import import SMALL, brief
from tests.interchange.test_import import imported as send
from tests.interchange.test_restore import JSON
from tests.tables import each_row


def chat(*messages: dict[str, Any], aside: dict[str, Any] | None = None) -> dict[str, Any]:
    """A conversation of ChatGPT: a chain of messages up to `current_node`, and a branch that was edited away."""
    nodes: dict[str, Any] = {"root": {"id": "root", "parent": None, "children": ["0"], "message": None}}
    for number, message in enumerate(messages):
        parent = str(number - 1) if number else "root"
        nodes[str(number)] = {"id": str(number), "parent": parent, "children": [], "message": message}
    if aside is not None:
        nodes["aside"] = {"id": "aside", "parent": "root", "children": [], "message": aside}
    return {"title": "t", "create_time": 1.7e9, "mapping": nodes, "current_node": str(len(messages) - 1)}


def context(text: str, at: float = 1.7e9) -> dict[str, Any]:
    content = {"content_type": "model_editable_context", "model_set_context": text}
    return {"author": {"role": "system"}, "create_time": at, "content": content}


OLD, NEW = "1. [2024-05-01]. Likes tea.", "1. [2024-05-01]. Likes tea.\n2. [2024-06-02]. Lives in Lisbon."

DOCUMENTS: dict[str, tuple[object, list[tuple[str, str | None]]]] = {
    "mnemon-draft": (
        {"schema_version": "1", "source": "chat-export",
         "insights": [{"content": "Chose Qdrant over Milvus", "category": "decision", "importance": 5, "tags": ["db"],
                       "entities": ["Qdrant", "Milvus"], "source": "agent", "created_at": "2024-03-15T09:30:00Z"},
                      {"content": "Prefers short answers", "category": "preference"}],
         "edges": [{"source_index": 0, "target_index": 1, "edge_type": "causal", "weight": 0.7, "reason": "r"}]},
        [("Chose Qdrant over Milvus", "2024-03-15T09:30:00.000000Z"), ("Prefers short answers", None)],
    ),
    "mem0": (
        {"results": [{"id": "m1", "memory": "Prefers tea", "created_at": "2025-01-02T03:04:05-08:00", "metadata": None},
                     {"id": "m2", "memory": "Plays the cello", "categories": ["music"], "user_id": "ada"}]},
        [("Prefers tea", "2025-01-02T11:04:05.000000Z"), ("Plays the cello", None)],
    ),
    "mcp-memory-service": (
        {"export_metadata": {"total_memories": 1},
         "memories": [{"content": "Backups run at noon", "content_hash": "h", "tags": ["ops"], "created_at": 1.7e9,
                       "memory_type": "note", "metadata": {"host": "a"}}]},
        [("Backups run at noon", "2023-11-14T22:13:20.000000Z")],
    ),
    "claude-mem": (
        {"observations": [
            {"id": 1, "type": "decision", "title": "Use SQLite", "narrative": "It is enough.", "facts": "[]",
             "concepts": '["storage"]', "created_at_epoch": 1_700_000_000_000},
            {"id": 2, "type": "bugfix", "title": "T", "facts": '["The lock was held too long"]', "concepts": "[]"}],
         "sessions": [], "summaries": [], "prompts": []},
        [("Use SQLite. It is enough.", "2023-11-14T22:13:20.000000Z"), ("The lock was held too long", None)],
    ),
    "chatgpt": (
        [chat(context(OLD)), chat(context(NEW, 1.8e9), aside=context("1. Was taken back.", 1.9e9)),
         chat({"recipient": "bio", "create_time": 1.7e9, "content": {"parts": ["Has a dog", 7]}},
              {"author": {"role": "user"}, "content": {"content_type": "multimodal_text", "parts": [{"x": 1}]}})],
        [("Has a dog", "2023-11-14T22:13:20.000000Z"), ("Likes tea.", "2024-05-01T00:00:00.000000Z"),
         ("Lives in Lisbon.", "2024-06-02T00:00:00.000000Z")],
    ),
    "claude-ai": (
        [{"conversations_memory": "## Work\n- Builds a daemon\n- Likes short answers", "account_uuid": "u",
          "project_memories": {"p": "The launch is in May."}}],
        [("Builds a daemon", None), ("Likes short answers", None), ("The launch is in May.", None)],
    ),
}  # fmt: skip


def memories_of(path: str, content: bytes, kind: str | None) -> tuple[str, list[Item]]:
    """The kind of a file without conversations, and its memories."""
    named, found = items_of(path, content, kind)
    return named, [each for each in found if isinstance(each, Item)]


@each_row("kind", DOCUMENTS)
def test_a_document_is_recognised_and_read(kind: str) -> None:
    document, expected = DOCUMENTS[kind]
    found, items = memories_of("/x/export.json", msgspec.json.encode(document), None)
    assert found == kind
    assert [(each.content, each.created_at) for each in items] == expected
    assert len({each.key(kind) for each in items}) == len(items)


def test_a_draft_of_mnemons_has_its_fields() -> None:
    first, second = memories_of("/x/a.json", msgspec.json.encode(DOCUMENTS["mnemon-draft"][0]), None)[1]
    assert (first.category, first.importance, first.tags, first.entities, first.origin) == (
        "decision", 5, ("db",), ("Qdrant", "Milvus"), "agent",
    )  # fmt: skip
    assert (second.category, second.importance, second.origin) == ("preference", 3, "chat-export")
    assert second.links == [ItemLink(first.key("mnemon-draft"), "causal", 0.7, "r")]


GOOD: dict[str, Any] = {"content": "It is so"}


@each_row(
    ("change", "why"),
    [({"schema_version": 1}, "schema_version is 1"), ({"insights": []}, "a draft without insights"),
     ({"insights": [GOOD, {"content": " "}]}, r"insights\[1\] has no content"),
     ({"insights": [GOOD | {"category": "floppy"}]}, r"insights\[0\] has a category"),
     ({"insights": [GOOD | {"category": [1]}]}, r"insights\[0\] has a category"),
     ({"insights": [GOOD | {"importance": 6}]}, r"insights\[0\] has an importance"),
     ({"insights": [GOOD | {"tags": "a,b"}]}, r"insights\[0\] has tags"),
     ({"insights": [GOOD | {"created_at": "soon"}]}, r"insights\[0\] has a created_at"),
     ({"edges": [{"source_index": 0, "target_index": 0, "edge_type": "causal"}]}, r"edges\[0\] does not join two"),
     ({"insights": [GOOD, {"content": "b"}],
       "edges": [{"source_index": 0, "target_index": 1, "edge_type": "causal", "weight": 2}]},
      r"edges\[0\] has a weight"),
     ({"edges": [{"source_index": 0, "target_index": 2, "edge_type": "causal"}]}, r"edges\[0\] does not join two"),
     ({"edges": [7]}, r"edges\[0\] does not join two"),
     ({"edges": [{"source_index": 0, "target_index": 1, "edge_type": "x"}]}, r"edges\[0\] has an edge_type")],
)  # fmt: skip
def test_a_draft_that_breaks_the_rules_is_refused_with_its_entry(change: dict[str, Any], why: str) -> None:
    draft = {"schema_version": "1", "insights": [GOOD, {"content": "Or so"}]} | change
    with pytest.raises(NotReadableError, match=why):
        memories_of("/x/memory_draft.json", msgspec.json.encode(draft), None)


def test_memories_of_one_account_of_claude() -> None:
    kind, [item] = memories_of("/x/memories/u.json", b'{"conversations_memory": "Builds a daemon"}', None)
    assert (kind, item.content) == ("claude-ai", "Builds a daemon")


def test_lines_of_server_memory() -> None:
    lines = [
        {
            "type": "entity",
            "name": "Ada",
            "entityType": "person",
            "observations": ["Speaks Portuguese", "Ada sings", ""],
        },
        {"type": "entity", "entityName": "Acme", "observations": ["Is in Lisbon"]},
        {"type": "relation", "from": "Ada", "to": "Acme", "relationType": "works_at"},
        {"type": "relation", "from_id": "Acme", "to_id": "Ada", "relation_type": "employs"},
    ]
    kind, items = memories_of("/x/memory.jsonl", b"\n".join(map(msgspec.json.encode, lines)) + b"\n", None)
    assert kind == "server-memory"
    assert [each.content for each in items] == [
        "Ada: Speaks Portuguese", "Ada sings", "Acme: Is in Lisbon", "Ada works at Acme", "Acme employs Ada",
    ]  # fmt: skip
    assert items[3].entities == ("Ada", "Acme")


def test_claude_codes_memory_folder() -> None:
    head = "---\nname: run-the-tests\ndescription: x\nmetadata:\n  type: feedback\n---\n"
    text = f"{head}\nRun the tests.\n\n**Why:** March.\n"
    [item] = notes.claude_memory("/h/.claude/projects/-x/memory/a.md", text)
    assert (item.content, item.category, item.importance) == ("Run the tests.\n\n**Why:** March.", "preference", 4)
    assert item.metadata["name"] == "run-the-tests"
    assert list(notes.claude_memory("/h/memory/MEMORY.md", "- [a](a.md)")) == []
    assert memories_of("/h/memory/a.md", text.encode(), None)[0] == "claude-code"


def test_claude_md_by_bullets_and_paragraphs() -> None:
    rules = "# Rules\n\n- Use uv,\n  never pip\n- Write tests\n\n@docs/other.md\n\n<!-- a note -->\n"
    text = f"{rules}## Build\nRun this:\n```\nmake\n\nmake x\n```\n"
    items = list(notes.claude_md("/p/CLAUDE.md", text))
    assert [(each.content, each.metadata["heading"]) for each in items] == [
        ("Use uv,\nnever pip", "Rules"), ("Write tests", "Rules"),
        ("Run this:\n```\nmake\n\nmake x\n```", "Rules / Build"),
    ]  # fmt: skip


def test_a_note_by_its_observations_or_as_a_whole() -> None:
    text = (
        "---\ntitle: Coffee\ntags: [drink]\ncreated: 2025-03-01\n---\n- [method] Pour over #brew\n- [ ] buy\n- [a](b)\n"
    )
    [item] = notes.note("/v/coffee.md", text)
    assert (item.content, item.tags, item.created_at) == (
        "Pour over #brew", ("drink", "brew"), "2025-03-01T00:00:00.000000Z",
    )  # fmt: skip
    [whole] = notes.note("/v/b.md", "---\ntags:\n- a\n- b\n---\nJust text about #tea\n")
    assert (whole.content, whole.tags) == ("Just text about #tea", ("a", "b", "tea"))


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=200)


@given(TEXTS, st.sampled_from(["fact", "decision"]), st.integers(1, 5))
def test_mnemonds_own_markdown_comes_back(content: str, category: str, importance: int) -> None:
    memory = {
        "id": "1a2b3c4d-0000", "content": content, "category": category, "importance": importance, "tags": ["x"],
        "created_at": "2026-02-18T09:30:00.000000Z", "updated_at": "2026-02-18T09:30:00.000000Z", "source": "user",
    }  # fmt: skip
    page = markdown.page(memory) + markdown.links_of([("causal", "other")])
    [item] = notes.note("/v/x.md", page)
    assert (item.content, item.category, item.importance, item.created_at) == (
        content, category, importance, memory["created_at"],
    )  # fmt: skip


@given(st.text(max_size=3 * MAX_CONTENT), st.integers(0, 3))
def test_pieces_fit_and_lose_no_word(text: str, lines: int) -> None:
    text = text + "\n\n" * lines + text
    found = pieces(text)
    assert all(0 < len(each) <= MAX_CONTENT for each in found)
    assert "".join("".join(found).split()) == "".join(text.split())


def test_times() -> None:
    assert moment("2025-03-01") == "2025-03-01T00:00:00.000000Z"
    assert moment("2025-03-01 10:00:00") == "2025-03-01T10:00:00.000000Z"
    assert moment(1_700_000_000_000) == moment(1.7e9) == "2023-11-14T22:13:20.000000Z"
    odd: list[object] = [None, True, "soon", 1e300, [], "0000-00-00"]
    for bad in odd:
        assert moment(bad) is None
    assert plain({"a": 1, "b": {"x": 1}, "c": [1, {}], "d": "", "dates": [1], "e": 1 << 70}) == {"a": 1}


@examples(200, least=30)
@given(st.sampled_from(["/x/a.json", "/x/a.md", "/x/memory/a.md", "/x/CLAUDE.md"]), st.sampled_from([None, *KINDS]),
       JSON | st.text(max_size=80), st.sampled_from([*json_files.PARSERS]), st.data())  # fmt: skip
def test_garbage_is_refused_with_a_sentence_or_is_memories(
    path: str, kind: str | None, garbage: Any, shape: str, data: st.DataObject
) -> None:
    document = garbage
    if data.draw(st.booleans()):  # a real document in which one value is something else
        document = msgspec.json.decode(msgspec.json.encode(DOCUMENTS[shape][0]))
        spoil(document, garbage, data)
    content = msgspec.json.encode(document) if path.endswith(".json") else str(garbage).encode("utf-8", "replace")
    items: list[Item | SessionExchange] = []
    with suppress(NotReadableError):
        _, items = items_of(path, content, kind)
    for each in items:
        assert msgspec.json.decode(msgspec.json.encode(each), type=Item | SessionExchange) == each


def spoil(document: Any, garbage: Any, data: st.DataObject) -> None:
    here = document
    while isinstance(here, dict | list) and here:
        key = data.draw(st.sampled_from(sorted(here, key=str) if isinstance(here, dict) else range(len(here))))
        if not isinstance(here[key], dict | list) or data.draw(st.booleans()):
            here[key] = garbage
            return
        here = here[key]


def test_databases_of_memman_and_of_the_memory_service(tmp_path: Path) -> None:
    with closing(apsw.Connection(str(tmp_path / "memman.db"))) as db:
        db.execute("CREATE TABLE insights(id TEXT, content TEXT, summary TEXT, created_at TEXT, updated_at TEXT,"
                   " deleted_at TEXT, replaced_by TEXT, author TEXT, meta TEXT)")  # fmt: skip
        rows = [("a", "It is so", None, None), ("b", "It was so", None, "a"), ("c", "It is gone", "2025-01-01", None)]
        db.executemany(
            "INSERT INTO insights(id, content, deleted_at, replaced_by, created_at) VALUES(?,?,?,?,'x')", rows
        )
    kind, items = items_of_database(tmp_path / "memman.db", None)
    assert (kind, [(each.content, each.created_at) for each in items]) == ("memman", [("It is so", None)])
    with closing(apsw.Connection(str(tmp_path / "service.db"))) as db:
        db.execute("CREATE TABLE memories(id INTEGER PRIMARY KEY, content_hash TEXT, content TEXT, tags TEXT,"
                   " memory_type TEXT, metadata TEXT, created_at REAL, deleted_at REAL)")  # fmt: skip
        db.execute(
            "INSERT INTO memories VALUES(1, 'h', 'Backups run at noon', 'ops,db', 'fact', '{\"a\": 1}', 1.7e9, NULL)"
        )
    kind, [item] = items_of_database(tmp_path / "service.db", "mcp-memory-service")
    assert (item.content, item.tags, item.category, item.metadata) == (
        "Backups run at noon", ("ops", "db"), "fact", {"a": 1},
    )  # fmt: skip
    with pytest.raises(NotReadableError, match="it is a database, but none of mnemon"):
        items_of_database(tmp_path / "service.db", "mnemon")
    (tmp_path / "service.db-wal").write_bytes(b"x")
    with pytest.raises(NotReadableError, match="a program has it open"):
        items_of_database(tmp_path / "service.db", None)


@given(st.binary(max_size=300))
def test_a_database_that_is_none_is_refused(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as home:
        path = Path(home, "a.db")
        path.write_bytes(MAGIC + content)
        with pytest.raises(NotReadableError, match="it is"):
            items_of_database(path, None)


# Over the handlers.


def lines_of(items: Sequence[Item]) -> str:
    return "".join(msgspec.json.encode(each).decode() + "\n" for each in items)


async def imported(over: Bench, items: list[Item], kind: str = "notes", **fields: Any) -> ImportResult:
    return await send(over, lines_of(items), kind=kind, memories=len(items), **fields)


TEXT = ("The staging database listens on 5433", "Invoices are sent on the first of a month", "Ada maintains the parser")
ITEMS = [
    Item(source=f"s{number}", content=each, origin="note", created_at="2025-01-02T00:00:00.000000Z", tags=("t",))
    for number, each in enumerate(TEXT)
]


async def test_it_is_imported_once_and_taken_back_as_one(tmp_path: Path) -> None:
    async with bench(tmp_path, ToyEmbedder()) as over:
        looked = await imported(over, ITEMS, dry_run=True)
        assert (looked.memories, looked.added, (await over.warm()).store.snapshot.live) == (3, {"memory": 3}, 0)
        first = await imported(over, ITEMS)
        assert (first.memories, first.added) == (3, {"memory": 3})
        snapshot = (await over.warm()).store.snapshot
        its = [snapshot.insight(row) for row in range(snapshot.rows)]
        assert {(it.channel, it.created_at, it.source) for it in its} == {
            ("import", "2025-01-02T00:00:00.000000Z", "note")
        }
        assert await brief(over) == set()
        again = await imported(over, ITEMS)
        assert (again.memories, again.added, again.known) == (0, {}, {"memory": 3})
        undone = await over.history.undo(CALL, UndoParams(operation=first.op_id))
        assert len(undone.memories) == 3
        assert (await over.warm()).store.snapshot.live == 0
        assert (await imported(over, ITEMS)).memories == 3, "what was taken back can be imported again"


async def test_an_interrupted_import_goes_on_as_the_same_operation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "EVERY_S", 0.0)
    monkeypatch.setattr(imports, "ITEMS_AT_ONCE", 1)
    async with bench(tmp_path) as over:
        with pytest.raises(MnemonError, match="the client has ended"):
            await send(over, lines_of(ITEMS), msgspec.structs.replace(CALL, gone=lambda: True), kind="notes")
    async with bench(tmp_path) as over:
        over.ids.made = 1000
        result = await imported(over, ITEMS)
        assert (result.memories, result.known["memory"]) == (2, 1)
        assert len((await over.history.undo(CALL, UndoParams(operation=result.op_id))).memories) == 3


async def test_what_does_not_fit_is_named_and_the_rest_is_imported(tmp_path: Path) -> None:
    secret = "AKIA" + "PIX6EA6QOM66ZJOJ"
    odd = [Item(source="long", content="x" * (MAX_CONTENT + 1), origin="note"),
           Item(source="odd", content="An odd one", origin="note", category="floppy"),
           Item(source="key", content=f"The key is {secret} for now", origin="note")]  # fmt: skip
    async with bench(tmp_path) as over:
        result = await imported(over, [*odd, *ITEMS])
        assert (result.memories, result.conflicts_found, result.secrets) == (4, 2, 1)
        assert [each.id for each in result.conflicts] == ["long", "odd"]
        snapshot = (await over.warm()).store.snapshot
        assert not any(secret in snapshot.insight(row).content for row in range(snapshot.rows))


async def test_a_store_that_is_too_small_says_so_before_anything_is_written(tmp_path: Path) -> None:
    async with bench(tmp_path, config=SMALL) as over:
        assert (await imported(over, ITEMS, dry_run=True)).over_cap == 1
        with pytest.raises(MnemonError, match="its maximum is 2") as caught:
            await imported(over, ITEMS)
        assert caught.value.kind is INVALID_PARAMS
        assert (await over.warm()).store.snapshot.live == 0
        result = await imported(over, ITEMS, raise_cap=True)
        assert (result.memories, result.raised_cap) == (3, 1000)


@each_row("line", ["{broken\n", "[]\n", '{"source":"a"}\n'])
async def test_a_line_that_is_no_memory_is_refused(tmp_path: Path, line: str) -> None:
    async with bench(tmp_path) as over:
        with pytest.raises(MnemonError, match="no line of a memory to import") as caught:
            await send(over, line, kind="notes")
        assert caught.value.kind is INVALID_PARAMS
