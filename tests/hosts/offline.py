"""A program beside a model, in a network that has nothing but the two: run by `unshare --net`, where that is allowed.

python -m tests.hosts.offline STEPS.json LOG.jsonl PROGRAM [ARGUMENT…]; {model} in a variable or an argument becomes the
address of the model. Leaves with the status of the program.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

from tests.hosts.models import Script, serving

SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
"""linux/sockios.h, linux/if.h."""


def raise_loopback() -> None:
    """A new network has a loopback that is down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle, contextlib.suppress(OSError):
        got = fcntl.ioctl(handle, SIOCGIFFLAGS, struct.pack("16sH14x", b"lo", 0))
        flags = struct.unpack_from("H", got, 16)[0]
        fcntl.ioctl(handle, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | IFF_UP))


def main(steps: str, log: str, *command: str) -> int:
    """The exit status of the program."""
    raise_loopback()
    address, end = serving(Script(json.loads(Path(steps).read_text("utf-8")), Path(log)))
    environ = {name: value.replace("{model}", address) for name, value in os.environ.items()}
    said = [part.replace("{model}", address) for part in command]
    try:
        return subprocess.run(said, env=environ, check=False, stdin=subprocess.DEVNULL).returncode
    finally:
        end()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
