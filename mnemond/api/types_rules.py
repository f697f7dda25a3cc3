"""Methods about rules, the memories with triggers: parameters and results."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from mnemond.model.memory import Enforcement, TriggerState
from mnemond.model.outcomes import Result, RuleResult
from mnemond.wire.params import Access, IdOrPrefix, ScopedWriteParams, ScopeParams, about, method

Switch = Literal["on", "off"]


class RuleView(msgspec.Struct, frozen=True):
    """One trigger of one memory. `project`: that in which it is applied; all unless given. `matched`: calls it fitted;
    `shown`: how often the rule was shown before one; `followed`: held calls that the agent did not make again in that
    session."""

    id: str
    content: str
    pattern: str
    enforce: Enforcement
    state: TriggerState
    project: str | None
    matched: int
    shown: int
    followed: int


class RulesListResult(Result, frozen=True):
    """All rules, the newest first. `on`: the switch of all of them, which is beside that of each."""

    on: bool
    rules: list[RuleView]


class RulesListParams(ScopeParams, frozen=True, kw_only=True):
    pass


RULES_LIST = method(
    "rules.list", RulesListParams, RulesListResult, Access.READ,
    "List the rules: memories that are shown before certain calls of tools.",
)  # fmt: skip


class RulesSetParams(ScopedWriteParams, frozen=True, kw_only=True):
    """Without an id `state` is that of all rules of the store, and `enforce` cannot be given."""

    id: Annotated[IdOrPrefix | None, about("id of a rule, or a unique beginning of it; all rules unless given")] = None
    state: Annotated[Switch | UnsetType, about("whether it is applied")] = UNSET
    enforce: Annotated[
        Enforcement | UnsetType,
        about(
            "tell (the agent is told the rule), ask (the call needs your consent), deny (it is refused); taken from a"
            " terminal only",
            metavar="HOW",
        ),
    ] = UNSET


RULES_SET = method(
    "rules.set", RulesSetParams, RuleResult, Access.WRITE, "Switch rules on or off, or enforce one.", positional=("id",)
)
