"""Variants of the ranking for the ablation: every name that one replaces exists."""

from __future__ import annotations

from importlib import import_module

from benchmarks.variants import VARIANTS, Variant
from tests.tables import each_row


@each_row("variant", VARIANTS)
def test_the_names_that_a_variant_replaces_exist(variant: Variant) -> None:
    for path in variant.instead or {}:
        module, _, name = path.rpartition(".")
        assert hasattr(import_module(module), name), path
