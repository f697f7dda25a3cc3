"""Requests of MCP that nobody should send: each gets its reply, and none is a defect."""

from __future__ import annotations

import random
from pathlib import Path

from mnemond.mcp.protocol import CAPABILITIES, VERSION
from mnemond.mcp.tools import tools
from tests.mcp.factories import META, desk
from tests.tables import each_row

METHODS = (
    "initialize", "ping", "server/discover", "tools/list", "tools/call", "resources/list", "resources/templates/list",
    "resources/read", "prompts/list", "prompts/get", "subscriptions/listen", "logging/setLevel",
)  # fmt: skip
NASTY: tuple[object, ...] = (
    None, True, False, 0, -1, 1.5, 2**63, 10**30, "", "\0", "\u202e", "x" * 9_000, "../../etc/passwd", "ffffffff", [],
    {}, [[]] * 50, {"": ""}, ["a"], {"a": {"b": [1, None]}}, "mnemon://memory/ffffffff", "mnemon://store/none/core",
    "mnemon://guide\n", "recall", "brief", "2025-06-18", "NaN", "é" * 300, "\U0001f600" * 300,
)  # fmt: skip
MEMBERS = (
    "name", "arguments", "uri", "cursor", "_meta", "protocolVersion", "notifications", "level", "query", "content",
    "id", "store", "limit", "tags", "source_id", "target_id", "type", VERSION, CAPABILITIES,
)  # fmt: skip


def nasty(rng: random.Random, depth: int = 2) -> object:
    if depth and rng.random() < 0.4:
        return {rng.choice(MEMBERS): nasty(rng, depth - 1) for _ in range(rng.randint(0, 4))}
    return rng.choice(NASTY)


def params(rng: random.Random, method: str) -> object:
    """Anything, or something that begins well."""
    if rng.random() < 0.2:
        return rng.choice(NASTY[14:20])
    made: dict[str, object] = {rng.choice(MEMBERS): nasty(rng) for _ in range(rng.randint(0, 4))}
    if method == "tools/call" and rng.random() < 0.8:
        known = rng.choice(list(tools()))
        properties = tools()[known].input_schema["properties"]
        made["name"] = known
        made["arguments"] = {name: nasty(rng) for name in properties if rng.random() < 0.6}  # type: ignore[attr-defined]
    if rng.random() < 0.5:
        made["_meta"] = rng.choice([META, {VERSION: 5}, {VERSION: "x"}, {**META, "progressToken": nasty(rng)}])
    return made


@each_row("seed", range(4))
async def test_every_request_is_answered_and_none_is_a_defect(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    async with desk(tmp_path) as over:
        for _ in range(250):
            method = rng.choice(METHODS)
            reply = await over.reply(method, params(rng, method))
            error = reply.get("error", {})
            assert error.get("code") not in (-32603, -32700), (method, reply)
            assert len([name for name in ("result", "error", "method") if name in reply]) == 1
        assert over.daemon._dispatcher.defects == 0
