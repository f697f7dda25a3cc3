"""`mnemonctl cues`: one command for two methods, and what it prints."""

from __future__ import annotations

import msgspec

from mnemond.api.types_daemon import CliRunParams, CliRunResult
from mnemond.cli.grammar import Invocation, Output, parse, success
from mnemond.cli.help import BY_NAME
from mnemond.cli.output import Style
from tests.cli.cues_results import APPLIED, APPLIED_TRANSCRIPT, ID, MISSING, OTHER
from tests.cli.test_terminal import unsafe_left
from tests.cli.test_text import STORABLE
from tests.tables import each_row


def shown(result: object, *, quiet: bool = False) -> str:
    return success(BY_NAME["cues"], result, Output("text", style=Style(columns=72, quiet=quiet))).stdout


@each_row(
    ("argv", "method", "params"),
    [
        ([], "cues.missing", {}),
        (["--missing", "-n", "5", "--store", "work"], "cues.missing", {"limit": 5, "store": "work"}),
        (["--apply", "cues.json", "--op-id", "mine"], "cues.apply", {"op_id": "mine"}),
        (["--apply", "-", "--allow-secret"], "cues.apply", {"allow_secret": True}),
    ],
)
def test_what_is_asked_for(argv: list[str], method: str, params: dict[str, object]) -> None:
    parsed = parse(CliRunParams(argv=["cues", *argv]))
    assert isinstance(parsed, Invocation), parsed
    assert (parsed.method, parsed.params) == (method, params)


@each_row("argv", [["--missing", "--apply", "x"], ["--apply", "x", "-n", "5"], ["more"]])
def test_what_is_no_request(argv: list[str]) -> None:
    parsed = parse(CliRunParams(argv=["cues", *argv]))
    assert isinstance(parsed, CliRunResult)
    assert parsed.exit_code == 2


def test_what_was_applied() -> None:
    assert shown(APPLIED) == APPLIED_TRANSCRIPT
    assert shown(msgspec.structs.replace(APPLIED, changed=[], unchanged=[], unknown=[], redacted=[])) == (
        "Gave cues to 0 memories\n"
    )
    assert shown(APPLIED, quiet=True) == f"{ID}\n"
    assert shown(MISSING, quiet=True) == f"{ID}\n{OTHER}\n"
    assert shown(msgspec.structs.replace(MISSING, memories=[], left=0)) == 'Every memory in store "default" has cues\n'


@each_row("payload", STORABLE)
def test_nothing_of_a_memory_reaches_the_terminal(payload: str) -> None:
    hostile = msgspec.structs.replace(MISSING.memories[0], content=payload)
    assert not unsafe_left(shown(msgspec.structs.replace(MISSING, memories=[hostile])))
