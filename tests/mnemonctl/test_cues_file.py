"""cues --apply: the file that holds the cues."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mnemonctl import commands, rpc
from mnemond.api.types_daemon import CliRunParams, CliRunResult
from mnemond.cli.grammar import Invocation, parse
from mnemond.errors import NOT_FOUND, MnemonError
from mnemond.model.outcomes import CuesApplied


def test_a_pipe_in_the_place_of_the_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "cues.json")
    with pytest.raises(MnemonError, match="it is a named pipe, not a file") as caught:
        commands._cues_of(str(tmp_path / "cues.json"))
    assert caught.value.hint is not None
    assert "- for standard input" in caught.value.hint


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_ids_of_no_memory_are_named_and_the_others_are_applied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: tuple[str, ...]
) -> None:
    file = tmp_path / "cues.json"
    file.write_text('[{"id": "1a2b3c4d", "cues": ["a"]}, {"id": "zzzzzz", "cues": ["b"]}]')
    invocation = parse(CliRunParams(argv=["cues", "--apply", str(file), *form]))
    assert isinstance(invocation, Invocation)

    def applied(unknown: list[str]) -> CliRunResult:
        result = CuesApplied(
            changed=["1a2b3c4d"], unchanged=[], unknown=unknown, redacted=[], op_id="op-7", replayed=False
        )
        monkeypatch.setattr(rpc, "call", lambda *_: result)
        return commands.run_cues_file(invocation, tmp_path, 1.0, "")

    assert (applied([]).exit_code, applied([]).stderr) == (0, "")
    shown = applied(["zzzzzz", "\x1b[2J"])
    assert shown.exit_code == NOT_FOUND.exit != 0
    assert "2 ids" in shown.stderr
    assert "zzzzzz, " in shown.stderr
    assert "all others were applied" in shown.stderr
    assert "\x1b" not in shown.stderr
    assert "1a2b3c4d" in shown.stdout
