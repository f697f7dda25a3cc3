"""The page about dialects has everything that the tables have."""

from __future__ import annotations

from mnemond.config.hosts import Host, described
from mnemond.docs_pages import dialects_markdown
from mnemond.mcp.tools import tools


def test_every_event_and_tool_is_there() -> None:
    page = dialects_markdown()
    for host in Host:
        events = described(host).events
        for event, moment in events.items():
            assert f"| {host} | `{event}` | {moment} | " in page
    for name, tool in tools().items():
        assert f"| `{name}` | {tool.description} | " in page
    assert "| claude-code | `Stop` | assistant_done |  |" in page
    assert "| claude-code | `SessionStart` | session_start | yes |" in page
    assert all(line.count("|") > 2 for line in page.splitlines() if line.startswith("|"))
