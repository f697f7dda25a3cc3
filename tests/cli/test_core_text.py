"""What the commands about core summaries ask for and print besides the transcripts."""

from __future__ import annotations

import msgspec

from mnemond.api.types_daemon import CliRunParams
from mnemond.cli.grammar import Invocation, Output, parse, success
from mnemond.cli.help import BY_NAME
from mnemond.cli.output import Style
from tests.cli.core_results import CORE_RESULTS, SHOWN
from tests.tables import each_row


def shown(command: str, result: object, *, quiet: bool = False) -> str:
    return success(BY_NAME[command], result, Output("text", style=Style(columns=72, quiet=quiet))).stdout


@each_row(
    ("argv", "method", "params"),
    [
        (["core", "show"], "core.show", {}),
        (["core", "show", "--user", "ana", "3"], "core.show", {"user_id": "ana", "version": 3}),
        (["core", "update", "--op-id", "x"], "core.update", {"op_id": "x"}),
        (["core", "set", "I", "like", "tea"], "core.set", {"text": "I like tea"}),
        (["core", "history", "-n", "5"], "core.history", {"limit": 5}),
        (["core", "diff"], "core.diff", {}),
        (["core", "diff", "5"], "core.diff", {"newer": 5}),
        (["core", "diff", "3", "5"], "core.diff", {"older": 3, "newer": 5}),
    ],
)
def test_what_is_asked_for(argv: list[str], method: str, params: dict[str, object]) -> None:
    parsed = parse(CliRunParams(argv=argv))
    assert isinstance(parsed, Invocation), parsed
    assert (parsed.method, parsed.params) == (method, params)


@each_row(
    "argv",
    [
        ["core", "diff", "x"],
        ["core", "show", "x"],
        ["core", "show", "1", "2"],
        ["core", "diff", "1", "2", "3"],
        ["core", "set"],
        ["core"],
    ],
)
def test_what_is_refused(argv: list[str]) -> None:
    assert not isinstance(parse(CliRunParams(argv=argv)), Invocation)


def test_none_yet_a_former_one_and_the_same_again() -> None:
    none = msgspec.structs.replace(SHOWN, version=0, text="", lines=[], created_at=None, user="ana")
    assert shown("core show", none).startswith('No core summary of ana in store "default" yet\n')
    former = msgspec.structs.replace(SHOWN, current=False, taken_back_at=SHOWN.created_at, reason="", left_out=0)
    assert "(not the current one)" in shown("core show", former)
    assert shown("core show", former).endswith("taken back 2026-02-01 10:00:00\n")
    same = msgspec.structs.replace(CORE_RESULTS["core.update"], status="unchanged")  # type: ignore[type-var]
    assert shown("core update", same).startswith("The core summary says the same: version 3 of ana")
    empty = msgspec.structs.replace(CORE_RESULTS["core.history"], versions=[])  # type: ignore[type-var]
    assert shown("core history", empty) == 'No core summary in store "default" yet\n'


def test_a_hostile_text_stays_a_text() -> None:
    hostile = msgspec.structs.replace(SHOWN, text="tea\x1b[2J\nquiet", reason="x\x1b[2J")
    assert "\x1b[2J" not in shown("core show", hostile)
