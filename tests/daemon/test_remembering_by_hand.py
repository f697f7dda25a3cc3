"""remember and diff as a person types them: the scenes of spec 7.2, secrets, dry runs, hostile text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.daemon_process import DaemonProcess
from mnemond.cli.output import text_width
from tests.cli.test_terminal import unsafe_left
from tests.daemon.typed import COLUMNS, Terminal, play, quoted

SCENES = {
    "a contradiction takes the old one's place, and its repetition is known": """\
$ mnemonctl remember "Deploys on Friday are allowed" --cat fact
Remembered 00000001 in store "$STORE"
  undo: mnemonctl undo 0000000a
$ mnemonctl diff "Deploys on Friday are not allowed" --cat fact
CONFLICT: remember would put it in the place of what it contradicts

similarity  words  cosine  novelty  contrast           suggests   memory
       1.0    1.0     .98        0  negation           CONFLICT   00000001
  Deploys on Friday are allowed
  they are 100% alike in words, and one denies what the other says

same place from similarity .65 · duplicate above .90 with novelty up to .10
$ mnemonctl remember "Deploys on Friday are not allowed" --cat fact
Remembered 00000002 in place of 00000001 in store "$STORE"
  no longer held: Deploys on Friday are allowed
  because they are 100% alike in words, and one denies what the other says
  undo: mnemonctl undo 0000000b
$ mnemonctl remember deploys on Friday are not allowed. --cat fact
Known already as 00000002 in store "$STORE"; nothing was added
  because the texts are the same, apart from case, spaces and the punctuation around them
  undo: mnemonctl undo 0000000c
$ mnemonctl list
00000002  2026-11-22  fact/3         Deploys on Friday are not allowed
""",
    "a number that changed": """\
$ mnemonctl remember "API rate limit is 100 req/s"
Remembered 00000001 in store "$STORE"
  undo: mnemonctl undo 0000000a
$ mnemonctl remember "API rate limit is 200 req/s"
Remembered 00000002 in place of 00000001 in store "$STORE"
  no longer held: API rate limit is 100 req/s
  because they are 83% alike in words, and the numbers differ
  undo: mnemonctl undo 0000000b
""",
    "a refinement takes the place of the shorter form, which adds nothing later": """\
$ mnemonctl remember "Chose Qdrant over Milvus for vector search" --cat decision
Remembered 00000001 in store "$STORE"
  undo: mnemonctl undo 0000000a
$ mnemonctl remember "Chose Qdrant over Milvus for vector search because filtering is faster" --cat decision
Remembered 00000002 in place of 00000001 in store "$STORE"
  because they are 100% alike in words, and neither contradicts the other
  undo: mnemonctl undo 0000000b
$ mnemonctl remember "Chose Qdrant over Milvus for vector search" --cat decision
Known already as 00000002 in store "$STORE"; nothing was added
  because they are 100% alike in words, and the new text adds nothing
  undo: mnemonctl undo 0000000c
""",
    "a repetition leaves its tags, and undo takes them back": """\
$ mnemonctl remember "Apollo ships in March" --tag plan --importance 2
Remembered 00000001 in store "$STORE"
  undo: mnemonctl undo 0000000a
$ mnemonctl remember "apollo ships in March." --tag x --tag y --importance 4
Known already as 00000001 in store "$STORE"
  added tags x, y; importance 2 -> 4
  because the texts are the same, apart from case, spaces and the punctuation around them
  undo: mnemonctl undo 0000000b
$ mnemonctl list --tags y
00000001  2026-11-22  general/4      Apollo ships in March
$ mnemonctl undo 0000000b > /dev/null; mnemonctl get 00000001 --text | grep -E "^  (importance|tags)"
  importance            2
  tags                  plan
""",
    "an update to the text of another memory": """\
$ mnemonctl remember "Billing runs in Oslo" -q
00000001-0000-0000-0000-000000000001
$ mnemonctl remember "Lunch is at noon" -q
00000002-0000-0000-0000-000000000002
$ mnemonctl update 00000002 --content "billing runs in Oslo."
Updated 00000002: content, entities, 2 new links
  00000001 says the same; to make one of the two:
    mnemonctl merge 00000002 00000001
  undo: mnemonctl undo 0000000a
$ mnemonctl merge 00000002 00000001
Merged 00000002 into 00000001
  billing runs in Oslo.
  undo: mnemonctl undo 0000000b
$ mnemonctl list
00000001  2026-11-22  general/3      billing runs in Oslo.
""",
    "a change that announces itself": """\
