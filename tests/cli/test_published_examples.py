"""Every command line of the published examples: those of mnemon's guide and readme, and of the design of mnemonctl.

The first part is typed at a real terminal, the second is parsed. Ids stand for those that the examples call <id>.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.daemon_process import DaemonProcess
from mnemond.api.types_daemon import CliRunParams
from mnemond.cli.grammar import Invocation, parse
from tests.daemon.typed import Terminal, play
from tests.tables import each_row

TYPED = """\
$ mnemonctl remember "Chose Qdrant over Milvus for vector search" --cat decision --imp 5 --entities "Qdrant,Milvus"
Remembered 00000001 in store "default"
  undo: mnemonctl undo 0000000a
$ mnemonctl remember "选择 Qdrant 而非 Milvus 做向量搜索" --cat decision --imp 5 --entities "Qdrant,Milvus" \
--tags "architecture,search" --source agent
Remembered 00000002 in store "default", 2 links (1 temporal, 1 entity)
  undo: mnemonctl undo 0000000b
$ mnemonctl remember "Raw note" --no-diff
Remembered 00000003 in store "default", 2 links (2 temporal)
  undo: mnemonctl undo 0000000c
$ mnemonctl recall "vector database" --limit 10 --text | head -2
1. 00000001  DATE  decision/5
   Chose Qdrant over Milvus for vector search
$ mnemonctl recall "vector database" --smart --limit 10 --text | head -2
1. 00000001  DATE  decision/5
   Chose Qdrant over Milvus for vector search
$ mnemonctl recall "vector database" --verbose --text | head -2
1. 00000001  DATE  decision/5
   Chose Qdrant over Milvus for vector search
