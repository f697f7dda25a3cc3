"""Every benchmark can be imported with this version of the product."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import benchmarks
from tests.tables import each_row


@each_row("name", [each.name for each in pkgutil.walk_packages(benchmarks.__path__, "benchmarks.")])
def test_it_is_imported(name: str) -> None:
    import_module(name)
