"""How clients of MCP reach the daemon over their own streams: the launcher that `setup` writes, or plain netcat."""

from __future__ import annotations

from typing import Final, Literal

import pytest

from mnemonctl.setup import own_files
from tests.daemon.test_dialects import netcat
from tests.hosts.home import Home

Way = Literal["launcher", "nc"]
WAYS: Final[tuple[Way, ...]] = ("launcher", "nc")


def server(way: Way, home: Home) -> list[str]:
    """The command line of an MCP server. Skips where there is no netcat that can half-close."""
    if way == "launcher":
        for file in own_files.launcher_files(home.directory):
            file.write()
        return [str(own_files.launcher(home.directory, "mcp"))]
    found = netcat()
    if found is None:
        pytest.skip("no netcat that knows -N (netcat-openbsd)")
    return [found, "-N", "-U", str(home.directory / "sock")]
