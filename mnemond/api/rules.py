"""Methods about rules: list, switch, enforce."""

from __future__ import annotations

from mnemond.api.requests import Identities, one_active, only_by_person, scope_of, submitted
from mnemond.api.store_access import OpenStore, OpenStores
from mnemond.api.types_rules import RulesListParams, RulesListResult, RulesSetParams, RuleView
from mnemond.errors import FieldProblem, invalid
from mnemond.index.snapshot import Snapshot
from mnemond.memory.history import admits
from mnemond.memory.rules import Rule, RuleIndex, Setting, propose_setting, propose_switch
from mnemond.model.memory import Insight
from mnemond.model.outcomes import RuleResult
from mnemond.store import insights
from mnemond.store.store import Store
from mnemond.text.triggers import ToolCall
from mnemond.wire.deferred import in_task
from mnemond.wire.dispatch import Call, handles


class CompiledRules:
    """The rules of each store, compiled when a call is first compared with them. For the event loop's thread.

    They are compiled again when a memory with a trigger changed; a new snapshot without such a change costs one pass
    over a column.
    """

    def __init__(self) -> None:
        self._compiled: dict[str, _StoreRules] = {}

    def rules_for(self, warm: OpenStore, call: ToolCall) -> list[Rule]:
        """Return the rules of a store that fit a call, those that matter most first."""
        if warm.store.rules_off:
            return []
        rules = self._compiled.get(warm.store.name)
        if rules is None or rules.store is not warm.store:
            rules = self._compiled[warm.store.name] = _StoreRules(warm.store)
        return rules.current().matching(call)


class _StoreRules:
    def __init__(self, store: Store) -> None:
        self.store = store
        self._snapshot: Snapshot | None = None
        self._memories: list[Insight] = []
        self._index = RuleIndex([])

    def current(self) -> RuleIndex:
        snapshot = self.store.snapshot
        if snapshot is not self._snapshot:
            memories = snapshot.with_triggers()
            if memories != self._memories:
                self._memories, self._index = memories, RuleIndex(memories)
            self._snapshot = snapshot
        return self._index


class RuleHandlers:
    """Lists and sets rules, the memories with triggers; `hooks.rules` applies them before calls."""

    def __init__(self, open_stores: OpenStores, identities: Identities) -> None:
        self._open_stores = open_stores
        self._identities = identities

    @handles("rules.list")
    async def list(self, call: Call, params: RulesListParams) -> RulesListResult:
        """Return all rules with their counts. Raises MnemonError if the store cannot be read."""
        warm = await self._open_stores.use(params.store)
        counts = await in_task(warm.store.read, insights.trigger_counts)
        scope = scope_of(params)
        rules = [
            RuleView(
                it.id, it.content, each.pattern, each.enforce, each.state, it.scope.project,
                *counts.get((it.id, each.pattern), (0, 0, 0)),
            )
            for it in reversed(warm.store.snapshot.with_triggers())
            if admits(scope, it)
            for each in it.when
        ]  # fmt: skip
        return warm.marked(RulesListResult(on=not warm.store.rules_off, rules=rules))

    @handles("rules.set")
    async def set(self, call: Call, params: RulesSetParams) -> RuleResult:
        """Switch all rules, or set one. Raises MnemonError: INVALID_PARAMS, also for `enforce` without a terminal;
        NOT_FOUND, AMBIGUOUS."""
        state, enforce = params.state or None, params.enforce or None
        if enforce is not None:
            only_by_person(call, "enforce")
        if state is None and enforce is None:
            raise invalid([FieldProblem("state", "nothing to set: give state or enforce")])
        if params.id is None and (enforce is not None or state is None):
            raise invalid([FieldProblem("id", "rules are enforced one by one: give an id")])
        warm = await self._open_stores.use(params.store)
        identity = self._identities.of(warm, params, call=call)
        if params.id is None:
            return await submitted(warm, propose_switch(identity, on=state == "on"), RuleResult)
        setting = Setting(id=params.id, state=state, enforce=enforce, scope=scope_of(params))
        return await submitted(warm, propose_setting(setting, identity, one_active), RuleResult)
