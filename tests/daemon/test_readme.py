"""The tour of the README is played as it stands there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from benchmarks.daemon_process import DaemonProcess
from tests.daemon.typed import Terminal, play, steps

README = Path(__file__).resolve().parents[2] / "README.md"


def tour() -> str:
    """Every transcript between "Five minutes" and "In scripts", as one."""
    text = README.read_text(encoding="utf-8")
    part = text[text.index("## Five minutes") : text.index("### In scripts")]
    return "".join(re.findall(r"^```\n(\$ .*?)^```", part, re.DOTALL | re.MULTILINE))


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


def test_every_line_of_the_tour_reads_as_in_the_readme(tmp_path: Path) -> None:
    with DaemonProcess(tmp_path):
        play(tour(), Terminal(tmp_path))


def test_the_programs_of_the_readme_run(tmp_path: Path) -> None:
    programs = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
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
