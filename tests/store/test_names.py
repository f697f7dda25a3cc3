"""A store's name becomes a directory: what is no name goes nowhere, whichever way it comes."""

from __future__ import annotations

import os
import stat
import string
from collections.abc import Callable
from pathlib import Path

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from mnemond.errors import DATA_DIR, INVALID_PARAMS, NOT_FOUND, STORAGE, MnemonError
from mnemond.store.backups import BackupDirectory
from mnemond.store.registry import ActiveName, check_name, is_valid_name
from tests.store.test_registry import registry_at
from tests.tables import each_row

FIRST = string.ascii_letters + string.digits
REST = FIRST + "_-"
HOSTILE = [
    "", ".", "..", "../x", "a/b", "/etc", "-a", "_a", "a\n", "\na", "a\0", "a b", "a.b", "ü", "a" * 65, "~", "a\\b",
    "ａ", "a\u200b", "٣", "%2e%2e", "default/", "*", "a;b", "\ud800",
]  # fmt: skip


@given(st.text(st.sampled_from(REST), max_size=63), st.sampled_from(FIRST))
def test_every_name_of_the_pattern_is_one(rest: str, first: str) -> None:
    assert check_name(first + rest) == first + rest


@given(st.text(max_size=80))
def test_nothing_else_is(text: str) -> None:
    expected = 0 < len(text) <= 64 and text[0] in FIRST and set(text) <= set(REST)
    assert is_valid_name(text) is expected


@each_row("name", HOSTILE)
async def test_no_door_takes_what_is_no_name(tmp_path: Path, name: str) -> None:
    stores = registry_at(tmp_path)
    shelf = BackupDirectory(tmp_path, 3)
    for door in (
        stores.resolve, stores.path, stores.exists, shelf.directory, shelf.of,
        lambda it: shelf.add(it, tmp_path / "x", "asked", 0), ActiveName(tmp_path, print).write,
    ):  # fmt: skip
        with pytest.raises(MnemonError) as caught:
            door(name)
        assert caught.value.kind is INVALID_PARAMS
        assert caught.value.message.isprintable()
    with pytest.raises(MnemonError):
        await stores.create(name)
    assert os.listdir(tmp_path) == []


@each_row("content", [f"{name}".encode("utf-8", "surrogatepass") for name in HOSTILE if name != "a\n"])
def test_a_file_that_names_no_store_means_the_default_one_and_says_so_once(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "active").write_bytes(content)
    said: list[str] = []
    active = ActiveName(tmp_path, said.append)
    for _ in range(3):
        name, source = active.resolve()
        if content.strip() == b"a":
            assert (name, said) == ("a", [])
        else:
            assert (name, source, len(said)) == ("default", "default", 1)


@given(
    st.one_of(st.none(), st.sampled_from(["work", "play"])), st.one_of(st.none(), st.sampled_from(["work", "default"]))
)
def test_a_name_that_is_given_goes_before_the_active_one(
    tmp_path_factory: pytest.TempPathFactory, given_name: str | None, active: str | None
) -> None:
    tmp_path = tmp_path_factory.mktemp("resolution")

    async def resolved() -> str:
        stores = registry_at(tmp_path)
        if active is not None:
            (tmp_path / "active").write_text(f"\ufeff  {active} \n\n")
        return stores.resolve(given_name)

    assert trio.run(resolved) == (given_name or active or "default")


async def test_the_active_store_is_changed_as_a_whole_and_privately(tmp_path: Path) -> None:
    stores = registry_at(tmp_path)
    await stores.create("work")
    assert stores.active() == ("default", "default")
    stores.activate("work")
    assert stores.active() == ("work", "active-file")
    assert (tmp_path / "active").read_bytes() == b"work\n"
    assert stat.S_IMODE((tmp_path / "active").stat().st_mode) == 0o600
    with pytest.raises(MnemonError, match='no store named "play"') as missing:
        stores.activate("play")
    assert missing.value.kind is NOT_FOUND
    stores.activate("default")  # made on first use
    assert stores.active() == ("default", "active-file")
    assert sorted(os.listdir(tmp_path)) == ["active", "ballast", "data"]
    await stores.close()


async def test_an_active_file_that_cannot_be_replaced_is_an_error_in_words(tmp_path: Path) -> None:
    stores = registry_at(tmp_path)
    (tmp_path / "active").mkdir()
    with pytest.raises(MnemonError, match="the active store cannot be changed") as caught:
        stores.activate("default")
    assert (caught.value.kind, caught.value.outcome) == (STORAGE, "rejected")


async def test_two_changes_within_one_tick_of_the_clock_are_both_seen(tmp_path: Path) -> None:
    stores = registry_at(tmp_path)
    for name in ("one", "two"):
        await stores.create(name)
    for name in ("one", "two", "one", "two"):
        stores.activate(name)
        assert stores.active()[0] == name
    await stores.close()


def test_an_active_file_that_cannot_be_read_means_the_default_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    (tmp_path / "active").write_text("shop")

    def refuse(*_: object) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    assert ActiveName(tmp_path, said.append).resolve() == ("default", "default")
    assert said == [f"{tmp_path}/active cannot be read (Permission denied); the store 'default' is used"]


@each_row(("make", "what"), [(os.mkdir, "a directory"), (os.mkfifo, "a named pipe")])
async def test_what_is_no_file_in_the_place_of_the_active_one_is_refused(
    tmp_path: Path, make: Callable[[Path], None], what: str
) -> None:
    """It may have named another store: memories would come into the wrong one."""
    stores = registry_at(tmp_path)
    make(tmp_path / "active")
    for attempt in (stores.active, lambda: stores.resolve(None), lambda: stores.refuse_active("work")):
        with pytest.raises(MnemonError, match=f"cannot name the active store: it is {what}, not a file") as caught:
            attempt()
        assert caught.value.kind is DATA_DIR
    assert stores.resolve("work") == "work"
    with pytest.raises(MnemonError, match=r'no store named "work"$'):
        stores.find("work")
