"""Writes the pages that are derived from the code: docs/protocol.md, dialects.md, errors.md and config.md, and
in docs/shell the completion of shells and the manual page.

`python docs/generate.py` writes them; `--check` compares instead, prints what differs and leaves with status 1.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from pathlib import Path

from mnemond.api.registry import METHODS
from mnemond.cli.completion import SCRIPTS, manual
from mnemond.docs_pages import config_markdown, dialects_markdown, errors_markdown, protocol_markdown
from mnemond.errors import KINDS

DOCS = Path(__file__).resolve().parent


def pages() -> dict[str, str]:
    """The current contents of each generated page, by file name."""
    return {
        "dialects.md": dialects_markdown(),
        "protocol.md": protocol_markdown(METHODS.values()),
        "errors.md": errors_markdown(KINDS),
        "config.md": config_markdown(),
        "shell/mnemonctl.bash": SCRIPTS["bash"],
        "shell/_mnemonctl": SCRIPTS["zsh"],
        "shell/mnemonctl.fish": SCRIPTS["fish"],
        "shell/mnemonctl.1": manual(),
    }


def difference(folder: Path, name: str, wanted: str) -> str:
    """A unified diff from the page in `folder` to what it should be; empty if it is current."""
    path = folder / name
    present = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = difflib.unified_diff(
        present.splitlines(keepends=True),
        wanted.splitlines(keepends=True),
        f"docs/{name}",
        f"docs/{name} as the code is",
    )
    return "".join(lines)


def check(folder: Path) -> int:
    """Print every difference; the exit status."""
    differences = "".join(difference(folder, name, wanted) for name, wanted in pages().items())
    if differences:
        sys.stdout.write(differences)
        sys.stderr.write("generated pages are not current: run `make docs`, read what changed and commit it\n")
    return 1 if differences else 0


def write(folder: Path) -> int:
    """Write every page; the exit status."""
    for name, wanted in pages().items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(wanted, encoding="utf-8")
    return 0


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Write the pages that are derived from the code.")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("--folder", type=Path, default=DOCS, help="where the pages are (default: docs)")
    options = parser.parse_args()
    return check(options.folder) if options.check else write(options.folder)


if __name__ == "__main__":
    sys.exit(main())
