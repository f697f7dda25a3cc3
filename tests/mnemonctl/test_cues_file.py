"""cues --apply: the file that holds the cues."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mnemonctl import commands
from mnemond.errors import MnemonError


def test_a_pipe_in_the_place_of_the_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "cues.json")
    with pytest.raises(MnemonError, match="it is a named pipe, not a file") as caught:
        commands._cues_of(str(tmp_path / "cues.json"))
    assert caught.value.hint is not None
    assert "- for standard input" in caught.value.hint
