"""What memories have in common, through the command line of a real daemon, and over a restart of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.daemon_process import DaemonProcess
from benchmarks.wire import Wire
from tests.daemon.typed import Terminal

INDEX = "The search index is rebuilt every night at 02:30 UTC by the cron job on node seven"
EACH = "The search index is rebuilt each night at 02:30 UTC by a cron job on node seven"
MORE = "The search index is rebuilt every night at 02:30 UTC by the cron job on node seven; it takes long"


def said(wire: Wire, *argv: str) -> str:
    """What a command prints on a terminal."""
    done = wire.call("cli.run", argv=list(argv), tty=True)
    assert done["exit_code"] == 0, done["stderr"]
    return str(done["stdout"])


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "config.toml").write_text("[lifecycle]\nbackup_interval = 0\n")
    return tmp_path


def filled(wire: Wire) -> list[str]:
    return [str(wire.call("remember", content=text, no_diff=True)["id"]) for text in (INDEX, EACH, MORE)]


def test_memories_are_consolidated_by_hand(directory: Path) -> None:
    with DaemonProcess(directory) as daemon, daemon.connect() as wire:
        filled(wire)
        assert "would ask about 2 pairs" in said(wire, "consolidate", "--dry-run")
        assert "asked about 2 pairs" in said(wire, "consolidate")
        assert "  merged  The search index" in said(wire, "reviews")
        assert "both hold" in said(wire, "resolve", "1", "--as", "COEXIST")
        refused = wire.call("cli.run", argv=["resolve", "2", "--as", "MERGE"])
        assert "is taken from a person at a terminal only" in refused["stderr"]
        assert "they are one memory now" in Terminal(directory).type("mnemonctl resolve 2 --as MERGE")
        assert said(wire, "undo").startswith("Took back: resolve")
        assert wire.call("status")["pending_reviews"] == 1
    with DaemonProcess(directory) as again, again.connect() as wire:
        text = said(wire, "consolidate")
        assert "asked about 0 pairs" in text
        assert "1 pair left apart before" in text
        assert said(wire, "jobs", "run", "consolidate").startswith("consolidate: nothing to do")


def test_communities_words_and_summaries_by_hand(directory: Path) -> None:
    with DaemonProcess(directory) as daemon, daemon.connect() as wire:
        one, two, three = filled(wire)
        assert "  3 memories\n" in said(wire, "communities")
        assert said(wire, "list", "--community", "1", "-q").split() == [three, two, one]
        made = said(wire, "summarize", one, two, three, "-q").strip()
        assert "derived_from" in said(wire, "get", made)
    with DaemonProcess(directory) as again, again.connect() as wire:
        assert wire.call("get", id=made)["insight"]["channel"] == "summary"
        said(wire, "update", two, "--content", "The search index is rebuilt by hand")
        assert made not in said(wire, "list", "-q")
        assert said(wire, "jobs", "run", "summaries") == "summaries changed 1\n"
        said(wire, "forget", three, "--purge", "--yes")
        assert set(said(wire, "list", "-q").split()) == {one, two}
        assert "takes long" not in said(wire, "list", "--retired", "--json")
