"""Names say what a file holds, and the repository speaks of itself alone."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.tables import each_row

ROOT = Path(__file__).resolve().parents[2]
SAYS_NOTHING = ("util", "utils", "helper", "helpers", "manager", "managers", "misc", "common")
# Put together here, so that this file does not hold what it looks for.
ELSEWHERE = ("/" + "work/", "/" + "root/", "../" + "shared")
SKIPPED = {
    ".venv",
    ".git",
    "__pycache__",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    ".import_linter_cache",
    "build",
    "dist",
}


def _repository_files() -> list[Path]:
    """Files under version control; every file of the tree where there is none, as in an unpacked source archive."""
    asked = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=False,
    )  # fmt: skip
    if asked.returncode == 0:
        paths = [ROOT / name for name in asked.stdout.decode().split("\0") if name]
    else:
        paths = [path for path in ROOT.rglob("*") if not SKIPPED & set(path.relative_to(ROOT).parts)]
    return [path for path in paths if path.is_file()]


def mentions_elsewhere(text: str) -> list[str]:
    """Paths that exist on one machine only."""
    return [path for path in ELSEWHERE if path in text]


def test_no_module_is_named_after_nothing() -> None:
    names = [path for path in _repository_files() if set(path.stem.lower().split("_")) & set(SAYS_NOTHING)]
    assert names == []


def test_no_file_mentions_a_place_outside_the_repository() -> None:
    found = {}
    for path in _repository_files():
        try:
            mentioned = mentions_elsewhere(path.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            continue  # model tables
        if mentioned:
            found[str(path.relative_to(ROOT))] = mentioned
    assert found == {}


@each_row("path", ELSEWHERE)
def test_a_mention_is_found(path: str) -> None:
    assert mentions_elsewhere(f"see {path}notes.txt") == [path]
