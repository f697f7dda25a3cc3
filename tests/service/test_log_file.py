"""The log's file: private, of a limited size, and found again."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from mnemond.logs import LogFile
from tests.tables import each_row

LINE = b"x" * 99 + b"\n"


def kept(data_dir: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((data_dir / "log").iterdir())}


def test_it_is_private_whatever_it_was(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "mnemond.log").write_bytes(b"before\n")
    (tmp_path / "log" / "mnemond.log").chmod(0o644)
    file = LogFile(tmp_path, 4096, 1)
    file.write(b"after\n")
    file.close()
    assert kept(tmp_path) == {"mnemond.log": b"before\nafter\n"}
    assert stat.S_IMODE((tmp_path / "log" / "mnemond.log").stat().st_mode) == 0o600


def test_no_file_is_larger_than_it_may_be_and_so_many_are_kept(tmp_path: Path) -> None:
    file = LogFile(tmp_path, 1000, 2)
    for number in range(45):
        file.write(b"%099d\n" % number)
    file.close()
    files = kept(tmp_path)
    assert {name: len(text) for name, text in files.items()} == {
        "mnemond.log": 500, "mnemond.log.1": 1000, "mnemond.log.2": 1000,
    }  # fmt: skip
    in_order = files["mnemond.log.2"] + files["mnemond.log.1"] + files["mnemond.log"]
    assert [int(line) for line in in_order.splitlines()] == list(range(20, 45))
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "log").iterdir()} == {0o600}


def test_a_line_longer_than_a_file_is_kept_alone(tmp_path: Path) -> None:
    file = LogFile(tmp_path, 50, 3)
    file.write(LINE)
    file.write(LINE)
    file.close()
    assert kept(tmp_path) == {"mnemond.log": LINE, "mnemond.log.1": LINE}


def test_without_older_files_it_begins_anew(tmp_path: Path) -> None:
    file = LogFile(tmp_path, 250, 0)
    for _ in range(3):
        file.write(LINE)
    file.close()
    assert kept(tmp_path) == {"mnemond.log": LINE}


def test_other_limits_count_from_the_next_line_on(tmp_path: Path) -> None:
    file = LogFile(tmp_path, 100, 5)
    for _ in range(6):
        file.write(LINE)
    assert len(kept(tmp_path)) == 6
    (tmp_path / "log" / "mnemond.log.old").write_bytes(b"somebody's own")
    file.set_limits(100, 2)
    file.write(LINE)
    assert sorted(kept(tmp_path)) == ["mnemond.log", "mnemond.log.1", "mnemond.log.2", "mnemond.log.old"]
    file.set_limits(1000, 2)
    file.write(LINE)
    assert kept(tmp_path)["mnemond.log"] == LINE * 2
    file.close()


@each_row("remove", [lambda path: path.unlink(), lambda path: path.rename(path.with_suffix(".moved"))])
def test_a_file_that_was_taken_away_is_begun_again(tmp_path: Path, remove: object) -> None:
    file = LogFile(tmp_path, 4096, 1)
    file.write(b"one\n")
    assert callable(remove)
    remove(tmp_path / "log" / "mnemond.log")
    file.write(b"two\n")
    file.close()
    assert kept(tmp_path)["mnemond.log"] == b"two\n"


def test_a_directory_that_was_taken_away_is_made_again(tmp_path: Path) -> None:
    file = LogFile(tmp_path, 4096, 1)
    (tmp_path / "log").rename(tmp_path / "elsewhere")
    file.write(b"two\n")
    file.close()
    assert kept(tmp_path) == {"mnemond.log": b"two\n"}
    assert stat.S_IMODE((tmp_path / "log").stat().st_mode) == 0o700


@each_row("link", ["log", "log/mnemond.log"])
def test_symbolic_links_are_not_followed(tmp_path: Path, link: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    home = tmp_path / "home"
    (home / link).parent.mkdir(parents=True)
    (home / link).symlink_to(elsewhere if link == "log" else elsewhere / "file")
    with pytest.raises(OSError, match=r"Not a directory|symbolic links"):
        LogFile(home, 4096, 1)
    assert list(elsewhere.iterdir()) == []


def test_what_cannot_be_rotated_is_written_on(tmp_path: Path) -> None:
    file = LogFile(tmp_path, 100, 1)
    file.write(LINE)
    (tmp_path / "log" / "mnemond.log.1").mkdir()
    (tmp_path / "log" / "mnemond.log.1" / "in the way").touch()
    file.write(LINE)
    file.close()
    assert (tmp_path / "log" / "mnemond.log").read_bytes() == LINE * 2


def test_what_goes_to_standard_error_goes_with_it(tmp_path: Path) -> None:
    """What the interpreter says when it dies stands in the file that people look at, also after a rotation."""
    file = LogFile(tmp_path, 100, 1)
    saved = os.dup(2)
    try:
        assert not file.is_stream(2)
        same = os.open(tmp_path / "log" / "mnemond.log", os.O_WRONLY | os.O_APPEND)
        os.dup2(same, 2)
        os.close(same)
        assert file.is_stream(2)
        file.write(LINE)
        file.write(LINE)
        os.write(2, b"Fatal Python error\n")
    finally:
        os.dup2(saved, 2)
        os.close(saved)
    file.close()
    assert kept(tmp_path) == {"mnemond.log": LINE + b"Fatal Python error\n", "mnemond.log.1": LINE}
    assert not file.is_stream(999)


def test_lines_of_many_threads_stay_whole(tmp_path: Path) -> None:
    file = LogFile(tmp_path, 2000, 100)

    def write(number: int) -> None:
        for _ in range(50):
            file.write(b"%099d\n" % number)

    threads = [threading.Thread(target=write, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    file.close()
    lines = b"".join(kept(tmp_path).values()).splitlines()
    assert sorted(int(line) for line in lines) == [number for number in range(4) for _ in range(50)]
