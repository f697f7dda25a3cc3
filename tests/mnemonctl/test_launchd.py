"""The socket that launchd hands over; its library is stood in for."""

from __future__ import annotations

import ctypes
import errno
import os
import socket
from typing import Any

import pytest

from mnemond.errors import CONFIG, MnemonError
from mnemond.service.supervisor import activated, passed_socket
from tests.tables import each_row


class Library:
    """Hands out these descriptors, or an error."""

    def __init__(self, *descriptors: int, error: int = 0) -> None:
        self.array = (ctypes.c_int * max(len(descriptors), 1))(*descriptors)
        self.count = len(descriptors)
        self.error = error
        self.freed = 0

    def activate(self, name: Any, descriptors: Any, count: Any) -> int:
        assert name == b"rpc"
        if not self.error:
            descriptors._obj.contents = self.array
            count._obj.value = self.count
        return self.error

    def free(self, descriptors: Any) -> None:
        assert ctypes.addressof(descriptors.contents) == ctypes.addressof(self.array)
        self.freed += 1


def test_the_one_socket_of_our_name_is_taken() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as made:
        library = Library(os.dup(made.fileno()))
        with activated(library.activate, library.free) as passed:
            assert os.path.sameopenfile(passed.fileno(), made.fileno())
            assert not passed.get_inheritable()
    assert library.freed == 1


@each_row("library", [Library(error=errno.ENOENT), Library(), Library(7, 8)])
def test_any_other_number_is_refused(library: Library) -> None:
    with pytest.raises(MnemonError) as caught:
        activated(library.activate, library.free)
    assert caught.value.kind is CONFIG


@each_row("environ", [{}, {"XPC_SERVICE_NAME": "0"}, {"XPC_SERVICE_NAME": "com.apple.Terminal"}])
def test_a_process_that_launchd_did_not_start_is_passed_nothing(environ: dict[str, str]) -> None:
    assert passed_socket(environ) is None
