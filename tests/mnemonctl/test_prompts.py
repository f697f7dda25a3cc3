"""`prompts show`, `diff`, `reset` and `check`: what the client does with the user's prompts, without a daemon."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

import mnemonctl
from mnemond.llm.prompts import ARGUMENTS

OWN = '# mine\nmerge_facts = "join {{1}} and {{2}}"\nupdate_core_summary = "sum up {{2}}"\n'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory; no variable of mnemond's is set but that one."""
    directory = tmp_path / "home"
    directory.mkdir(mode=0o700)
    monkeypatch.setenv("MNEMON_DATA_DIR", str(directory))
    return directory


def own(home: Path, text: str = OWN) -> Path:
    (home / "prompt").mkdir(exist_ok=True, mode=0o700)
    path = home / "prompt" / "prompts.toml"
    path.write_text(text)
    return path


def said(capfd: pytest.CaptureFixture[str], *words: str, status: int = 0) -> str:
    assert mnemonctl.run(["prompts", *words]) == status
    out, err = capfd.readouterr()
    return out if status == 0 else err


def test_without_a_file_all_are_of_this_release(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    listed = said(capfd, "show", "--text")
    assert len(listed.splitlines()) == len(ARGUMENTS)
    assert all(line.endswith("  release") for line in listed.splitlines())
    assert said(capfd, "show", "merge_facts", "--text").startswith("Join two statements")
    assert said(capfd, "diff", "--text") == "no prompt differs from this release\n"
    assert said(capfd, "check", "--text") == "fine: all prompts are of this release\n"
    assert said(capfd, "reset", "--all", "--text") == "all prompts are those of this release\n"


def test_an_own_prompt_is_shown_compared_and_reset(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = own(home)
    assert said(capfd, "show", "merge_facts", "--text") == "join {{1}} and {{2}}\n"
    difference = said(capfd, "diff", "merge_facts", "--text")
    assert f"+++ merge_facts of {path}" in difference
    assert "+join {{1}} and {{2}}" in difference
    assert "update_core_summary" not in difference
    checked = said(capfd, "check", "--text")
    assert "note: " in checked
    assert "does not use {{1}}, summary" in checked
    assert checked.endswith(f"fine: update_core_summary, merge_facts of {path}\n")
    assert said(capfd, "reset", "merge_facts", "--text").endswith("prompts.toml.bak has yours\n")
    assert path.read_text() == '# mine\nupdate_core_summary = "sum up {{2}}"\n'
    assert path.with_name("prompts.toml.bak").read_text() == OWN
    assert said(capfd, "reset", "merge_facts", "--text") == "merge_facts is that of this release\n"
    said(capfd, "reset", "--all")
    assert not path.exists()


def test_json_has_the_hash_and_the_texts_of_each(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    own(home)
    found = msgspec.json.decode(said(capfd, "show", "--json"))
    views = {each["key"]: each for each in found["prompts"]}
    assert (len(views), len(views["merge_facts"]["hash"])) == (len(ARGUMENTS), 12)
    assert views["merge_facts"]["texts"] == ["older", "newer"]
    assert len(found["warnings"]) == 2


def test_a_file_that_cannot_be_used_is_refused_and_can_be_reset(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = own(home, 'merge_facts = "{{3}}"\n')
    assert "merge_facts has a token beyond {{1}} … {{2}}" in said(capfd, "check", "--text", status=2)
    said(capfd, "diff", status=2)
    assert "# " in said(capfd, "show", "--text")
    path.write_text("merge_facts = ")
    assert "cannot be changed" in said(capfd, "reset", "merge_facts", "--text", status=5)
    said(capfd, "reset", "--all")
    assert not path.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["show", "merge_fact"], "there is no prompt merge_fact"),
        (["show", "merge_facts", "update_core_summary"], "there is no prompt merge_facts update_core_summary"),
        (["reset"], "name one prompt, or give --all"),
        (["reset", "merge_facts", "--all"], "name one prompt, or give --all"),
    ],
)
def test_what_names_no_prompt_is_refused(
    home: Path, capfd: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    own(home)
    assert message in said(capfd, *words, "--text", status=2)
