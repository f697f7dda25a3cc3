"""The message written by hand and the reply cut by hand, against real JSON."""

from __future__ import annotations

import errno
import json
import os
import posix
import socket
import string
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemonctl import daemon, fast, rpc, slow
from mnemond.api.types_daemon import CliRunParams, CliRunResult
from mnemond.cli.grammar import parse
from mnemond.cli.parser import GLOBAL_VALUES
from mnemond.errors import MnemonError
from mnemond.wire import params
from tests.mnemonctl.daemons import fake_daemon, line
from tests.tables import each_row


class Sent(msgspec.Struct, forbid_unknown_fields=True):
    jsonrpc: str
    id: int
    method: str
    params: CliRunParams


def sent(argv: list[str]) -> CliRunParams:
    message = fast.encode(argv)
    assert message.endswith(b"\n")
    assert message.count(b"\n") == 1
    request = msgspec.json.decode(message, type=Sent)
    assert (request.jsonrpc, request.id, request.method) == ("2.0", 1, "cli.run")
    return request.params


def test_versions_are_those_of_the_package() -> None:
    assert (fast.VERSION, fast.PROTOCOL) == (params.SERVER_VERSION, params.PROTOCOL)


def test_options_with_values_are_those_of_the_grammar() -> None:
    assert set(GLOBAL_VALUES) == fast.VALUE_OPTIONS


@given(st.lists(st.text(), max_size=5))
def test_any_words_arrive_as_typed(argv: list[str]) -> None:
    words = [word for word in argv if word != "-"]
    params = sent(words)
    assert params.argv == words
    assert (params.client_version, params.protocol) == (fast.VERSION, fast.PROTOCOL)
    assert not params.tty


def test_control_characters_and_quotes_are_escaped() -> None:
    word = "".join(map(chr, range(32))) + '"\\/\x7f\u2028'
    assert sent([word]).argv == [word]


def test_an_argument_that_is_not_utf8_is_named() -> None:
    with pytest.raises(fast.InvalidInputError, match=r"argument 2 is not UTF-8 \(character 3 of 3\)"):
        fast.encode(["remember", os.fsdecode(b"ab\xff")])


def test_a_message_that_is_too_long_is_refused_with_its_size() -> None:
    with pytest.raises(
        fast.InvalidInputError, match=r"longer than 1,048,576 bytes \(1,0[45]\d,\d\d\d as it would be sent\)"
    ):
        fast.encode(["remember", "x" * (1 << 20)])


def test_the_working_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    place = tmp_path / 'an "apollo" \\ é'
    place.mkdir()
    monkeypatch.chdir(place)
    assert sent(["list"]).directory == str(place)
    place.rmdir()
    assert sent(["list"]).directory is None
    unreadable = tmp_path / os.fsdecode(b"\xff")
    unreadable.mkdir()
    monkeypatch.chdir(unreadable)
    assert sent(["list"]).directory is None
    monkeypatch.setattr(posix, "getcwd", lambda: "/" + "x" * 5_000)
    assert sent(["list"]).directory is None


@pytest.mark.parametrize(("value", "expected"), [(b"work", "work"), (b"", None), (b"\xff", "\ufffd")])
def test_the_store_of_the_environment(monkeypatch: pytest.MonkeyPatch, value: bytes, expected: str | None) -> None:
    monkeypatch.setitem(posix.environ, b"MNEMON_STORE", value)
    assert sent(["list"]).env_store == expected


@pytest.mark.parametrize(
    ("term", "no_color", "color"),
    [(b"xterm", b"", True), (b"xterm", b"1", False), (b"dumb", b"", False), (b"xterm", None, True)],
)
def test_facts_about_the_terminal(
    monkeypatch: pytest.MonkeyPatch, term: bytes, no_color: bytes | None, color: bool
) -> None:
    monkeypatch.setattr(posix, "isatty", lambda _: True)
    monkeypatch.setattr(posix, "get_terminal_size", lambda _: (120, 40))
    monkeypatch.setitem(posix.environ, b"TERM", term)
    monkeypatch.delitem(posix.environ, b"NO_COLOR", raising=False)
    if no_color is not None:
        monkeypatch.setitem(posix.environ, b"NO_COLOR", no_color)
    params = sent(["list"])
    assert (params.tty, params.tty_err, params.columns, params.color) == (True, True, 120, color)


@pytest.mark.parametrize("terminals", [set(), {1}, {2}, {1, 2}])
def test_each_stream_is_told_of(monkeypatch: pytest.MonkeyPatch, terminals: set[int]) -> None:
    monkeypatch.setattr(posix, "isatty", lambda descriptor: descriptor in terminals)
    params = sent(["list"])
    assert (params.tty, params.tty_err) == (1 in terminals, 2 in terminals)
    assert slow.terminal_params(["list"]) == msgspec.structs.replace(params, client_version=None, protocol=None)


