"""In which stores memory looks and writes for agents' sessions, and what becomes of hooks where a store is not well."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemond import errors
from mnemond.config.hosts import Host, Moment
from mnemond.config.settings import Config, HookSettings
from mnemond.errors import MnemonError
from mnemond.hooks.prompt_files import PromptFiles
from mnemond.text.project_name import project_of
from mnemond.wire.hook_payload import HookEvent
from tests.api.factories import CALL
from tests.hooks.factories import APOLLO, SQLITE, WHY, desk, known
from tests.tables import each_row

SAID_NOTHING_AT = [
    moment for moment in Moment if moment not in (Moment.SESSION_START, Moment.PROMPT, Moment.SUBAGENT_START)
]


async def test_nobody_makes_a_store_by_asking(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        for moment in Moment:
            assert await over.at(moment, source="compact") == ""
        assert await over.asks(WHY) == ""
        assert over.stores() == []
        await over.answered("Because.")
        assert over.stores() == ["default"]
        assert await over.at(Moment.SESSION_START, session="another") == PromptFiles(tmp_path).opening()


async def test_a_project_may_have_a_store_of_its_own(tmp_path: Path) -> None:
    own = project_of(APOLLO).store
    async with desk(tmp_path, HookSettings(project="store")) as over:
        await known(over)
        assert await over.asks(WHY) == ""
        assert over.stores() == ["default"]
        await over.answered("Because.")
        assert over.stores() == [own, "default"]
        (kept,) = await over.queued(own)
        assert (kept.prompt, kept.project) == (WHY, "")
        await over.remember("Chose SQLite for Apollo alone", store=own)
        assert "for Apollo alone" in await over.asks(WHY)
        assert SQLITE in await over.asks(WHY, session="home", cwd="/home/ada")


@each_row("project", ["none", "tag", "store"])
@each_row("cwd", ["", "relative", "/../../etc", "/x/\0\x1b[2J", "/" + "é" * 4_000, "/a/$(reboot)", "/a/<b>"])
async def test_no_directory_does_harm(cwd: str, project: str, tmp_path: Path) -> None:
    async with desk(tmp_path, HookSettings(project=project)) as over:  # type: ignore[arg-type]
        await known(over)
        await over.at(Moment.SESSION_START, cwd=cwd)
        await over.asks(WHY, cwd=cwd)
        await over.answered("Because.", cwd=cwd)
        for name in over.stores():
            assert (tmp_path / "data" / name).resolve().parent == tmp_path / "data"
        assert over.daemon._dispatcher.defects == 0


@each_row("moment", SAID_NOTHING_AT)
async def test_at_other_moments_nothing_is_said(moment: Moment, tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await known(over)
        assert await over.at(moment, text=WHY, prompt=WHY) == ""


async def test_hosts_that_called_are_known(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await over.at(Moment.TOOL_BATCH)
        await over.at(Moment.TOOL_BATCH)
        await over.at(Moment.TOOL_BATCH, host=Host.CODEX)
        seen = over.daemon._agents.seen.views()
        assert {host: each.events for host, each in seen.items()} == {"codex": 1, "claude-code": 2}


async def test_new_settings_count_at_once(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await known(over)
        over.daemon.apply_settings(Config(hooks=HookSettings(enabled=False)))
        assert await over.asks(WHY) == ""


async def test_a_store_that_is_cold_is_opened_without_anybody_else_waiting(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await known(over)
    async with desk(tmp_path) as over:
        said = over.daemon._agents.at(HookEvent(host=Host.CODEX, moment=Moment.PROMPT, session="s", text=WHY), CALL)
        assert over.daemon.stores.warm("default") is None  # nothing was opened on the way
        assert SQLITE in str(await said)
        assert over.daemon.stores.warm("default") is not None


async def test_a_store_that_cannot_be_written_still_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with desk(tmp_path) as over:
        await known(over)

        def full(*_: object) -> None:
            raise MnemonError(errors.STORAGE, "no space is left")

        monkeypatch.setattr(over.daemon.stores.warm("default"), "submit", full)
        assert SQLITE in await over.asks(WHY)
        with pytest.raises(MnemonError, match="no space is left"):
            await over.answered("Because.")


async def test_a_store_that_cannot_be_opened_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "data" / "default").mkdir(parents=True, mode=0o700)
    (tmp_path / "data" / "default" / "mnemon.db").write_bytes(b"not a database, but as long as the head of one" * 100)
    async with desk(tmp_path) as over:
        for ask in (over.asks(WHY), over.at(Moment.SESSION_START), over.answered("Because.")):
            with pytest.raises(MnemonError):
                await ask
        assert over.daemon._dispatcher.defects == 0
