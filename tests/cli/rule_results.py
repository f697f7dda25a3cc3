"""Results of the methods about rules, and what the command line makes of them."""

from __future__ import annotations

from mnemond.api.types_rules import RulesListResult, RuleView
from mnemond.model.memory import Trigger
from mnemond.model.outcomes import RuleResult

ONE, TWO = "1a2b3c4d-0000-4000-8000-000000000001", "9f8e7d6c-0000-4000-8000-000000000002"

RULES = RulesListResult(
    on=False,
    rules=[
        RuleView(ONE, "Nobody pushes to main", "Bash:git push*", "deny", "on", None, 3, 2, 1),
        RuleView(TWO, "Migrations are generated", "Edit:migrations/**", "tell", "proposed", "apollo", 0, 0, 0),
    ],
)
RULE_SET = RuleResult(id=ONE, when=(Trigger("Bash:git push*", "deny"),), changed=True, op_id="op-9", replayed=False)
ALL_SET = RuleResult(id=None, when=(), changed=True, on=False, op_id="op-9", replayed=False)

RULE_RESULTS: dict[str, object] = {
    "rules.list": RULES, "rules.off": ALL_SET, "rules.on": RULE_SET, "rules.enforce": RULE_SET
}  # fmt: skip
