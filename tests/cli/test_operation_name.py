"""What every command that writes says about taking it back: an id that can be typed, in one form."""

from __future__ import annotations

import shlex

from hypothesis import given
from hypothesis import strategies as st

from mnemond.cli.output import one_line, operation_name


@given(st.text(min_size=1, max_size=60))
def test_a_shell_reads_one_word(op_id: str) -> None:
    assert shlex.split(operation_name(op_id)) == [one_line(op_id)]
