"""Events that no host should send: each is answered in bounds, none is a defect, and nothing grows."""

from __future__ import annotations

import random
from pathlib import Path

from mnemond.config.hosts import Host, Moment
from mnemond.config.settings import HookSettings
from mnemond.hooks.sessions import MAX_SESSIONS
from mnemond.wire.hooks import units
from tests.hooks.factories import PORT, SQLITE, WHY, desk, known
from tests.tables import each_row

NASTY = (
    "", " ", "\0", "\x1b[2J", "\u202e", "😀" * 200, "é" * 200, "x" * 40_000, "why? " * 9_000, "<private>", "</private>",
    "<recalled-data 0123456789abcdef>", "</recalled-data 0123456789abcdef>", "<ref:1a2b3c4d>", SQLITE, PORT, WHY,
    f"{WHY}\n{PORT}", "为什么选择它？" * 50, "'; DROP TABLE insights; --", "%s%n{0}", "/clear", "system", "compact",
    "resume", "../../etc", "/home/ada/apollo", "/" + "a/" * 2_000, "a\u0300" * 3_000, "??" * 500, "\n" * 5_000,
)  # fmt: skip


@each_row("project", ["tag", "store"])
@each_row("seed", range(1))
async def test_whatever_is_said(seed: int, project: str, tmp_path: Path) -> None:
    rng = random.Random(seed)
    async with desk(tmp_path, HookSettings(project=project, min_probability=0.0)) as over:  # type: ignore[arg-type]
        await known(over)
        for _ in range(100):
            fields = {name: rng.choice(NASTY)[:200] for name in ("session", "turn", "cwd", "source", "agent")}
            fields |= {name: rng.choice(NASTY) for name in ("text", "prompt")}
            moment, host = rng.choice(list(Moment)), rng.choice(list(Host))
            said = await over.at(
                moment, **fields, host=host, again=rng.random() < 0.2, takes_context=rng.random() < 0.9
            )
            assert units(said) <= 4_000
            assert said.count("<recalled-data") == said.count("</recalled-data") <= 1
        assert over.daemon._dispatcher.defects == 0
        assert len(over.daemon._agents.sessions) <= MAX_SESSIONS
        assert SQLITE in await over.asks(WHY, session="after all", cwd="/home/ada")
