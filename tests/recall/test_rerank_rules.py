"""Small factors on a score."""

from __future__ import annotations

import pytest

from mnemond.config.reading import RerankRulesSettings
from mnemond.recall.rerank import RuleInputs, apply_rules
from tests.tables import each_row

EVERY = RerankRulesSettings(recent=True, important=True, own_scope=True, pinned=True)
OLD = RuleInputs(age_days=30, importance=3, own_scope=False, pinned=False)
ALL = RuleInputs(age_days=1, importance=5, own_scope=True, pinned=True)


@each_row(
    ("inputs", "expected"),
    [
        (OLD, 0.5),
        (RuleInputs(7, 3, False, False), 0.525),
        (RuleInputs(7.01, 3, False, False), 0.5),
        (RuleInputs(0, 3, False, False), 0.525),
        (RuleInputs(-1, 3, False, False), 0.5),
        (RuleInputs(30, 4, False, False), 0.525),
        (RuleInputs(30, 3, True, False), 0.525),
        (RuleInputs(30, 3, False, True), 0.55),
        (ALL, 0.5 * 1.05**3 * 1.1),
    ],
)
def test_each_rule_that_holds_lifts_a_score(inputs: RuleInputs, expected: float) -> None:
    assert apply_rules(0.5, inputs, EVERY) == pytest.approx(expected)


def test_no_score_is_lifted_above_1_and_all_rules_are_off_by_default() -> None:
    assert apply_rules(0.9, ALL, EVERY) == 1.0
    assert apply_rules(0.9, ALL, RerankRulesSettings()) == 0.9
