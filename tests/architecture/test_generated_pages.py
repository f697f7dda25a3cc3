"""A generated page that is stale is noticed. That those of this tree are current: `make check-docs`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def generate(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run docs/generate.py as `make docs` does."""
    command = [sys.executable, str(ROOT / "docs" / "generate.py"), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}  # this tree, whatever is installed
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.check_all
def test_a_stale_page_is_shown_and_written_anew(tmp_path: Path) -> None:
    assert generate("--folder", str(tmp_path)).returncode == 0
    assert sorted(path.name for path in tmp_path.glob("*.md")) == [
        "config.md", "dialects.md", "errors.md", "protocol.md",
    ]  # fmt: skip
    assert sorted(path.name for path in (tmp_path / "shell").iterdir()) == [
        "_mnemonctl", "mnemonctl.1", "mnemonctl.bash", "mnemonctl.fish",
    ]  # fmt: skip
    errors = tmp_path / "errors.md"
    errors.write_text(errors.read_text(encoding="utf-8").replace("1003", "1033"), encoding="utf-8")
    finished = generate("--check", "--folder", str(tmp_path))
    assert finished.returncode == 1
    assert "+++ docs/errors.md" in finished.stdout
    assert "make docs" in finished.stderr
    assert "docs/protocol.md" not in finished.stdout
