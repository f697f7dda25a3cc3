"""`mnemonctl embed`: one command for four methods, what it asks for and what it prints."""

from __future__ import annotations

import msgspec

from mnemond.api.types_daemon import CliRunParams, CliRunResult
from mnemond.api.types_extract import CalibrationView
from mnemond.cli.grammar import Invocation, Output, parse, success
from mnemond.cli.help import BY_NAME
from mnemond.cli.output import Style
from tests.cli.embed_results import (
    ABORTED,
    ALL,
    CALIBRATED,
    EMBEDDED,
    ID,
    NOTHING,
    RAN,
    STATUS,
    SWITCHING,
)
from tests.cli.test_terminal import unsafe_left
from tests.cli.test_text import STORABLE, hostile
from tests.tables import each_row


def shown(result: object, *, quiet: bool = False) -> str:
    return success(BY_NAME["embed"], result, Output("text", style=Style(columns=72, quiet=quiet))).stdout


@each_row(
    ("argv", "method", "params"),
    [
        ([], "embed.status", {}),
        (["--status"], "embed.status", {}),
        (["--status", "--store", "work"], "embed.status", {"store": "work"}),
        (["--all", "--op-id", "mine"], "embed.run", {"all": True, "op_id": "mine"}),
        (["--missing"], "embed.run", {"all": False}),
        ([ID], "embed.run", {"id": ID}),
        (["--switch", "builtin"], "embed.switch", {"provider": "builtin"}),
        (["--switch", "ollama:nomic:v1.5"], "embed.switch", {"provider": "ollama", "model": "nomic:v1.5"}),
        (["--abort"], "embed.switch", {"abort": True}),
        (["--switch", "--abort"], "embed.switch", {"abort": True}),
        (["--calibrate"], "embed.calibrate", {}),
    ],
)
def test_what_is_asked_for(argv: list[str], method: str, params: dict[str, object]) -> None:
    parsed = parse(CliRunParams(argv=["embed", *argv]))
    assert isinstance(parsed, Invocation), parsed
    assert (parsed.method, parsed.params) == (method, params)


@each_row(
    ("argv", "sentence"),
    [
        (["--all", "--missing"], "one thing at a time (--all, --missing were given)"),
        (["--all", ID], "one thing at a time (--all, an id were given)"),
        (["--switch", "ollama", "--abort"], "one thing at a time (--switch, --abort were given)"),
        (["--switch"], "--switch needs a provider"),
        (["--switch", ":x"], "--switch needs a provider"),
        (["--switch", "ollama:"], "--switch needs a provider"),
        (["1a2b"], "the id has 4 characters; it needs 6"),
        ([ID, ID], "only one (2 were given)"),
    ],
)
def test_what_cannot_be_meant(argv: list[str], sentence: str) -> None:
    parsed = parse(CliRunParams(argv=["embed", *argv], tty_err=True))
    assert isinstance(parsed, CliRunResult)
    assert parsed.exit_code == 2
    assert sentence in parsed.stderr


def test_results() -> None:
    assert shown(EMBEDDED) == "Embedded 1a2b3c4d with minilm\n"
    assert shown(RAN) == "Embedded 1 memory with minilm; 2 failed (done before, with the same op_id)\n"
    assert shown(NOTHING) == "Nothing to do: every memory has one\n"
    assert shown(SWITCHING) == (
        "Switching to nomic: 1,234 memories to embed\n"
        "  the present vectors serve\n"
        "  how far it is: mnemonctl embed --status\n"
    )
    assert shown(ABORTED) == (
        "Gave up the switch to nomic; 512 vectors dropped (done before, with the same op_id)\n  it keeps minilm\n"
    )
    assert shown(CALIBRATED) == (
        "Calibrated minilm on 500 pairs and 1 paraphrase (done before, with the same op_id): "
        "unrelated .40, paraphrases .90\n  links from .81, candidates from .53\n"
    )
    first = msgspec.structs.replace(CALIBRATED, replayed=False)
    assert "op_id" not in shown(first)


def test_a_store_without_an_embedder() -> None:
    bare = msgspec.structs.replace(
        STATUS, provider=None, reason=None, model=None, dimension=None, stale=0, work=None, switch=None,
        calibration=CalibrationView(None, None, "unknown"),
    )  # fmt: skip
    assert shown(bare) == (
        'Store "default"\n  embedded    1,230 of 1,234 memories (100 %)\n  model       none\n'
        "  calibrated  no: nothing is known of this model; try --calibrate\n"
        "  links from  .81, candidates from .53\n"
    )


@each_row("quiet", [False, True])
@each_row("result", ALL)
def test_no_field_can_drive_the_terminal(result: object, quiet: bool) -> None:
    for payload in STORABLE:
        assert unsafe_left(shown(hostile(result, payload + "\nsecond line"), quiet=quiet)) == []
