"""`mnemonctl extract`: what is typed, and what is read of the answer."""

from __future__ import annotations

import msgspec

from mnemond.api.types_daemon import CliRunParams, CliRunResult
from mnemond.api.types_extract import (
    ContextMessage,
    ExtractContext,
    ExtractCounts,
    ExtractParams,
    ExtractResult,
    KnownMemory,
)
from mnemond.cli.grammar import Invocation, parse
from mnemond.cli.output import Style
from mnemond.cli.remember import EXTRACT
from mnemond.model.outcomes import United
from tests.cli.extraction_results import EXTRACTED
from tests.cli.test_terminal import PAYLOADS, unsafe_left
from tests.tables import each_row


def parsed(*argv: str, stdin: str | None = None) -> dict[str, object]:
    found = parse(CliRunParams(argv=["extract", *argv], stdin=stdin))
    assert isinstance(found, Invocation), found
    assert found.method == "extract"
    msgspec.convert(found.params, ExtractParams)
    return found.params


def refused(*argv: str, stdin: str | None = None) -> str:
    found = parse(CliRunParams(argv=["extract", *argv], stdin=stdin, tty_err=True))
    assert isinstance(found, CliRunResult)
    assert found.exit_code == 2
    return found.stderr


def test_every_option() -> None:
    assert parsed(
        "x", "--whole", "--no-infer", "--importance-threshold", "5", "--observation-date", "2026-02-18T10:00:00Z",
        "--conversation", "c1", "--no-auto-resolve-conflicts", "--dry-run", "--show-context", "--op-id", "o",
        "--user", "u",
        "--store", "s",
    ) == {
        "messages": [{"role": "user", "content": "x"}], "whole": True, "infer": False, "importance_threshold": 5,
        "observation_date": "2026-02-18T10:00:00Z", "conversation_id": "c1", "auto_resolve_conflicts": False,
        "dry_run": True, "show_context": True, "op_id": "o", "user_id": "u", "store": "s",
    }  # fmt: skip
    assert parsed("x", "--now", "2026-02-18T10:00:00Z")["observation_date"] == "2026-02-18T10:00:00Z"


@each_row("text", ['[{"content": "Ana works at Acme"}]', '{"facts": [{"content": "Ana works at Acme"}]}'])
def test_facts_of_the_host(text: str) -> None:
    expected = {"facts": [{"content": "Ana works at Acme"}]}
    assert parsed("--facts", text) == parsed("--facts", "-", stdin=text) == expected


@each_row(
    ("argv", "stdin", "sentence"),
    [
        ([], None, "extract needs what was said"),
        (["x", "--facts", "[]"], None, "extract takes a text or --facts, not both"),
        (["--messages", "["], None, "--messages is not JSON"),
        (["--facts", "-"], "{", "standard input is not JSON"),
        (["--facts", "-"], None, "no"),
        (["-"], "[", "standard input is not JSON"),
        (["-", "--assistant", "x"], "[]", "--assistant is for a text"),
        (["--messages", "[]", "--role", "user"], None, "--role is for a text"),
        (["--messages", '"\udcff"'], None, "--messages is not JSON"),
    ],
)
def test_what_cannot_be_meant(argv: list[str], stdin: str | None, sentence: str) -> None:
    assert sentence in refused(*argv, stdin=stdin)


def shown(result: ExtractResult | ExtractContext, **style: bool) -> str:
    assert EXTRACT.render is not None
    return EXTRACT.render(result, Style(columns=72, **style))


def with_fact(**fields: object) -> ExtractResult:
    fact = msgspec.structs.replace(EXTRACTED.facts[0], redacted=[], **fields)
    counts = ExtractCounts(**{str(fact.action).lower(): 1})
    return msgspec.structs.replace(EXTRACTED, facts=[fact], dropped=[], counts=counts)


def test_what_a_known_fact_added_to_its_memory() -> None:
    known = with_fact(action="NONE", resolution="DUPLICATE", previous_id=None, united=United([], ["Bo"], 3, 4))
    assert "\n  added entities Bo; importance 3 -> 4\n" in shown(known)
    assert "\n  would add entities Bo; importance 3 -> 4\n" in shown(msgspec.structs.replace(known, dry_run=True))


def test_what_stands_beside_another() -> None:
    text = shown(
        with_fact(action="CREATE", resolution="COEXIST", previous_id=None, reason="kept beside x: numbers differ")
    )
    assert "  kept beside x: numbers differ\n" in text


def test_nothing_was_written() -> None:
    rehearsed = msgspec.structs.replace(with_fact(action="CREATE", memory_id=None, op_id=None), dry_run=True)
    assert "1 new; nothing was written" in shown(rehearsed)
    assert "undo" not in shown(rehearsed)
    empty = msgspec.structs.replace(EXTRACTED, facts=[], counts=ExtractCounts(), dropped=[])
    assert shown(empty) == 'Nothing to remember for store "default"\n'


CONTEXT = ExtractContext(
    summary=None,
    earlier=[ContextMessage("user", "ana", "Hello\nthere")],
    latest=[ContextMessage("user", None, "Do we deploy on Fridays?")],
    known=[KnownMemory(1, "1a2b3c4d-0000-4000-8000-000000000001", "preference", "We never deploy on Fridays")],
    observed_at="2026-02-18T10:00:00.000000Z",
    speaker="Ana",
    store="default",
)


def test_the_context_of_an_exchange() -> None:
    assert shown(CONTEXT) == (
        'store "default", 2026-02-18T10:00:00.000000Z, speaker: Ana\n'
        "before\nana:\n   Hello\n   there\n"
        "latest exchange\nuser:\n   Do we deploy on Fridays?\n"
        "known\n1. 1a2b3c4d  preference\n   We never deploy on Fridays\n"
    )


@each_row("payload", [each for each in PAYLOADS.values() if "\ud800" not in each])
def test_no_context_can_drive_the_terminal(payload: str) -> None:
    message = ContextMessage(payload, payload, payload)
    hostile = msgspec.structs.replace(
        CONTEXT, earlier=[message], latest=[message], known=[KnownMemory(1, payload, payload, payload)],
        speaker=payload, store=payload, observed_at=payload,
    )  # fmt: skip
    assert unsafe_left(shown(hostile)) == []
