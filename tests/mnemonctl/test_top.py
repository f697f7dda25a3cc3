"""`mnemonctl top` over a socket: once, again and again, and without a daemon."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from mnemonctl import commands
from mnemonctl.commands import CLEAR
from mnemond.cli.admin import TopOptions
from mnemond.cli.grammar import Output
from mnemond.errors import UNREACHABLE, MnemonError
from tests.cli.test_top_text import TEXT, TOP
from tests.mnemonctl.daemons import FakeDaemon, fake_daemon


def behave(message: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":1,"result":' + msgspec.json.encode(TOP) + b"}\n"


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[FakeDaemon]:
    with fake_daemon(tmp_path, behave) as running:
        yield running


def test_once(daemon: FakeDaemon, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert commands.run_top(tmp_path, TopOptions(once=True, interval=2.5), Output(tty=True)) == 0
    assert capfd.readouterr().out == TEXT
    assert json.loads(daemon.messages[0])["params"] == {"interval_s": 2.5}


def test_json(daemon: FakeDaemon, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert commands.run_top(tmp_path, TopOptions(once=True), Output(form="json")) == 0
    assert msgspec.json.decode(capfd.readouterr().out, type=type(TOP)) == TOP


@pytest.mark.parametrize("tty", [False, True])
def test_again_and_again_until_the_reader_leaves(tty: bool, daemon: FakeDaemon, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    kept = os.dup(1)
    os.dup2(writing, 1)
    os.close(writing)
    codes: list[int] = []
    watching = threading.Thread(target=lambda: codes.append(commands.run_top(tmp_path, TopOptions(), Output(tty=tty))))
    try:
        watching.start()
        with os.fdopen(reading, "rb") as reader:
            one = ((CLEAR if tty else "") + TEXT).encode()
            assert reader.read(2 * len(one)) == 2 * one
        watching.join()
    finally:
        os.dup2(kept, 1)
        os.close(kept)
    assert codes == [0]
    assert len(daemon.messages) >= 2


def test_no_daemon_is_started_for_it(tmp_path: Path) -> None:
    with pytest.raises(MnemonError) as refused:
        commands.run_top(tmp_path, TopOptions(once=True), Output())
    assert refused.value.kind is UNREACHABLE
    assert list(tmp_path.iterdir()) == []
