"""Whole processes of the client, from their arguments to their exit status."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

from tests.mnemonctl.daemons import fake_daemon, line
from tests.tables import each_row

ROOT = Path(__file__).resolve().parents[2]


ALLOWED = {"_codecs", "_socket", "mnemonctl", "mnemonctl.fast", "posix"}


@each_row("options", [["-IS"], ["-I"]])
@each_row("name", ["-c", "mnemon"])
def test_the_fast_path_loads_built_in_modules_only(tmp_path: Path, options: list[str], name: str) -> None:
    program = (
        f"import sys; sys.argv[0] = {name!r}; sys.path.insert(0, {str(ROOT)!r}); before = set(sys.modules)\n"
        "import mnemonctl\n"
        f"code = mnemonctl.run(['remember', 'é\\n\"x', '--data-dir', {str(tmp_path)!r}])\n"
        "sys.stderr.write(' '.join(sorted(set(sys.modules) - before))); sys.exit(code)"
    )
    with fake_daemon(tmp_path, lambda _: line(5, 'é "\n')) as served:
        done = subprocess.run([sys.executable, *options, "-c", program], capture_output=True, check=False, timeout=30)
    assert json.loads(served.messages[0])["params"].get("program") == (name if name == "mnemon" else None)
    assert (done.returncode, done.stdout.decode()) == (5, 'é "\n')
    assert set(done.stderr.decode().split()) <= ALLOWED


def main_process(*argv: str, stdin: int | None = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from mnemonctl import main; main()"
    return subprocess.Popen(
        [sys.executable, "-IS", "-c", program, *argv], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def test_a_whole_process_prints_and_leaves(tmp_path: Path) -> None:
    with fake_daemon(tmp_path, lambda _: line(4, "out\n", "err\n")):
        process = main_process("list", "--data-dir", str(tmp_path))
        assert process.communicate(timeout=30) == (b"out\n", b"err\n")
    assert process.returncode == 4


def test_an_answer_that_cannot_be_written_is_not_lost_silently(tmp_path: Path) -> None:
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from mnemonctl import main; main()"
    with fake_daemon(tmp_path, lambda _: line(0, "answer\n")), Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-IS", "-c", program, "list", "--data-dir", str(tmp_path)],
            stdout=full, stderr=subprocess.PIPE, check=False, timeout=30,
        )  # fmt: skip
    assert done.returncode == 74
    assert done.stderr == (b"mnemonctl: the command ran, but its output cannot be written: No space left on device\n")


def test_standard_input_reaches_the_daemon(tmp_path: Path) -> None:
    with fake_daemon(tmp_path, lambda _: line()) as served:
        process = main_process("remember", "-", "--data-dir", str(tmp_path), stdin=subprocess.PIPE)
        process.communicate("two\nlines \\ é\n".encode(), timeout=30)
    assert json.loads(served.messages[0])["params"]["stdin"] == "two\nlines \\ é\n"


@each_row(
    ("closed", "code"),
    [("<&- >&- 2>&-", 74), (">&-", 74), ("<&- >&-", 74), ("2>&-", 0), ("<&- 2>&-", 0), ("<&-", 0)],
)
def test_closed_standard_streams_do_not_swallow_the_request(tmp_path: Path, closed: str, code: int) -> None:
    """Nor does the socket take the number of one, or the answer would go to the daemon."""
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from mnemonctl import main; main()"
    shell = ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-IS", "-c", program]
    with fake_daemon(tmp_path, lambda _: line(0, "an answer\n")) as served:
        done = subprocess.run(
            [*shell, "list", "--data-dir", str(tmp_path)], check=False, timeout=30, capture_output=True
        )
    assert (done.returncode, done.stdout) == (code, b"" if code else b"an answer\n")
    assert [json.loads(message)["method"] for message in served.messages] == ["cli.run"]


WRITES_ITSELF: list[tuple[str, str]] = [
    (words, to)
    for words in (
        "help",
        "list --help",
        "--version",
        "completion bash",
        "config --help",
        "logs",
        "logs --json",
        "doctor",
    )
    for to in (">&-", ">/dev/full")
]


@each_row(("words", "to"), WRITES_ITSELF)
def test_output_of_the_client_itself_that_cannot_be_written_ends_with_74(words: str, to: str, tmp_path: Path) -> None:
    (tmp_path / "log").mkdir(exist_ok=True)
    (tmp_path / "log" / "mnemond.log").write_text(
        '{"event":"ready","level":"info","timestamp":"2026-11-22T08:49:03.133774Z"}\n'
    )
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from mnemonctl import main; main()"
    shell = ["sh", "-c", f'exec "$@" {to}', "sh", sys.executable, "-c", program]
    done = subprocess.run(
        [*shell, *words.split(), "--data-dir", str(tmp_path)], check=False, timeout=30, capture_output=True,
        env={**os.environ, "HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 74, done.stderr


def test_control_c_leaves_at_once_with_130(tmp_path: Path) -> None:
    arrived = threading.Event()

    def silent(_: bytes) -> None:
        arrived.set()

    # A shell that runs the tests in the background has them, and so this child, ignore Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with fake_daemon(tmp_path, silent), main_process("list", "--data-dir", str(tmp_path)) as process:
            try:
                assert arrived.wait(30)
                process.send_signal(signal.SIGINT)
                assert process.communicate(timeout=30) == (b"", b"")
            finally:
                process.kill()
    finally:
        signal.signal(signal.SIGINT, before)
    assert process.returncode == 130