@pytest.mark.parametrize(("width", "told"), [(0, 80), (5, 20), (100_000, 1000)])
def test_the_width_stays_within_what_the_daemon_accepts(monkeypatch: pytest.MonkeyPatch, width: int, told: int) -> None:
    monkeypatch.setattr(posix, "get_terminal_size", lambda _: (width, 40))
    assert fast.columns() == told


# ------------------------------------------------------------------ standard input


def feed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    left = [data[start : start + 65536] for start in range(0, len(data), 65536)]
    monkeypatch.setattr(posix, "read", lambda *_: left.pop(0) if left else b"")


def test_standard_input_is_sent_for_a_lone_dash_only(monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, "grüße\n".encode())
    assert sent(["remember", "a", "--", "-"]).stdin is None
    assert sent(["remember", "-"]).stdin == "grüße\n"


def test_standard_input_that_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, b"x" * ((1 << 20) + 5))
    with pytest.raises(fast.InvalidInputError, match=r"longer than 1,048,576 bytes \(1,048,581 bytes were read\)"):
        fast.encode(["remember", "-"])


def test_standard_input_that_is_not_utf8(monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, b"abc\xff")
    with pytest.raises(fast.InvalidInputError, match=r"not UTF-8 \(byte 4 of 4\)"):
        fast.encode(["remember", "-"])


def test_standard_input_that_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*_: int) -> bytes:
        raise OSError(9, "Bad file descriptor")

    monkeypatch.setattr(posix, "read", closed)
    with pytest.raises(fast.InvalidInputError, match="cannot be read: Bad file descriptor"):
        fast.encode(["remember", "-"])


# ------------------------------------------------------------------ which path, which directory


@each_row(
    "argv",
    [[], ["--json"], ["help"], ["version"], ["daemon", "stop"], ["--store", "x"], ["--data-dir", "d", "daemon", "run"],
     ["recall", "--help"], ["recall", "x", "-h"], ["--version"], ["--data-dir=d", "help"]],
)  # fmt: skip
def test_what_needs_no_daemon_takes_the_slow_path(argv: list[str]) -> None:
    assert is_slow(argv)


@each_row(
    "argv",
    [["recall", "daemon"], ["--store", "daemon", "list"], ["recall", "--", "--help"], ["-"], ["recall", "help"]],
)
def test_what_needs_the_daemon_takes_the_fast_path(argv: list[str]) -> None:
    assert not is_slow(argv)


def is_slow(argv: list[str]) -> bool:
    return fast.command_of(argv) in fast.SLOW_COMMANDS


@pytest.mark.parametrize(
    ("argv", "seconds"),
    [
        (["embed", "--all"], fast.LONG_DEADLINE_S), (["--store", "work", "embed"], fast.LONG_DEADLINE_S),
        (["recall", "embed"], fast.DEADLINE_S), (["--store", "embed", "list"], fast.DEADLINE_S),
    ],
)  # fmt: skip
def test_what_may_embed_a_whole_store_is_waited_for(
    argv: list[str], seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fast, "forward", lambda _, deadline: deadline)
    assert fast.run(argv) == seconds


WORDS = st.sampled_from(["recall", "daemon", "stop", "help", "--help", "--", "--store", "--json", "x", "-q", "-5"])


@given(st.lists(WORDS, max_size=6))
def test_both_sides_agree_on_what_needs_no_daemon(argv: list[str]) -> None:
    parsed = parse(CliRunParams(argv=argv))
    if isinstance(parsed, CliRunResult):
        return
    assert is_slow(argv) == (parsed.method is None)


@pytest.mark.parametrize(
    ("argv", "variable", "expected"),
    [
        ([], None, b"/home/ana/.mnemon"),
        ([], b"", b"/home/ana/.mnemon"),
        ([], b"/srv/m", b"/srv/m"),
        ([], b"~/memories", b"/home/ana/memories"),
        (["list", "--data-dir", "/d"], b"/srv/m", b"/d"),
        (["--data-dir=/d", "list"], b"/srv/m", b"/d"),
        (["--data-dir", "/a", "list", "--data-dir", "/b"], None, b"/b"),
        (["recall", "--", "--data-dir", "/d"], b"/srv/m", b"/srv/m"),
        (["list", "--data-dir", "d\udcff"], None, b"d\xff"),
        (["list", "--data-dir", "here"], b"there", b"here"),
        (["list", "--data-dir", "~/x"], b"there", b"/home/ana/x"),
    ],
)
def test_the_data_directory(
    monkeypatch: pytest.MonkeyPatch, argv: list[str], variable: bytes | None, expected: bytes
) -> None:
    monkeypatch.setitem(posix.environ, b"HOME", b"/home/ana")
    monkeypatch.delitem(posix.environ, b"MNEMON_DATA_DIR", raising=False)
    if variable is not None:
        monkeypatch.setitem(posix.environ, b"MNEMON_DATA_DIR", variable)
    assert fast.data_dir(argv) == expected


