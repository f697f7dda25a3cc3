"""-q prints ids, one a line, whatever the command shows otherwise: the next command can take them."""

from __future__ import annotations

from mnemond.cli.grammar import Output, success
from mnemond.cli.help import BY_NAME
from mnemond.cli.output import Style
from tests.cli.results import BY_METHOD, DIFFERENCES, GOT, ID, LINKED, LISTED, OLD, RECALLED, SEARCHED, UNLINKED
from tests.cli.test_recall_forms import COMPACT, CONTEXT
from tests.tables import each_row

EXPECTED: list[tuple[str, object, str]] = [
    ("recall", RECALLED, f"{ID}\n{OLD}\n"),
    ("recall", COMPACT, "".join(f"{hit.id}\n" for hit in COMPACT.results)),
    ("recall", CONTEXT, "".join(f"{each}\n" for each in CONTEXT.ids)),
    ("search", SEARCHED, f"{ID}\n{OLD}\n"),
    ("list", LISTED, f"{ID}\n"),
    ("get", GOT, f"{ID}\n"),
    ("diff", DIFFERENCES, "".join(f"{each.id}\n" for each in DIFFERENCES.matches)),
    ("link", LINKED, f"{ID} {OLD}\n"),
    ("unlink", UNLINKED, f"{ID} {OLD}\n"),
]


@each_row(("name", "result", "printed"), EXPECTED)
def test_ids_alone(name: str, result: object, printed: str) -> None:
    assert success(BY_NAME[name], result, Output("text", style=Style(quiet=True))).stdout == printed


@each_row("name", ["remember", "related", "forget", "pin", "update", "supersede", "merge", "restore"])
def test_so_do_those_that_always_did(name: str) -> None:
    shown = success(BY_NAME[name], BY_METHOD[name], Output("text", style=Style(quiet=True))).stdout
    assert all(len(word) == len(ID) for word in shown.split())
    assert shown.split()
