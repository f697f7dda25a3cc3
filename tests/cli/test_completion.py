"""What shells complete, from the declarations of the commands and from a store."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mnemonctl
from mnemonctl import fast
from mnemond.api.types_daemon import CliRunParams, CliRunResult
from mnemond.cli.completion import (
    FLAG,
    LATEST,
    SCRIPTS,
    SOURCES,
    Candidate,
    Wanted,
    answer,
    manual,
    wanted,
    words_of,
)
from mnemond.cli.help import COMMANDS
from mnemond.cli.parser import GLOBALS
from mnemond.cli.run import CliHandler
from mnemond.errors import NOT_FOUND, MnemonError
from mnemond.model.memory import CATEGORIES
from mnemond.wire.deferred import run_now
from mnemond.wire.dispatch import Call
from mnemond.wire.params import Method, fields_of
from tests.cli.results import ID, LISTED
from tests.mnemonctl.daemons import fake_daemon, line
from tests.tables import each_row

CALL = Call(connection=1, peer_pid=2, peer_uid=3)


def offered(typed: str) -> list[str]:
    """The candidates of the declarations alone for a line of bash."""
    words = words_of("bash", [typed])
    return [] if words is None else answer("bash", wanted(words)).splitlines()


@each_row(
    ("typed", "candidates"),
    [
        ("mnemonctl rem", ["remember"]),
        ("/usr/bin/mnemonctl rem", ["remember"]),
        ("LC_ALL=C mnemonctl rem", ["remember"]),
        ("mnemonctl --store work rem", ["remember"]),
        ("mnemonctl store ", ["list", "create", "set", "path", "remove"]),
        ("mnemonctl help unl", ["unlink"]),
        ("mnemonctl completion ", ["bash", "zsh", "fish"]),
        ("mnemonctl rules enforce 1a2b3c4d ", ["tell", "ask", "deny"]),
        ("mnemonctl list --categ", ["--category"]),
        ("mnemonctl list --category ", list(CATEGORIES)),
        ("mnemonctl list --category=d", ["decision"]),
        ("mnemonctl remember text --category d", ["decision"]),
        ("mnemonctl list --category fact --categ", []),
        ("mnemonctl remember text --tag a --ta", ["--tags", "--tag"]),
        ("mnemonctl remember -- --ta", []),
        ("mnemonctl remember 'an open quotation --ta", []),
        ("mnemonctl nothing --ta", []),
        ("mnemonctl list fact d", []),
        ("man ls", []),
        ("", []),
    ],
)
def test_words_are_completed_from_the_declarations(typed: str, candidates: list[str]) -> None:
    assert offered(typed) == candidates


def test_every_declared_kind_has_a_source() -> None:
    kinds = {
        str(field.extra.get("completes", ""))
        for command in COMMANDS
        if command.method is not None
        for field in fields_of(command.method.params)
    } | {command.words.completes for command in COMMANDS}
    assert kinds - {"", "command"} == set(SOURCES)


def test_the_last_of_several_values_is_completed() -> None:
    it = wanted(["remember", "--tags=ops,d"])
    assert (it.word, it.kept) == ("d", "--tags=ops,")
    found = [Candidate("db"), Candidate("dns"), Candidate("ops")]
    assert answer("zsh", it, found) == "--tags=ops,db\n--tags=ops,dns\n"
    assert answer("bash", it, found) == "ops,db\nops,dns\n"  # bash begins a new word behind "="


@given(st.text(max_size=40), st.text(max_size=5))
def test_a_value_from_a_store_is_one_word_of_the_shell(value: str, typed: str) -> None:
    shown = answer("bash", Wanted(typed), [Candidate(value)]).splitlines()
    if not shown:
        assert not value.isprintable() or not value.casefold().startswith(typed.casefold())
    elif not any(mark in typed for mark in "=:"):
        assert "".join(shlex.split(shown[0])) == value


@each_row("tag", ["$(touch pwned)", "`touch pwned`", "a; touch pwned", "'\" touch pwned", "*", "!!"])
def test_a_hostile_tag_is_a_word_of_a_real_bash(tag: str, tmp_path: Path) -> None:
    word = answer("bash", Wanted(""), [Candidate(tag)]).rstrip("\n")
    done = subprocess.run(["bash", "-c", f"printf %s {word}"], capture_output=True, check=True, cwd=tmp_path)
    assert (done.stdout.decode(), list(tmp_path.iterdir())) == (tag, [])


@each_row("value", ["a\nb", "a\tb", "a\x1b[2Jb", "a\u202eb"])
def test_values_with_control_characters_are_left_out(value: str) -> None:
    for shell in SCRIPTS:
        assert answer(shell, Wanted(""), [Candidate(value)]) == ""


def test_a_description_is_one_line_without_control_characters() -> None:
    shown = answer("fish", Wanted(""), [Candidate("1a2b3c4d", "two\nlines\tand\x1b[2J" + "x" * 100)])
    assert shown.count("\n") == shown.count("\t") == 1
    assert "\x1b" not in shown
    assert len(shown) < 90


# ---------------------------------------------------------------- through the daemon and the client


def asked(result: object, *typed: str, store: str | None = None) -> tuple[str, list[tuple[str, object]]]:
    """What the daemon answers, and the methods that it called."""
    calls: list[tuple[str, object]] = []

    async def invoke(method: Method, params: Any, call: Call) -> Any:
        calls.append((method.name, params))
        if isinstance(result, MnemonError):
            raise result
        return result

    run = CliHandler(invoke).run(CALL, CliRunParams(argv=[FLAG, *typed], env_store=store))
    found = run_now(run, lambda _: pytest.fail("nothing here needs a task"))
    assert isinstance(found, CliRunResult)
    assert (found.exit_code, found.stderr) == (0, "")
    return found.stdout, calls


def test_ids_come_from_the_store_of_the_line() -> None:
    shown, calls = asked(LISTED, "fish", "--store", "work", "get", "")
    assert shown.splitlines()[0].partition("\t")[0] == ID[:8]
    assert calls == [("list", {"limit": LATEST, "store": "work"})]
    assert asked(LISTED, "bash", "mnemonctl get ", store="mine")[1] == [("list", {"limit": LATEST, "store": "mine"})]
    assert asked(LISTED, "bash", "mnemonctl get ffffff")[0] == ""


def test_without_need_of_a_store_none_is_read() -> None:
    assert asked(LISTED, "bash", "mnemonctl rem") == ("remember\n", [])
    assert asked(LISTED, "bash", "mnemonctl 'rem") == ("", [])


def test_an_error_of_the_store_is_no_candidate() -> None:
    assert asked(MnemonError(NOT_FOUND, "no such store"), "bash", "mnemonctl --store no get ")[0] == ""


def test_without_a_daemon_the_client_answers_and_starts_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MNEMON_DATA_DIR", str(tmp_path))
    assert mnemonctl.run([FLAG, "bash", "mnemonctl rem"]) == 0
    assert capfd.readouterr() == ("remember\n", "")
    assert list(tmp_path.iterdir()) == []


def test_the_client_prints_what_the_daemon_answers_and_reads_no_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MNEMON_DATA_DIR", str(tmp_path))
    monkeypatch.setattr(fast, "read_stdin", lambda: pytest.fail("a terminal would wait"))
    with fake_daemon(tmp_path, lambda _: line(0, "1a2b3c4d\tWe chose SQLite\n")):
        assert mnemonctl.run([FLAG, "zsh", "remember", "-", ""]) == 0
    assert capfd.readouterr().out == "1a2b3c4d\tWe chose SQLite\n"


# ---------------------------------------------------------------- the scripts, the page


def shell(name: str, code: str, directory: Path) -> list[str]:
    """What a real shell prints that has loaded the script; it runs this client."""
    program = directory / "mnemonctl"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "from mnemonctl import main; main()" "$@"\n')
    program.chmod(0o700)
    (directory / "script").write_text(SCRIPTS[name])
    environ = {"PATH": f"{directory}:/usr/bin:/bin", "HOME": str(directory), "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([name, "-c", code], env=environ, cwd=directory, capture_output=True, check=True, text=True)
    return done.stdout.splitlines()


def test_bash_gets_its_candidates_from_the_client(tmp_path: Path) -> None:
    code = """
        source ./script; complete -p mnemonctl >&2
        COMP_LINE='mnemonctl list --category d and more'; COMP_POINT=27; _mnemonctl; printf '%s\\n' "${COMPREPLY[@]}"
    """
    assert shell("bash", code, tmp_path) == ["decision"]


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_gets_its_candidates_from_the_client(tmp_path: Path) -> None:
    code = 'source ./script; complete -C "mnemonctl list --category d"'
    assert shell("fish", code, tmp_path) == ["decision"]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_gets_its_candidates_from_the_client(tmp_path: Path) -> None:
    code = """
        compdef() { : }; source ./script
        compadd() { print -rl -- "${values[@]}" }
        words=(mnemonctl list --category d); CURRENT=4; _mnemonctl
    """
    assert shell("zsh", code, tmp_path) == ["decision"]


def test_the_manual_has_every_command_and_option() -> None:
    text = manual().replace(r"\-", "-")
    for command in COMMANDS:
        assert f"\n.SS {command.name}" in text
        assert all(f", {flag}" in text or f"B {flag}" in text for each in command.parser.options for flag in each.flags)
    assert all(each.flags[0] in text for each in GLOBALS)
    requests = {part.split(" ")[0] for part in manual().splitlines() if part.startswith(".")}
    assert requests == {".TH", ".SH", ".SS", ".PP", ".TP", ".B", ".I", ".nf", ".fi"}
    assert not any(part.startswith("'") for part in manual().splitlines())
