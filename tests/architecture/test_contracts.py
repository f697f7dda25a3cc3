"""The import contracts hold, and each of them can break. `make check` asks lint-imports about the tree itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.architecture.seeds import ALLOWED, CLIENT_PACKAGES, FORBIDDEN, LAYERS, PACKAGES, TARGET, Seed

ROOT = Path(__file__).resolve().parents[2]
RUNNER = Path(__file__).with_name("lint_seeds.py")
UNTOUCHED = "the tree as it is"
UNMEASURED = {key: value for key, value in os.environ.items() if not key.startswith("COVERAGE_")}
"""Nothing of ours runs there."""


def _python_files_only(directory: str, names: list[str]) -> list[str]:
    """What shutil.copytree should leave out."""
    return [name for name in names if not (name.endswith(".py") or (Path(directory) / name).is_dir())]


def _copied_tree(target: Path) -> Path:
    """The sources of both packages, every layer present, and in each package an empty module to import."""
    for package in ("mnemond", "mnemonctl"):
        shutil.copytree(ROOT / package, target / package, ignore=_python_files_only)
    shutil.copy(ROOT / "pyproject.toml", target)
    for name in PACKAGES:
        folder = target / "mnemond" / name
        folder.mkdir(exist_ok=True)
        (folder / "__init__.py").touch()
        (folder / f"{TARGET}.py").touch()
    for name in CLIENT_PACKAGES:
        (target / "mnemonctl" / name / f"{TARGET}.py").touch()
    return target


QUICK = 8
"""Of so many imports one is seeded in the quick part, and one for each contract."""
FIRST = {contract: seed for seed in reversed(FORBIDDEN) for contract in seed.breaks}
CHOSEN = {*FORBIDDEN[::QUICK], *ALLOWED[::QUICK], *FIRST.values()}


def _seeds(among: Sequence[Seed]) -> list[object]:
    """The seeds as parameters; those that are not chosen are for the deep part."""
    return [pytest.param(seed, id=seed.name, marks=() if seed in CHOSEN else pytest.mark.deep) for seed in among]


@pytest.fixture(scope="module")
def broken_by(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> dict[str, list[str]]:
    """Ids of the broken contracts, by the name of the seed."""
    tree = _copied_tree(tmp_path_factory.mktemp("tree"))
    wanted = {seed.name for item in request.session.items if (seed := _seed_of(item)) is not None}
    chosen = [seed for seed in (*FORBIDDEN, *ALLOWED) if seed.name in wanted]
    seeds = {seed.name: [seed.file, seed.line] for seed in chosen} | {UNTOUCHED: []}
    finished = subprocess.run(
        [sys.executable, str(RUNNER)],
        cwd=tree,
        env=UNMEASURED,
        input=json.dumps(seeds),
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    answer: dict[str, list[str]] = json.loads(finished.stdout)
    return answer


def _seed_of(item: pytest.Item) -> Seed | None:
    """Which seed a test that is to run asks for."""
    if not isinstance(item, pytest.Function) or not hasattr(item, "callspec"):
        return None
    seed = item.callspec.params.get("seed")
    return seed if isinstance(seed, Seed) else None


@pytest.mark.deep
def test_the_tree_keeps_every_contract(broken_by: dict[str, list[str]]) -> None:
    assert broken_by[UNTOUCHED] == []


@pytest.mark.deep
@pytest.mark.parametrize("seed", _seeds(FORBIDDEN))
def test_a_forbidden_import_breaks_its_contract_and_no_other(seed: Seed, broken_by: dict[str, list[str]]) -> None:
    assert set(broken_by[seed.name]) == seed.breaks


@pytest.mark.deep
@pytest.mark.parametrize("seed", _seeds(ALLOWED))
def test_an_allowed_import_breaks_nothing(seed: Seed, broken_by: dict[str, list[str]]) -> None:
    assert broken_by[seed.name] == []


def test_every_contract_has_a_seed_that_breaks_it() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    assert {contract["id"] for contract in contracts} == set().union(*(seed.breaks for seed in FORBIDDEN))


def test_every_package_stands_in_a_layer() -> None:
    found = {path.parent.name for path in (ROOT / "mnemond").glob("*/__init__.py")}
    assert found <= {name for layer in LAYERS for name in layer}
