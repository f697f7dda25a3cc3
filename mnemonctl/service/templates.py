"""The unit files that travel with the program."""

from __future__ import annotations

from importlib import resources
from pathlib import Path


def template(name: str) -> str:
    """The text of one: from the installed package, or from the source tree that an editable installation points to."""
    packaged = resources.files(__package__) / "units" / name
    if packaged.is_file():
        return packaged.read_text("utf-8")
    return (Path(__file__).resolve().parents[2] / "systemd" / name).read_text("utf-8")
