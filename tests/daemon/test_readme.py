"""The transcripts and programs of the README and the guide run exactly as printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from benchmarks.daemon_process import DaemonProcess
from tests.daemon.typed import Terminal, play, steps

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")


def transcripts(text: str, first: str, end: str) -> str:
    """Every transcript between two headings, as one."""
    part = text[text.index(first) : text.index(end)]
    return "".join(re.findall(r"^```\n(\$ .*?)^```", part, re.DOTALL | re.MULTILINE))


def tour() -> str:
    return transcripts(GUIDE, "## Five minutes", "### In scripts")


def test_the_tour_shows_what_it_says() -> None:
    typed = " ".join(line for line, _ in steps(tour()))
    for command in (
        "remember",
        "recall",
        "diff",
        "undo",
        "link",
        "related",
        "list",
        "forget",
        "store create",
        "status",
    ):
        assert f"mnemonctl {command} " in f"{typed} "


def test_every_line_of_the_tour_reads_as_in_the_guide(tmp_path: Path) -> None:
    with DaemonProcess(tmp_path):
        play(tour(), Terminal(tmp_path))


def test_the_five_commands_read_as_in_the_readme(tmp_path: Path) -> None:
    with DaemonProcess(tmp_path):
        play(transcripts(README, "## Five commands", "## Agents"), Terminal(tmp_path))


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 250


def test_the_programs_of_the_guide_run(tmp_path: Path) -> None:
    programs = re.findall(r"^```python\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)
    assert len(programs) == 2
    (tmp_path / ".mnemon").mkdir(mode=0o700)
    kept = {key: value for key, value in os.environ.items() if not key.startswith("MNEMON_")}
    with DaemonProcess(tmp_path / ".mnemon"):
        said = [
            subprocess.run(
                [sys.executable, "-c", program], env={**kept, "HOME": str(tmp_path)}, capture_output=True, text=True,
                check=True, timeout=60,
            ).stdout
            for program in programs
        ]  # fmt: skip
    assert re.fullmatch(r"\d\.\d\d Deploys go out on Thursdays\n", said[0])
    assert said[1].startswith('{"jsonrpc":"2.0","id":1,"result":{"stores":[')
