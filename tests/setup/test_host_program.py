"""Programs of hosts that fail, hang or say something else."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mnemonctl.setup import environment
from mnemonctl.setup.environment import SetupEnvironment
from mnemonctl.setup.host import all_hosts
from mnemond.errors import UNAVAILABLE, MnemonError
from tests.setup.homes import home_at, run, with_program
from tests.tables import each_row


def program(tmp_path: Path, source: str) -> list[str]:
    """One that runs this."""
    path = tmp_path / "program"
    path.write_text(f"#!{sys.executable} -IS\n{source}", "utf-8")
    path.chmod(0o755)
    return [str(path)]


def test_what_it_writes_is_what_comes_back(tmp_path: Path) -> None:
    command = program(tmp_path, "import sys; print(sys.stdin.read() or 'nothing')")
    assert environment.run(command, {}) == "nothing\n"


@each_row(
    ("source", "words"),
    [
        ("import sys; sys.exit('no \\x1b[31mway')", r"failed (1): no \x1b[31mway"),
        ("print('only this'); raise SystemExit(3)", "failed (3): only this"),
    ],
)
def test_its_last_words_are_quoted_harmlessly(tmp_path: Path, source: str, words: str) -> None:
    with pytest.raises(MnemonError) as raised:
        environment.run(program(tmp_path, source), {})
    assert raised.value.kind is UNAVAILABLE
    assert words in raised.value.message


def test_one_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COMMAND_S", "ANSWER_S"):
        monkeypatch.setattr(environment, name, 0.05)
    command = program(tmp_path, "import time; time.sleep(600)")
    with pytest.raises(MnemonError, match="took longer"):
        environment.run(command, {})
    with pytest.raises(MnemonError, match="did not answer"):
        environment.converse(command, {}, b"{}\n", 1)


def test_one_that_cannot_be_run_is_said(tmp_path: Path) -> None:
    with pytest.raises(MnemonError, match="cannot be run"):
        environment.run([str(tmp_path / "none")], {})
    with pytest.raises(MnemonError, match="cannot be run"):
        environment.converse([str(tmp_path / "none")], {}, b"", 1)


def test_of_what_it_says_the_answer_with_the_number_counts(tmp_path: Path) -> None:
    lines = ["not json", "[1]", '{"id":1}', '{"method":"x"}', '{"id":2,"result":{}}', '{"id":2,"result":{"late":1}}']
    command = program(tmp_path, f"import sys\nfor line in {lines!r}: print(line, flush=True)\nsys.stdin.read()")
    assert environment.converse(command, {}, b"{}\n", 2) == {"id": 2, "result": {}}
    with pytest.raises(MnemonError, match="did not answer"):
        environment.converse(program(tmp_path, "pass"), {}, b"x" * (1 << 20), 2)


@pytest.mark.parametrize("answer", ["{}", '{"data": 7}', '{"data": [{"hooks": [{"eventName": 1}]}]}'])
def test_of_trust_nothing_is_known_when_codex_says_something_else(place: SetupEnvironment, answer: str) -> None:
    path = place.home / "bin" / "codex"
    body = f'import sys\nfor line in sys.stdin:\n    print(\'{{"id": 2, "result": {answer}}}\', flush=True)\n'
    path.write_text(f"#!{sys.executable} -IS\n{body}", "utf-8")
    path.chmod(0o755)
    assert all_hosts(place)["codex"].trust() == {}


def test_a_list_of_plugins_that_is_no_json_is_an_error(place: SetupEnvironment) -> None:
    with_program(place, "claude")
    path = place.home / "bin" / "claude"
    path.write_text(path.read_text("utf-8").replace("print(json.dumps(rows, indent=2))", "print('hello')"), "utf-8")
    code, said = run(place)
    assert code == UNAVAILABLE.exit
    assert "something else than JSON" in said["targets"]["claude-code"]["error"]["message"]


@pytest.fixture
def place(tmp_path: Path) -> SetupEnvironment:
    return home_at(tmp_path)
