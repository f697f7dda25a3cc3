"""Runs every import contract on a tree once for each seeded change, in one process.

A process of its own, because the import graph is built from whatever `mnemond` the interpreter would import, and the
tests have already imported the real one. Working directory: the copied tree. Standard input: a JSON object
{name: {file: line to append}}. Standard output: a JSON object {name: [ids of broken contracts]}.
"""

from __future__ import annotations

import json
import sys
from copy import deepcopy
from pathlib import Path

import grimp
from importlinter.api import read_configuration
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.layers import LayersContract
from importlinter.contracts.protected import ProtectedContract
from importlinter.domain.contract import Contract

CONTRACTS: dict[str, type[Contract]] = {
    "forbidden": ForbiddenContract,
    "layers": LayersContract,
    "protected": ProtectedContract,
}


def contracts() -> dict[str, Contract]:
    """The contracts of pyproject.toml in the working directory, by their ids."""
    configuration = read_configuration("pyproject.toml")
    session = configuration["session_options"]
    return {
        options["id"]: CONTRACTS[options["type"]](options["name"], session, options)
        for options in configuration["contracts_options"]
    }


def broken(checks: dict[str, Contract]) -> list[str]:
    """Ids of the contracts that the tree breaks as it stands now. The cache, of unchanged files, lives in the copy."""
    graph = grimp.build_graph("mnemond", "mnemonctl", include_external_packages=True, cache_dir=".graph")
    return [name for name, contract in checks.items() if not contract.check(deepcopy(graph), verbose=False).kept]


def broken_with(checks: dict[str, Contract], seed: dict[str, str]) -> list[str]:
    """Ids of the contracts broken while `line` is the last line of each `file`; the tree is left as it was."""
    before = {Path(file): Path(file).read_text(encoding="utf-8") if Path(file).exists() else None for file in seed}
    try:
        for file, line in seed.items():
            Path(file).write_text(f"{before[Path(file)] or ''}\n{line}\n", encoding="utf-8")
        return broken(checks)
    finally:
        for path, text in before.items():
            if text is None:
                path.unlink()
            else:
                path.write_text(text, encoding="utf-8")


def main() -> None:
    """Read the seeds, try each, write what they broke."""
    sys.path.insert(0, str(Path.cwd()))
    checks = contracts()
    seeds: dict[str, dict[str, str]] = json.load(sys.stdin)
    json.dump({name: broken_with(checks, seed) for name, seed in seeds.items()}, sys.stdout)


if __name__ == "__main__":
    main()
