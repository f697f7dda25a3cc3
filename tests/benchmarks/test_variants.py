"""Variants of the ranking for the ablation: every name that one replaces exists."""

from __future__ import annotations

from importlib import import_module

import pytest

from benchmarks.variants import VARIANTS, Variant


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_the_names_that_a_variant_replaces_exist(variant: Variant) -> None:
    for path in variant.instead or {}:
        module, _, name = path.rpartition(".")
        assert hasattr(import_module(module), name), path
