"""The link by mnemon's name: made on demand, never in place of another program, kept up to date, and taken back."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path

import pytest

from mnemonctl.setup import alias
from mnemonctl.setup.environment import SetupEnvironment
from mnemond.errors import MnemonError
from tests.setup.homes import everything, home_at, run


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SetupEnvironment:
    """A home whose $PATH has ~/bin, with a `mnemonctl`; the environment of the tests has none of its own."""
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path / "none" / name))
    found = home_at(tmp_path)
    (found.home / ".gemini").mkdir()
    put(found.home / "bin" / "mnemonctl")
    return found


def put(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o700)
    return path


def link(place: SetupEnvironment) -> Path:
    return place.home / alias.PLACE


def state(report: dict[str, list[dict[str, str]]], path: Path) -> str | None:
    return next((each["state"] for each in report["own"] if each["path"] == str(path)), None)


def test_setup_makes_it_on_demand_alone_and_eject_leaves_nothing(place: SetupEnvironment) -> None:
    before = everything(place)
    run(place)
    assert not os.path.lexists(link(place))
    code, report = run(place, mnemon_alias=True)
    assert (code, report["status"], state(report, link(place))) == (0, "installed", "created")
    assert os.readlink(link(place)) == str(place.home / "bin" / "mnemonctl")
    assert run(place, mnemon_alias=True)[1]["status"] == "unchanged"
    assert run(place)[1]["status"] == "unchanged", "a later setup keeps it"
    assert state(run(place, eject=True)[1], link(place)) == "removed"
    assert everything(place) == before


def test_a_dry_run_makes_no_link(place: SetupEnvironment) -> None:
    assert state(run(place, mnemon_alias=True, dry_run=True)[1], link(place)) == "created"
    assert not os.path.lexists(link(place))
    run(place, mnemon_alias=True)
    assert state(run(place, eject=True, dry_run=True)[1], link(place)) == "removed"
    assert link(place).is_symlink()


def test_it_can_be_made_beside_one_host_whose_eject_keeps_it(place: SetupEnvironment) -> None:
    run(place, target=["gemini"], mnemon_alias=True)
    assert link(place).is_symlink()
    run(place, target=["gemini"], eject=True)
    assert link(place).is_symlink()
    run(place, eject=True)
    assert not os.path.lexists(link(place))


@pytest.mark.parametrize("where", [alias.PLACE, "bin/mnemon"])
def test_another_program_of_the_name_is_never_replaced_or_shadowed(place: SetupEnvironment, where: str) -> None:
    other = put(place.home / where)
    before = everything(place)
    with pytest.raises(MnemonError, match=f"another program is called mnemon: {other}; nothing was done"):
        run(place, mnemon_alias=True)
    assert everything(place) == before
    run(place)
    run(place, eject=True)
    assert other.read_text() == "#!/bin/sh\n"


def test_a_link_of_another_author_is_never_replaced(place: SetupEnvironment) -> None:
    link(place).parent.mkdir(parents=True)
    link(place).symlink_to("/nowhere/mnemon")
    with pytest.raises(MnemonError, match="another program is called mnemon"):
        run(place, mnemon_alias=True)
    assert os.readlink(link(place)) == "/nowhere/mnemon"


def test_one_that_was_changed_since_stays_where_it_is(place: SetupEnvironment) -> None:
    run(place, mnemon_alias=True)
    link(place).unlink()
    put(link(place))
    assert run(place)[1]["status"] == "unchanged"
    assert state(run(place, eject=True)[1], link(place)) is None
    assert link(place).read_text() == "#!/bin/sh\n"


def test_one_that_was_removed_since_is_not_made_again_by_itself(place: SetupEnvironment) -> None:
    run(place, mnemon_alias=True)
    link(place).unlink()
    assert run(place)[1]["status"] == "unchanged"
    assert not os.path.lexists(link(place))
    assert run(place, mnemon_alias=True)[1]["status"] == "installed"
    assert link(place).is_symlink()


def test_it_follows_the_client_to_another_place(place: SetupEnvironment, monkeypatch: pytest.MonkeyPatch) -> None:
    run(place, mnemon_alias=True)
    moved = put(place.home / "env" / "bin" / "mnemonctl")
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(moved.parent))
    report = run(place)[1]
    assert (report["status"], state(report, link(place))) == ("installed", "changed")
    assert os.readlink(link(place)) == str(moved)
    run(place, eject=True)
    assert not os.path.lexists(link(place))


def test_a_place_outside_of_the_path_is_mentioned(place: SetupEnvironment) -> None:
    sentence = f"{link(place).parent} is not in $PATH, so mnemon runs by its whole path alone"
    assert run(place, mnemon_alias=True)[1]["notes"] == [sentence]
    assert run(place, eject=True)[1]["notes"] == []


def test_without_a_client_to_link_to_it_is_an_error(place: SetupEnvironment) -> None:
    (place.home / "bin" / "mnemonctl").unlink()
    with pytest.raises(MnemonError, match="mnemonctl was not found"):
        run(place, mnemon_alias=True)