$ mnemonctl remember "Chose SQLite as storage" --cat decision
Remembered 00000001 in store "$STORE"
  undo: mnemonctl undo 0000000a
$ mnemonctl remember "Chose PostgreSQL to replace SQLite as the primary database" --cat decision
Remembered 00000002 in place of 00000001 in store "$STORE"
  no longer held: Chose SQLite as storage
  because they are 67% alike in words, and the new text says that it is no longer so
  undo: mnemonctl undo 0000000b
""",
    "what is noted with a memory finds it again": """\
$ mnemonctl remember "Build 7 is out" --metadata project=apollo --metadata build=7 -q
00000001-0000-0000-0000-000000000001
$ mnemonctl remember "Lunch is at noon" --metadata '{"project": "zeus"}' -q
00000002-0000-0000-0000-000000000002
$ mnemonctl list --metadata project=apollo -q
00000001-0000-0000-0000-000000000001
$ mnemonctl recall "out at noon" --metadata '{"build": {"gte": 7}}' -q
00000001-0000-0000-0000-000000000001
$ mnemonctl get 00000001 --text | grep metadata
  metadata              {"project":"apollo","build":7}
$ mnemonctl update 00000001 --metadata build=8
Updated 00000001: metadata
  undo: mnemonctl undo 0000000a
$ mnemonctl list --metadata project=apollo -q
$ mnemonctl undo 0000000a > /dev/null
$ mnemonctl list --metadata project=apollo -q
00000001-0000-0000-0000-000000000001
$ mnemonctl remember "Noted" --metadata project
mnemonctl: --metadata must be a JSON object, such as {"project": "apollo", "build": 7}, or NAME=VALUE
  as in --metadata project=apollo
$ mnemonctl remember "Noted" --source AKIAPIX6EA6QOM66ZJOJ
mnemonctl: source looks like a secret (aws_access_key): give it another value, or allow_secret (--allow-secret) to \
store it as it is
  1 problem; nothing was written
$ mnemonctl list --metadata project
mnemonctl: --metadata must be a JSON object, such as {"project": "apollo", "build": {"gte": 3}}, or NAME=VALUE
  as in --metadata project=apollo
""",
    "chinese": """\
$ mnemonctl remember "部署脚本默认保留三个版本"
Remembered 00000001 in store "$STORE"
  undo: mnemonctl undo 0000000a
$ mnemonctl remember "部署脚本默认不保留三个版本"
Remembered 00000002 in place of 00000001 in store "$STORE"
  no longer held: 部署脚本默认保留三个版本
  because they are 91% alike in words, and one denies what the other says
  undo: mnemonctl undo 0000000b
$ mnemonctl remember "部署脚本默认不保留三个版本。"
Known already as 00000002 in store "$STORE"; nothing was added
  because the texts are the same, apart from case, spaces and the punctuation around them
  undo: mnemonctl undo 0000000c
$ mnemonctl list
00000002  2026-11-22  general/3      部署脚本默认不保留三个版本
""",
    "a dry run writes nothing, and --no-diff compares nothing": """\
$ mnemonctl remember "The office opens at nine"
Remembered 00000001 in store "$STORE"
  undo: mnemonctl undo 0000000a
$ mnemonctl remember "The office opens at ten, not at nine" --dry-run
Would remember it in place of 00000001 in store "$STORE"; nothing was written
  no longer held: The office opens at nine
  because they are 100% alike in words, and the new text says that it is no longer so
$ mnemonctl remember "The office opens at nine" --dry-run
Known already as 00000001 in store "$STORE"; nothing was written
  because the texts are the same, apart from case, spaces and the punctuation around them
$ mnemonctl list -q | wc -l
1
$ mnemonctl remember "The office opens at nine" --no-diff -q | wc -l
1
$ mnemonctl list -q | wc -l
2
""",
    "what says too little is kept only where somebody chose it": """\
$ mnemonctl remember "ok thanks" --channel hook
Not stored in store "$STORE": says too little to be kept
$ mnemonctl remember "ok thanks" --channel hook -q
$ mnemonctl list
no memories here
$ mnemonctl remember "ok thanks"
Remembered 00000001 in store "$STORE"
  undo: mnemonctl undo 0000000a
