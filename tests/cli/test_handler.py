"""`cli.run` inside the daemon: results now, later and from coroutines; failures of each."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import msgspec
import pytest
import trio

from mnemond.api.types_daemon import CliRunParams, CliRunResult
from mnemond.cli.run import CliHandler
from mnemond.errors import INVALID_PARAMS, KINDS, NOT_FOUND, FieldProblem, MnemonError, invalid
from mnemond.wire.deferred import Deferred, Spawn, run_now
from mnemond.wire.dispatch import Call
from mnemond.wire.params import PROTOCOL, Method
from tests.cli.audit_results import COLLECTABLE, HISTORY, REVIEWED
from tests.cli.results import CREATED, DIFFERENCES, LISTED, RECALLED, SEARCHED
from tests.tables import each_row

CALL = Call(connection=1, peer_pid=2, peer_uid=3)


def no_task(_: object) -> None:
    raise AssertionError("nothing here needs a task")


def run(outcome: Callable[[], object], *argv: str, spawn: Spawn = no_task, **facts: Any) -> Any:
    """`tty` means both streams, unless `tty_err` says otherwise."""
    facts.setdefault("tty_err", facts.get("tty", False))
    asked: list[tuple[str, object, Call]] = []

    async def invoke(method: Method, params: Any, call: Call) -> Any:
        asked.append((method.name, params, call))
        found = outcome()
        return await found if isinstance(found, Deferred | Coroutine) else found

    answer = run_now(CliHandler(invoke).run(CALL, CliRunParams(argv=list(argv), **facts)), spawn)
    seen = msgspec.structs.replace(CALL, at_terminal=facts.get("tty", False))
    assert all(call == seen for _, _, call in asked)
    return answer if not asked else (answer, asked[0][:2])


def refuse(error: MnemonError) -> Callable[[], object]:
    def outcome() -> object:
        raise error

    return outcome


def test_a_result_that_is_here_is_rendered_at_once() -> None:
    answer, asked = run(lambda: CREATED, "store", "create", "work", tty=True)
    assert answer == CliRunResult(0, False, 'Created store "work"\n', "")
    assert asked == ("store.create", {"name": "work"})


def test_json_where_there_is_no_terminal() -> None:
    answer, asked = run(lambda: RECALLED, "recall", "x", env_store="work")
    assert msgspec.json.decode(answer.stdout) == msgspec.json.decode(msgspec.json.encode(RECALLED))
    assert asked == ("recall", {"query": "x", "store": "work"})


@pytest.mark.parametrize("tty_err", [False, True])
def test_json_errors_are_harmless_on_a_terminal(tty_err: bool) -> None:
    answer, _ = run(refuse(MnemonError(NOT_FOUND, "no \x9b store")), "list", "--json", tty=not tty_err, tty_err=tty_err)
    assert ("\x9b" not in answer.stderr) is tty_err


def test_a_defect_in_a_deferred_result_reaches_the_asker() -> None:
    later: Deferred[object] = Deferred()
    answer, _ = run(lambda: later, "remember", "x", tty=True)
    later.fail(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        answer.result()


@each_row("kind", KINDS)
def test_every_kind_of_error_has_its_exit_code(kind: Any) -> None:
    answer, _ = run(refuse(MnemonError(kind, "so it is")), "list", tty=True)
    assert (answer.exit_code, answer.stdout) == (kind.exit, "")


def test_an_error_is_one_json_object_in_json_mode() -> None:
    error = invalid([FieldProblem("limit", "limit must be 1 to 1000, not 5000")], hint="Ask for fewer.")
    answer, _ = run(refuse(error), "list", "--limit", "5000")
    assert answer.exit_code == 2
    assert msgspec.json.decode(answer.stderr) == {
        "error": {
            "code": "invalid_params",
            "message": "limit must be 1 to 1000, not 5000",
            "details": {
                "hint": "Ask for fewer.",
                "retryable": False,
                "outcome": "rejected",
                "problems": [{"field": "limit", "message": "limit must be 1 to 1000, not 5000"}],
            },
        }
    }


def test_each_bad_field_has_a_line_of_its_own() -> None:
    error = invalid([FieldProblem("limit", "limit is 0"), FieldProblem("query", "query is empty")], hint="2 problems")
    answer, _ = run(refuse(error), "recall", "x", tty=True)
    assert answer.stderr == "mnemonctl: limit is 0\nmnemonctl: query is empty\n  2 problems\n"


def test_the_text_of_an_error_cannot_drive_the_terminal() -> None:
    answer, _ = run(refuse(MnemonError(INVALID_PARAMS, "bad \x1b]0;x\x07", hint="\u202e")), "list", tty=True)
    assert answer.stderr == "mnemonctl: bad \\x1b]0;x\\x07\n  \\u202e\n"


@each_row(("theirs", "outdated"), [("0.0.9", False), ("999.0", True), (None, False), ("nonsense", False)])
def test_only_a_newer_client_makes_the_daemon_outdated(theirs: str | None, outdated: bool) -> None:
    for argv in (["store", "create", "work"], ["--help"], ["nonsense"]):
        answer = run(lambda: CREATED, *argv, client_version=theirs)
        result = answer[0] if isinstance(answer, tuple) else answer
        assert result.outdated is outdated


def test_another_protocol_is_a_sentence_and_the_command_that_mends_it() -> None:
    result = run(lambda: CREATED, "store", "create", "work", protocol=PROTOCOL + 1, tty=True)
    assert isinstance(result, CliRunResult)  # the method was not called
    assert result.exit_code == 2
    assert f"protocol {PROTOCOL + 1}" in result.stderr
    assert "mnemonctl daemon restart" in result.stderr


def test_what_the_client_does_by_itself_is_refused() -> None:
    result = run(lambda: CREATED, "daemon", "stop", tty=True)
    assert result == CliRunResult(
        2, False, "", "mnemonctl: daemon stop is carried out by the client\n  Run: mnemonctl daemon stop\n"
    )


def passed(result: object) -> object:
    return result


async def eventually(result: object) -> object:
    return result


async def test_a_long_result_is_laid_out_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemond.cli.run.LONG_TEXT", 10)
    at_once, _ = run(lambda: CREATED, "store", "create", "work", tty=True)
    assert isinstance(at_once, CliRunResult)
    expected, _ = run(lambda: msgspec.structs.replace(RECALLED, results=RECALLED.results[:0]), "recall", "x", tty=True)
    assert isinstance(expected, CliRunResult)
    long = (
        (RECALLED, ["recall", "x"]), (LISTED, ["list"]), (SEARCHED, ["search", "x"]), (DIFFERENCES, ["diff", "x"]),
        (HISTORY, ["history", "1a2b3c4d"]), (COLLECTABLE, ["gc"]), (REVIEWED, ["gc", "--review"]),
    )  # fmt: skip
    for result, command in long:
        async with trio.open_nursery() as nursery:
            later, _ = run(partial(passed, result), *command, tty=True, spawn=nursery.start_soon)
            assert isinstance(later, Deferred)
            shown = await later
            again, _ = run(partial(eventually, result), *command, tty=True, spawn=nursery.start_soon)
            assert (await again) == shown
        monkeypatch.setattr("mnemond.cli.run.LONG_TEXT", 1 << 30)
        now, _ = run(partial(passed, result), *command, tty=True)
        assert now == shown
        monkeypatch.setattr("mnemond.cli.run.LONG_TEXT", 10)
