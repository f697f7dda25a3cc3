"""Runs every import contract on a tree once for each seeded import, in one process.

A process of its own, because the import graph is built from whatever `mnemond` the interpreter would import, and the
tests have already imported the real one. The graph is built once; an import is seeded in a copy of it. Working
directory: the copied tree. Standard input: a JSON object {name: [file, line]}, where line is an import of one module,
or [] for the tree as it is. Standard output: a JSON object {name: [ids of broken contracts]}.
"""

from __future__ import annotations

import ast
import json
import sys
from copy import deepcopy
from pathlib import Path

import grimp
from grimp import ImportGraph
from importlinter.api import read_configuration
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.layers import LayersContract
from importlinter.contracts.protected import ProtectedContract
from importlinter.domain.contract import Contract

PACKAGES = ("mnemond", "mnemonctl")

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


def broken(checks: dict[str, Contract], graph: ImportGraph) -> list[str]:
    """Ids of the contracts that the graph breaks."""
    return [name for name, contract in checks.items() if not contract.check(deepcopy(graph), verbose=False).kept]


def with_import(graph: ImportGraph, file: str, line: str) -> ImportGraph:
    """A copy of the graph as it would be if `line` stood in `file`; what is not ours is seen as a whole."""
    (statement,) = ast.parse(line).body
    assert isinstance(statement, ast.Import)
    (alias,) = statement.names
    ours = alias.name.partition(".")[0] in PACKAGES
    imported = alias.name if ours else alias.name.partition(".")[0]
    importer = ".".join(Path(file).with_suffix("").parts)
    seeded = deepcopy(graph)
    assert not ours or imported in seeded.modules, imported
    seeded.add_module(importer)
    seeded.add_module(imported, is_squashed=not ours)
    seeded.add_import(importer=importer, imported=imported, line_number=1, line_contents=line)
    return seeded


def main() -> None:
    """Read the seeds, try each, write what they broke."""
    sys.path.insert(0, str(Path.cwd()))
    checks = contracts()
    graph = grimp.build_graph(*PACKAGES, include_external_packages=True, cache_dir=None)
    seeds: dict[str, list[str]] = json.load(sys.stdin)
    json.dump(
        {name: broken(checks, with_import(graph, *seed) if seed else graph) for name, seed in seeds.items()}, sys.stdout
    )


if __name__ == "__main__":
    main()
