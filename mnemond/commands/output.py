"""From a result or a failure to what the client prints and how it leaves."""

from __future__ import annotations

from typing import Literal

import msgspec

from mnemond.commands.command import Command
from mnemond.commands.layout import Style
from mnemond.commands.terminal import escape_json, neutralise
from mnemond.errors import MnemonError
from mnemond.protocol.daemon import CliRunResult
from mnemond.protocol.envelope import clean

Form = Literal["text", "json"]


class Output(msgspec.Struct, frozen=True):
    """In which form to answer, and to fail. `tty` and `tty_err` say that a terminal shows it, so that JSON must be
    harmless too."""

    form: Form = "text"
    pretty: bool = False
    tty: bool = False
    style: Style = Style()
    error_form: Form = "text"
    tty_err: bool = False

    def json(self, value: object) -> str:
        """One JSON document and a line break."""
        encoded = msgspec.json.encode(value)
        document = (msgspec.json.format(encoded, indent=2) if self.pretty else encoded).decode()
        return (escape_json(document) if self.tty else document) + "\n"


def success(command: Command, result: object, output: Output, *, outdated: bool = False) -> CliRunResult:
    """What `command` prints for its method's `result`; a degraded store is mentioned on standard error."""
    if output.form == "json" or command.render is None:
        return CliRunResult(0, outdated, output.json(result), "")
    return CliRunResult(0, outdated, command.render(result, output.style), _notes(result))


def _notes(result: object) -> str:
    if getattr(result, "degraded", msgspec.UNSET) is not True:
        return ""
    reason = getattr(result, "degraded_reason", msgspec.UNSET)
    return neutralise(f"mnemonctl: the store is degraded: {reason or 'no reason given'}") + "\n"


def failure(error: MnemonError, output: Output, *, outdated: bool = False) -> CliRunResult:
    """What is printed for an error: a sentence and what to do next, or one JSON object; on standard error."""
    if output.error_form == "json":
        shown_on = msgspec.structs.replace(output, tty=output.tty_err)
        return CliRunResult(error.kind.exit, outdated, "", shown_on.json({"error": _error_object(error)}))
    sentences = [problem.message for problem in error.problems] or [error.message]
    text = "".join(f"mnemonctl: {sentence}\n" for sentence in sentences)
    hint = f"  {error.hint}\n" if error.hint else ""
    return CliRunResult(error.kind.exit, outdated, "", neutralise(text + hint))


def _error_object(error: MnemonError) -> dict[str, object]:
    details = {
        "hint": error.hint and clean(error.hint),
        "retryable": error.kind.retryable,
        "outcome": error.outcome,
        "problems": [{"field": clean(problem.field), "message": clean(problem.message)} for problem in error.problems],
    }
    return {"code": error.kind.name, "message": clean(error.message), "details": details}
