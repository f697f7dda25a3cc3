"""Whether somebody is still there to read an answer."""

from __future__ import annotations

import socket

from mnemond.wire.dispatch import Call
from mnemond.wire.server import is_gone


def test_who_only_stopped_sending_still_reads() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert is_gone(ours) is False
        theirs.sendall(b"a question")
        theirs.shutdown(socket.SHUT_WR)
        assert is_gone(ours) is False


def test_who_closed_the_connection_is_gone_even_with_something_unread() -> None:
    ours, theirs = socket.socketpair()
    with ours:
        theirs.sendall(b"a question")
        theirs.close()
        assert is_gone(ours) is True


def test_nobody_is_at_the_other_end_of_a_closed_socket() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        ours.close()
        assert is_gone(ours) is True


def test_nobody_is_known_to_be_gone_unless_somebody_looks() -> None:
    assert Call(1, 2, 3).gone() is False
