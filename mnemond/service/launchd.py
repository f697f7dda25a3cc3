"""The listening socket that launchd of macOS made for this process, as launch_activate_socket(3) hands it out."""

from __future__ import annotations

import ctypes
import os
import socket
from collections.abc import Callable, Mapping
from typing import Any, Final

from mnemond.errors import CONFIG, MnemonError

NAME: Final = "rpc"
"""Of the socket, in the property list."""

LABELS: Final = "dev.mnemon.mnemond"
"""How the label of every job of ours begins; launchd gives it in $XPC_SERVICE_NAME."""

Activate = Callable[[Any, Any, Any], int]
"""launch_activate_socket: name, where to put the address of the descriptors, where to put their number → errno."""


def passed_socket(environ: Mapping[str, str]) -> socket.socket | None:
    """The socket, or None where launchd did not start this process. Raises MnemonError(CONFIG)."""
    if not environ.get("XPC_SERVICE_NAME", "").startswith(LABELS):
        return None
    library = ctypes.CDLL(None)  # libSystem
    return activated(library.launch_activate_socket, library.free)


def activated(activate: Activate, free: Callable[[Any], object]) -> socket.socket:
    """The one socket of our name. Raises MnemonError(CONFIG) when there is none, or more than one."""
    descriptors = ctypes.POINTER(ctypes.c_int)()
    count = ctypes.c_size_t()
    error = activate(NAME.encode(), ctypes.byref(descriptors), ctypes.byref(count))
    if error:
        raise MnemonError(CONFIG, f'launchd has no socket "{NAME}" for this job: {os.strerror(error)}')
    passed = [descriptors[at] for at in range(count.value)]
    free(descriptors)
    if len(passed) != 1:
        raise MnemonError(CONFIG, f"{len(passed)} sockets were passed by launchd; exactly one is needed")
    sock = socket.socket(fileno=passed[0])
    sock.set_inheritable(False)
    return sock
