"""Texts that a user may edit: what is in the file is what agents are told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mnemond.config.hosts import Moment
from mnemond.config.prompt_texts import MAX_BYTES, shipped
from mnemond.hooks.prompt_files import MAX_OPENING, PromptFiles
from tests.hooks.factories import desk
from tests.mcp import factories as mcp
from tests.tables import each_row

OWN = "# Mine\n\nAsk memory first,\nalways. \u2014 Ada\n\nThen tell Ben.\n"


def written(directory: Path, text: str, name: str = "guide.md") -> Path:
    """The file with a text."""
    path = directory / "prompt" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")
    return path


async def test_an_edited_guide_is_what_sessions_and_clients_are_told(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await over.remember("Never deploy on Friday", category="preference")
        before = await over.at(Moment.SESSION_START)
        written(tmp_path, OWN)
        after = await over.at(Moment.SESSION_START, session="another")
        assert before.startswith("mnemond is the long-term memory of this user")
        assert after.startswith("Ask memory first, always. \u2014 Ada\nBetween the marks")
        assert "Then tell Ben." not in after


async def test_mcp_has_the_whole_of_both(tmp_path: Path) -> None:
    async with mcp.desk(tmp_path) as over:
        written(tmp_path, OWN)
        written(tmp_path, "# Skill\n\nUse it well.\n", "skill.md")
        told = (await over.ask("initialize"))["instructions"]
        assert told == "Ask memory first,\nalways. \u2014 Ada\n\nThen tell Ben."
        assert (await over.ask("server/discover", modern=True))["instructions"] == told
        texts = [(await over.ask("resources/read", {"uri": f"mnemon://{name}"}))["contents"][0]["text"]
                 for name in ("guide", "skill")]  # fmt: skip
        assert texts == [told, "# Skill\n\nUse it well.\n"]


async def test_an_own_opening_that_comes_back_is_not_kept(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        written(tmp_path, OWN)
        await over.asks(f"{await over.at(Moment.SESSION_START)}We moved to Postgres.")
        await over.answered("Noted.")
        assert [each.prompt for each in await over.queued()] == ["We moved to Postgres."]


def test_every_edit_is_read_and_no_file_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = PromptFiles(tmp_path)
    assert files.guide() == shipped("guide.md").partition("\n")[2].strip()
    path = written(tmp_path, "One.")
    assert files.guide() == "One."
    with monkeypatch.context() as closed:
        closed.setattr(os, "open", lambda *_: pytest.fail("it was read already"))
        assert files.guide() == "One."
    written(tmp_path, "Another.")
    assert files.guide() == "Another."
    path.unlink()
    assert files.opening().startswith("mnemond is")


@each_row(("text", "guide", "opening"), [
    ("", "", ""),
    ("# Title only\n", "", ""),
    ("\ufeff# T\n\n\nA\nb.\n", "A\nb.", "A b.\n"),
    ("## Part\nA", "## Part\nA", "## Part A\n"),
    ("x" * 20_000, "x" * 9_000, "x" * MAX_OPENING + "\n"),
])  # fmt: skip
def test_what_is_told_of_a_text(text: str, guide: str, opening: str, tmp_path: Path) -> None:
    written(tmp_path, text)
    assert (PromptFiles(tmp_path).guide(), PromptFiles(tmp_path).opening()) == (guide, opening)


@pytest.mark.parametrize("kind", ["pipe", "directory", "large", "closed", "loop", "folder"])
def test_what_cannot_be_used_is_reported_once_and_stops_nothing(kind: str, tmp_path: Path) -> None:
    path = written(tmp_path, "x" * (MAX_BYTES + 1))
    if kind == "closed":
        path.write_text("Own.")
        path.chmod(0)
        if os.access(path, os.R_OK):
            pytest.skip("this user reads everything")
    elif kind != "large":
        path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "folder":
        path.parent.rmdir()
        path.parent.write_text("a file")
    warned: list[str] = []
    files = PromptFiles(tmp_path, warned.append)
    assert [files.opening()[:10] for _ in range(3)] == ["mnemond is"] * 3
    (sentence,) = warned
    assert str(path) in sentence
    assert "this release's text is used instead" in sentence
