"""What `jobs list` and `jobs run` ask for, and what they print besides the transcripts."""

from __future__ import annotations

import msgspec

from mnemond.api.types_daemon import CliRunParams
from mnemond.cli.grammar import Invocation, Output, parse, success
from mnemond.cli.help import BY_NAME
from mnemond.cli.output import Style
from tests.cli.job_results import QUESTION, RAN
from tests.cli.results import STATUS
from tests.tables import each_row


def shown(command: str, result: object, *, quiet: bool = False) -> str:
    return success(BY_NAME[command], result, Output("text", style=Style(columns=72, quiet=quiet))).stdout


@each_row(
    ("argv", "method", "params"),
    [
        (["jobs", "list"], "jobs.list", {}),
        (["jobs", "list", "--store", "work"], "jobs.list", {"store": "work"}),
        (["jobs", "run", "prune"], "jobs.run", {"name": "prune"}),
        (
            ["jobs", "run", "prune", "--dry-run", "--yes", "--store", "work"],
            "jobs.run",
            {"name": "prune", "dry_run": True, "yes": True, "store": "work"},
        ),
    ],
)
def test_what_is_asked_for(argv: list[str], method: str, params: dict[str, object]) -> None:
    parsed = parse(CliRunParams(argv=argv))
    assert isinstance(parsed, Invocation), parsed
    assert (parsed.method, parsed.params) == (method, params)


@each_row(
    ("fields", "expected"),
    [
        ({"dry_run": True, "op_id": None}, "prune would change 300\n"),
        ({"outcome": "nothing", "changed": 0, "op_id": None}, "prune: nothing to do\n"),
        ({"outcome": "stopped", "detail": QUESTION, "op_id": None}, f"prune stopped: {QUESTION}\n"),
        ({"name": "backup", "changed": 1, "detail": "a.db", "op_id": None}, "backup changed 1: a.db\n"),
    ],
)
def test_how_a_run_ended(fields: dict[str, object], expected: str) -> None:
    assert shown("jobs run", msgspec.structs.replace(RAN, **fields)) == expected


def test_status_says_what_a_job_asks() -> None:
    asking = msgspec.structs.replace(STATUS, pending_jobs=1, questions=[f"prune: {QUESTION}"])
    assert f"  waiting     1 job\n  asks        prune: {QUESTION}\n" in shown("status", asking)


def test_what_was_said_and_waits_is_in_the_status() -> None:
    waiting = msgspec.structs.replace(STATUS, pending_exchanges=12, failed_exchanges=1)
    said = "  waiting     12 exchanges to be read, 1 exchange that could not be read (mnemonctl doctor)\n"
    assert said in shown("status", waiting)
    unreadable = msgspec.structs.replace(STATUS, pending_exchanges=None, failed_exchanges=None)
    assert "waiting" not in shown("status", unreadable)
