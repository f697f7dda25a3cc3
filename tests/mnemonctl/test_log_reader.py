"""Reading a log that is written, renamed and cut back meanwhile."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemonctl.logs import MAX_LINE, LogReader
from mnemond.logs import LogFile


def everything(_: bytes) -> bool:
    return True


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / "log").mkdir()
    return tmp_path / "log" / "mnemond.log"


def append(path: Path, text: bytes) -> None:
    with path.open("ab") as file:
        file.write(text)


def test_the_last_lines_come_from_as_many_files_as_it_takes(tmp_path: Path, log: Path) -> None:
    log.write_bytes(b"5\n6\n")
    log.with_name("mnemond.log.1").write_bytes(b"3\n4\n")
    log.with_name("mnemond.log.2").write_bytes(b"1\n2\n")
    log.with_name("mnemond.log.old").write_bytes(b"not ours\n")
    for count, expected in ((0, []), (1, [b"6"]), (3, [b"4", b"5", b"6"]), (99, [b"1", b"2", b"3", b"4", b"5", b"6"])):
        with LogReader(tmp_path) as reader:
            assert reader.last(count, everything) == expected
            assert list(reader.more()) == []


def test_only_wanted_lines_are_counted(tmp_path: Path, log: Path) -> None:
    log.write_bytes(b"a4\nb5\nb6\n")
    log.with_name("mnemond.log.1").write_bytes(b"a1\na2\nb3\n")
    with LogReader(tmp_path) as reader:
        assert reader.last(2, lambda line: line.startswith(b"a")) == [b"a2", b"a4"]


def test_what_is_written_later_comes_in_whole_lines(tmp_path: Path, log: Path) -> None:
    log.write_bytes(b"1\n2")
    with LogReader(tmp_path) as reader:
        assert reader.last(9, everything) == [b"1"]
        append(log, b"2")
        assert list(reader.more()) == []
        append(log, b"2\n3\n")
        assert list(reader.more()) == [b"222", b"3"]


def test_a_log_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    with LogReader(tmp_path) as reader:
        assert reader.last(9, everything) == []
        assert list(reader.more()) == []
        (tmp_path / "log").mkdir()
        append(tmp_path / "log" / "mnemond.log", b"1\n")
        assert list(reader.more()) == [b"1"]


def test_a_file_that_was_cut_back_is_read_from_its_beginning(tmp_path: Path, log: Path) -> None:
    log.write_bytes(b"1\n2\n3\n")
    with LogReader(tmp_path) as reader:
        reader.last(9, everything)
        log.write_bytes(b"4\n")
        assert list(reader.more()) == [b"4"]


def test_a_line_without_end_does_not_fill_the_memory(tmp_path: Path, log: Path) -> None:
    log.write_bytes(b"x" * (MAX_LINE + 10) + b"\nnext\n")
    with LogReader(tmp_path) as reader:
        lines = reader.last(9, everything)
    assert [len(line) for line in lines] == [MAX_LINE, 10, 4]


def test_the_rest_of_a_file_is_not_lost_when_a_new_one_begins(tmp_path: Path, log: Path) -> None:
    log.write_bytes(b"1\n")
    with LogReader(tmp_path) as reader:
        reader.last(9, everything)
        append(log, b"2\nkilled in the mid")
        log.rename(log.with_name("mnemond.log.1"))
        append(log, b"3\n")
        assert list(reader.more()) == [b"2", b"killed in the mid", b"3"]


def test_a_file_that_was_removed_meanwhile_is_passed_over(tmp_path: Path, log: Path) -> None:
    log.write_bytes(b"1\n")
    with LogReader(tmp_path) as reader:
        reader.last(9, everything)
        log.unlink()
        assert list(reader.more()) == []
        append(log, b"2\n")
        assert list(reader.more()) == [b"2"]


@given(st.lists(st.integers(0, 12), max_size=12), st.integers(1, 6))
def test_a_reader_that_keeps_up_sees_every_line_once_and_in_order(
    tmp_path_factory: pytest.TempPathFactory, bursts: list[int], lines_a_file: int
) -> None:
    home = tmp_path_factory.mktemp("log")
    kept = 1 + 12 // lines_a_file
    file = LogFile(home, 5 * lines_a_file, kept)
    seen: list[int] = []
    written = 0
    with LogReader(home) as reader:
        reader.last(0, everything)
        for burst in bursts:
            for _ in range(burst):
                file.write(b"%04d\n" % written)
                written += 1
            seen += map(int, reader.more())
    file.close()
    assert seen == list(range(written))
    assert len(os.listdir(home / "log")) <= 1 + kept