$ mnemonctl recall "why did we choose Qdrant" --intent WHY --json | grep -o '"intent_source":"[a-z]*"'
"intent_source":"override"
$ mnemonctl recall "auth" --cat decision --source agent --text | head -1
Nothing found in store "default" (sparse results)
$ mnemonctl recall "auth" --basic --text | head -1
Nothing found in store "default" (sparse results)
$ mnemonctl search "authentication" --limit 10
no memory has any of these words
$ mnemonctl search "Qdrant" --limit 1 --json | grep -oE '^.{11}|"(mode|hint)":"?[a-z]+'
{"results":
"mode":"search
"hint":null
$ mnemonctl diff "New fact to check"
ADD: remember would add it; no memory is like it
$ mnemonctl link 00000001 00000003 --type semantic --weight 0.85
Linked 00000001 ↔ 00000003: semantic, weight .85
  {"created_by":"user"}
  undo: mnemonctl undo 0000000d
$ mnemonctl link 00000001 00000003 --type causal --weight 0.8 --meta '{"sub_type":"causes","reason":"..."}'
Linked 00000001 → 00000003: causal, weight .80
  {"sub_type":"causes","reason":"...","created_by":"user"}
  undo: mnemonctl undo 0000000e
$ mnemonctl related 00000001 --edge causal --depth 2
00000003  general/3  1 link away, over causal .80
   Raw note
$ mnemonctl gc --threshold 0.5 --limit 20
nothing below 0.5 (memories: 3 of 1,000)
$ mnemonctl gc --keep 00000003
Kept 00000003: effective importance 0.97, no prune will take it
To take it back: mnemonctl undo 0000000f
$ mnemonctl forget 00000003
Forgot 00000003, 4 links removed
  undo: mnemonctl undo 00000010
$ mnemonctl get 00000003 --text | sed -n 4p
  status                forgotten DATE 00:00:00
$ mnemonctl store create work
Created store "work"
$ mnemonctl store set work
The active store is "work" (it was "default")
$ mnemonctl store list
  default
* work
$ mnemonctl store set default
The active store is "default" (it was "work")
$ mnemonctl store remove work
mnemonctl: this removes the store "work" with its 0 memories; it needs yes (--yes)
  a last backup is made first, from which `mnemonctl backup restore` brings it back
$ mnemonctl status --text | head -4
Store "default"
  memories    2 of 1,000, 1 out of recall (forgotten 1)
  categories  decision 2
  links       2: temporal 1, entity 1
$ mnemonctl log --text | grep -v ' recall '
DATE 00:00:00  forget         00000003  00000010  Raw note
DATE 00:00:00  gc-keep        00000003  0000000f  Raw note  (access+3)
DATE 00:00:00  link           00000001  0000000e  Chose Qdrant over Milvus for vector search  (causal to 00000003)
DATE 00:00:00  link           00000001  0000000d  Chose Qdrant over Milvus for vector search  (semantic to 00000003)
DATE 00:00:00  remember       00000003  0000000c  Raw note  (general importance=3 channel=manual)
DATE 00:00:00  remember       00000002  0000000b  选择 Qdrant 而非 Milvus 做向量搜索  (decision importance=5 \
channel=manual)
DATE 00:00:00  remember       00000001  0000000a  Chose Qdrant over Milvus for vector search  (decision importance=5 \
channel=manual)
$ mnemonctl log --limit 50 --since yesterday --no-recalls -q | sort -u | wc -l
3
$ mnemonctl receipt --limit 50 --no-recalls --json | grep -o '"count":[0-9]*'
"count":7
$ mnemonctl undo
Took back: forget, operation 00000010
  00000003  back in recall    Raw note
  4 links put back
To have it again: mnemonctl undo 00000011
$ mnemonctl embed --status --text | head -2
Store "default"
  embedded    3 of 3 memories (100 %)
$ mnemonctl embed --all
Embedded 3 memories with minilm_static_256_int8
$ mnemonctl embed 00000001
Embedded 00000001 with minilm_static_256_int8
"""

PARSED = {
    "remember -": "remember",
    "remember x --entity-mode provided": "remember",
    "remember x --entities a,b --entity-mode auto": "remember",
    "recall q --compact": "recall",
    "recall q --context --budget 600": "recall",
    "recall q --mode probabilistic --seed 7": "recall",
    "recall q --seed random --no-touch": "recall",
    "recall q --order time --explain": "recall",
    "recall q --as-of 2026-01-01 --include-invalid": "recall",
    "recall q --user u --strict-scope": "recall",
    "recall q --session s --all-sessions": "recall",
    "recall q --since 'last week'": "recall",
    "extract --messages - --user-id u --auto-resolve-conflicts": "extract",
    "extract --messages - --show-context": "extract",
    "extract --facts -": "extract",
    "link 00000001 00000002 --type causal --weight .8 --meta '{}' --bidirectional --allow-cycle": "link",
    "unlink 00000001 00000002": "unlink",
    "related 00000001 --edge causal --depth 2": "related",
    "get 00000001": "get",
    "list": "list",
    "update 00000001 --imp 4 --cat fact": "update",
    "forget 00000001": "forget",
    "restore 00000001": "restore",
    "supersede 00000001 00000002": "supersede",
    "merge 00000001 00000002": "merge",
    "pin 00000001": "pin",
    "history 00000001": "history",
    "log --limit 20": "log",
    "receipt": "receipt",
    "receipt --limit 20": "receipt",
    "gc --threshold .5 --limit 20": "gc",
    "gc --review": "gc",
    "gc --apply --yes": "gc",
    "gc --purge-deleted 30 --yes": "gc",
    "undo": "undo",
    "undo 0000000a": "undo",
    "store path": "store.path",
    "store remove old-project": "store.remove",
    "embed --calibrate": "embed.calibrate",
    "embed --switch ollama:nomic-embed-text": "embed.switch",
    "stats": "stats",
    "jobs list": "jobs.list",
    "backup list": "backup.list",
    "config show --origin": "config.show",
    "setup": None,
    "setup --global": None,
    "setup --target claude-code": None,
    "setup --target codex": None,
    "setup --target cursor": None,
    "setup --yes": None,
    "setup --eject": None,
    "setup --eject --target claude-code": None,
    "daemon start": None,
    "daemon run": None,
    "doctor": None,
    "logs -f": None,
    "top": None,
    "viz --format dot -o graph.dot": "viz",
    "viz --format html -o graph.html": "viz",
    "import memory_draft.json": "import.run",
    "import --dry-run memory_draft.json": "import.run",
    "import --no-diff memory_draft.json": "import.run",
    "--store work status": "status",
    "--data-dir /tmp/there status": "status",
    "--readonly recall q": "recall",
    "--now 2026-01-01T00:00:00Z list": "list",
}
"""The method of each line; None for what the client runs by itself."""


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[DaemonProcess]:
    with DaemonProcess(tmp_path) as running:
        yield running


def test_typed_at_a_terminal(daemon: DaemonProcess) -> None:
    play(TYPED, Terminal(daemon.data_dir))


@each_row("line", PARSED)
def test_understood(line: str) -> None:
    parsed = parse(CliRunParams(argv=shlex.split(line), tty=True, tty_err=True, stdin="[]"))
    assert isinstance(parsed, Invocation), parsed
    assert parsed.method == PARSED[line]


@each_row(
    ("line", "sentence"),
    [
        ("recall q --smart --basic", "--smart and --basic exclude each other"),
        ("recall q --verbose --compact", "--verbose and --compact exclude each other"),
        ("recall q --verbose --context", "--verbose and --context exclude each other"),
    ],
)
def test_a_default_and_its_opposite_exclude_each_other(line: str, sentence: str) -> None:
    parsed = parse(CliRunParams(argv=shlex.split(line), tty=True, tty_err=True))
    assert not isinstance(parsed, Invocation)
    assert sentence in parsed.stderr
