"""The page about dialects has everything that the tables have."""

from __future__ import annotations

from mnemond.protocol.dialects_page import dialects_markdown
from mnemond.protocol.hooks.events import MOMENTS
from mnemond.protocol.mcp.tools import TOOLS


def test_every_event_and_tool_is_there() -> None:
    page = dialects_markdown()
    for host, events in MOMENTS.items():
        for event, moment in events.items():
            assert f"| {host} | `{event}` | {moment} | " in page
    for name, tool in TOOLS.items():
        assert f"| `{name}` | {tool.description} | " in page
    assert "| claude-code | `Stop` | assistant_done |  |" in page
    assert "| claude-code | `SessionStart` | session_start | yes |" in page
    assert all(line.count("|") > 2 for line in page.splitlines() if line.startswith("|"))