""",
}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    with DaemonProcess(tmp_path_factory.mktemp("daemon")) as running:
        yield running


@pytest.fixture
def store(daemon: DaemonProcess, request: pytest.FixtureRequest) -> str:
    name = "".join(char for char in request.node.name if char.isalnum())[:40]
    with daemon.connect() as wire:
        wire.call("store.create", name=name)
    return name


@pytest.fixture
def terminal(daemon: DaemonProcess, store: str) -> Terminal:
    return Terminal(daemon.data_dir, MNEMON_STORE=store)


@pytest.mark.parametrize("scene", SCENES)
def test_scenes(scene: str, terminal: Terminal, store: str) -> None:
    play(SCENES[scene].replace("$STORE", store), terminal)


def test_a_scene_that_reads_differently_fails(terminal: Terminal, store: str) -> None:
    with pytest.raises(AssertionError, match="mnemonctl list"):
        play("$ mnemonctl list\nsome memories here\n", terminal)


def test_json_is_the_whole_reply(terminal: Terminal) -> None:
    reply = json.loads(terminal.type(quoted("remember", "--json", "The cache is warm")))
    assert (reply["action"], reply["reason"]) == ("added", "no memory is like it")
    found = json.loads(terminal.type(quoted("diff", "--json", "The cache is not warm")))
    assert found["suggestion"] == "CONFLICT"
    assert found["matches"][0]["polarity_flip"] is True
    assert set(found["thresholds"]) == {"update", "duplicate", "novelty", "cosine_override"}


# ------------------------------------------------------------------ secrets

KEY = "AKIA" + "Z7QW3RTYPLKJH4XV"
PASSWORD = "hunter" + "2" + "-Tr0ub4dor&3"


def bytes_on_disk(daemon: DaemonProcess, store: str) -> bytes:
    """The database, its log and everything else of a store."""
    folder = daemon.data_dir / "data" / store
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file())


def test_a_secret_reaches_neither_the_terminal_nor_the_disk(
    daemon: DaemonProcess, terminal: Terminal, store: str
) -> None:
    words = ("remember", f"The deploy user signs in with {KEY} and password={PASSWORD}", "--tag", f"token={PASSWORD}")
    shown = terminal.type(quoted(*words, "--entity", "deploy"))
    assert "\n  redacted: aws_access_key, password, secret (--allow-secret keeps it)\n" in shown
    listed = terminal.type(quoted("list"))
    assert "The deploy user signs in with" in listed
    stored = bytes_on_disk(daemon, store)
    assert b"The deploy user signs in with" in stored
    for secret in (KEY, PASSWORD):
        assert secret not in shown + listed
        assert secret.encode() not in stored
        assert secret.encode() not in (daemon.data_dir / "benchmark-stderr.log").read_bytes()


def test_a_secret_is_kept_when_asked_for(daemon: DaemonProcess, terminal: Terminal, store: str) -> None:
    shown = terminal.type(quoted("remember", f"The test key is {KEY}", "--allow-secret"))
    assert "redacted" not in shown
    assert KEY.encode() in bytes_on_disk(daemon, store)


# ------------------------------------------------------------------ long and hostile texts


def test_a_long_chinese_text_is_shown_short_and_stored_whole(terminal: Terminal) -> None:
    text = "日志保留三十天之后归档到冷存储，" * 200
    shown = terminal.type(quoted("remember", text))
    assert shown.startswith("Remembered ")
    longer = terminal.type(quoted("diff", text + "现在改为六十天。"))
    assert max(map(text_width, longer.splitlines())) <= COLUMNS
    assert text[:20] in longer
    [memory] = json.loads(terminal.type(quoted("list", "--json")))["insights"]
    assert memory["content"] == text


HOSTILE = "Build notes\x1b[2J\x1b]0;owned\x07 say \u202egnihton\u202c\x9b31m and \u2066hide\r\nmore"


def test_control_characters_of_a_memory_never_reach_the_terminal(terminal: Terminal, tmp_path: Path) -> None:
    hostile = tmp_path / "hostile.txt"
    hostile.write_text(HOSTILE, encoding="utf-8")
    terminal.type(f"mnemonctl remember - < {hostile}")
    lines = (
        quoted("diff", "Build notes say nothing and hide more"),
        quoted("remember", "Build notes say nothing and hide more", "--dry-run"),
        quoted("remember", "Why the build notes say more, because they hide nothing"),
        quoted("list"),
        quoted("list", "--json"),
    )
    for line in lines:
        shown = terminal.type(line)
        assert "mnemonctl: " not in shown
        assert "\x1b" not in shown
        assert unsafe_left(shown.replace("\\u", "")) == []
    assert "\\x1b[2J" in terminal.type(lines[0])