@pytest.mark.parametrize("value", [b"memories", b"./m", b"../m", b"~ana/m", b"m\xff"])
def test_a_relative_directory_of_the_environment_is_refused(monkeypatch: pytest.MonkeyPatch, value: bytes) -> None:
    monkeypatch.setitem(posix.environ, b"MNEMON_DATA_DIR", value)
    with pytest.raises(fast.InvalidInputError, match="MNEMON_DATA_DIR is relative"):
        fast.data_dir(["list"])


def test_no_home_and_no_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(posix.environ, b"HOME", raising=False)
    monkeypatch.delitem(posix.environ, b"MNEMON_DATA_DIR", raising=False)
    with pytest.raises(fast.InvalidInputError, match="HOME is not set"):
        fast.data_dir(["list"])


# ------------------------------------------------------------------ the reply

TEXT = st.text()
TRICKY = st.lists(st.sampled_from([*'",:\\{}', "stderr", '","stderr":"', "\x7f", "é", "🙂", "\n", "\x00"])).map("".join)


@given(st.integers(0, 255), st.booleans(), st.one_of(TEXT, TRICKY), st.one_of(TEXT, TRICKY))
def test_a_reply_comes_back_byte_for_byte(code: int, outdated: bool, out: str, err: str) -> None:
    reply = line(code, out, err, outdated=outdated)[:-1]
    assert fast.decode(reply) == (code, outdated, out.encode(), err.encode())


@each_row("text", ["\\/", "\\\\/", "\\u00e9", '\\"/', "\\\x01\\u0041"])
def test_text_that_looks_like_an_escape_takes_the_fast_path(text: str) -> None:
    assert fast.decode(line(0, text, text)[:-1]) == (0, False, text.encode(), text.encode())


@given(TEXT)
def test_a_reply_in_another_form_is_never_misread(text: str) -> None:
    result = {"exit_code": 0, "outdated": False, "stdout": text, "stderr": ""}
    reply = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}, separators=(",", ":")).encode()
    try:
        out = fast.decode(reply)[2]
    except fast.UnexpectedReplyError:
        return
    assert out == text.encode()


@pytest.mark.filterwarnings("ignore:invalid escape:DeprecationWarning", "ignore:invalid octal:DeprecationWarning")
@given(st.binary(max_size=200), st.integers(0, 120))
def test_any_bytes_are_read_or_odd(noise: bytes, cut: int) -> None:
    good = line(0, "abc\n", "def")[:-1]
    for reply in (noise, good[:cut] + noise, good[:cut] + noise + good[cut:], good[:cut]):
        try:
            code, *_ = fast.decode(reply)
        except fast.UnexpectedReplyError:
            continue
        assert code >= 0


def test_a_negative_or_missing_exit_code_is_odd() -> None:
    for digits in ("-1", "", "1.5", "null"):
        reply = line(7)[:-1].replace(b":7,", f":{digits},".encode())
        with pytest.raises(fast.UnexpectedReplyError):
            fast.decode(reply)


# ------------------------------------------------------------------ writing


def test_everything_is_written_to_a_slow_reader() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        theirs.settimeout(10)
        data = string.ascii_letters.encode() * 20_000
        got = bytearray()
        import threading

        def read() -> None:
            while len(got) < len(data):
                got.extend(theirs.recv(65536))

        reader = threading.Thread(target=read)
        reader.start()
        fast.write(ours.fileno(), data)
        reader.join()
    assert bytes(got) == data


def test_errors_that_mean_nobody_reads() -> None:
    assert fast._PIPE_CLOSED == errno.EPIPE


def test_a_reader_who_left_is_no_error() -> None:
    ours, theirs = socket.socketpair()
    with ours:
        theirs.close()
        fast.write(ours.fileno(), b"x" * 100_000)
    fast.write(987, b"a closed stream")


@each_row(
    "reply",
    [
        b'{"jsonrpc":"2.0","id":1,"error":{"code":[1],"message":5,"data":{"outcome":{},"hint":[]}}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"pid":null}}',
        b'{"result":' + b"[" * 100_000,
        b"[]",
        b"null",
        b"\xff",
    ],
)
def test_whatever_answers_the_slow_path_says_so_in_words(tmp_path: Path, reply: bytes) -> None:
    with fake_daemon(tmp_path, lambda _: reply + b"\n"), pytest.raises(MnemonError):
        rpc.call(tmp_path, "hello", {}, daemon.Running, 10)


def test_an_exit_status_no_process_has_is_left_to_the_slow_path() -> None:
    for status in (b"256", b"9" * 5000):
        reply = (
            b'{"jsonrpc":"2.0","id":1,"result":{"exit_code":' + status + b',"outdated":false,"stdout":"","stderr":""}}'
        )
        with pytest.raises(fast.UnexpectedReplyError):
            fast.decode(reply)


def test_an_endless_answer_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "MAX_REPLY", 1000)
    with (
        fake_daemon(tmp_path, lambda _: b"x" * 200_000),
        pytest.raises(rpc.NoReplyError, match="longer than 1000 bytes"),
    ):
        rpc.call(tmp_path, "hello", {}, daemon.Running, 10)
