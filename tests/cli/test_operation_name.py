"""What every command that writes says about taking it back: an id that can be typed, in one form."""

from __future__ import annotations

import shlex
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from mnemond.cli.output import one_line, operation_name
from tests.cli.audit_results import COLLECTED, KEPT, UNDONE
from tests.cli.results import LINKED, REMEMBERED, UNLINKED
from tests.cli.revision_results import MERGED, RESTORED, SUPERSEDED, UPDATED
from tests.cli.test_text import shown
from tests.tables import each_row

MADE = "9ac49b13-5a44-4d71-9f2c-000000000001"

WRITTEN: list[tuple[str, Any]] = [
    ("remember", REMEMBERED), ("link", LINKED), ("unlink", UNLINKED), ("update", UPDATED), ("supersede", SUPERSEDED),
    ("merge", MERGED), ("restore", RESTORED), ("undo", UNDONE), ("gc", KEPT), ("gc", COLLECTED),
]  # fmt: skip


@each_row(("command", "result"), WRITTEN)
@each_row(("op_id", "named"), [(MADE, "9ac49b13"), ("it's mine; rm", """'it'"'"'s mine; rm'""")])
def test_each_command_names_its_operation_alike(command: str, result: Any, op_id: str, named: str) -> None:
    text = shown(command, msgspec.structs.replace(result, op_id=op_id))
    assert f"mnemonctl undo {named}\n" in text


@given(st.text(min_size=1, max_size=60))
def test_a_shell_reads_one_word(op_id: str) -> None:
    assert shlex.split(operation_name(op_id)) == [one_line(op_id)]
