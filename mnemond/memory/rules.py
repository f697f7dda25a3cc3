"""Rules: memories with triggers, that say to which calls of tools they belong (docs/decisions/0044)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import msgspec

from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.memory.draft import WriteContext
from mnemond.memory.history import Find, active_row
from mnemond.model.changes import ChangeSet, PutInsight
from mnemond.model.memory import MAX_TRIGGERS, Enforcement, Insight, Scope, Trigger, TriggerState
from mnemond.model.outcomes import RuleResult
from mnemond.store.meta import RULES_OFF_KEY, are_rules_off
from mnemond.store.operations import Proposal, View
from mnemond.text.triggers import normal_trigger

# Lists of triggers.


def given_triggers(
    texts: Iterable[str], enforce: Enforcement = "tell", state: TriggerState = "on"
) -> tuple[Trigger, ...]:
    """Return valid texts as triggers, each once."""
    return tuple(Trigger(each, enforce, state) for each in dict.fromkeys(map(normal_trigger, texts)))


def joined_triggers(first: Sequence[Trigger], more: Iterable[Trigger]) -> tuple[Trigger, ...]:
    """Return `first` and those of `more` with another pattern, at most `MAX_TRIGGERS`, those that are enforced in any
    case; one that was proposed is on when it is given."""
    found = {each.pattern: each for each in first}
    for each in more:
        known = found.setdefault(each.pattern, each)
        state = "on" if known.state == "proposed" and each.state == "on" else known.state
        enforce = each.enforce if known.enforce == "tell" else known.enforce
        found[each.pattern] = Trigger(each.pattern, enforce, state)
    if len(found) > MAX_TRIGGERS:
        return tuple(sorted(found.values(), key=lambda each: each.enforce == "tell")[:MAX_TRIGGERS])
    return tuple(found.values())


def revised_triggers(old: Sequence[Trigger], texts: Iterable[str]) -> tuple[Trigger, ...]:
    """Return the triggers of a memory whose triggers are given anew: those it had keep what a person set, and those
    that a person enforced stay, given or not."""
    known = {each.pattern: each for each in old}
    enforced = [each for each in old if each.enforce != "tell"]
    given = [known.get(each.pattern, each) for each in given_triggers(texts)]
    return joined_triggers(enforced, (msgspec.structs.replace(each, state=_given(each.state)) for each in given))


def _given(state: TriggerState) -> TriggerState:
    return "on" if state == "proposed" else state


# What a person sets.


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """A memory whose triggers get another state, another enforcement, or both."""

    id: str
    state: TriggerState | None = None
    enforce: Enforcement | None = None
    scope: Scope = Scope()


def propose_setting(setting: Setting, identity: WriteContext, find: Find) -> Proposal:
    """Propose to set the triggers of one memory. Refused for a memory without any."""
    return identity.proposal("rules.set", partial(_decide, setting, identity, find))


def _decide(setting: Setting, identity: WriteContext, find: Find, view: View) -> ChangeSet:
    old = active_row(view, find, setting.id, setting.scope).insight
    if not old.when:
        raise MnemonError(
            INVALID_PARAMS,
            f"memory {old.id} has no trigger, so it is no rule",
            hint=f"mnemonctl update {old.id[:8]} --when 'Bash:git push*'",
            outcome="rejected",
        )
    new = msgspec.structs.replace(old, when=tuple(_set(each, setting) for each in old.when))
    changed = new.when != old.when
    if changed:
        new = msgspec.structs.replace(new, updated_at=identity.now)
    return identity.change_set(
        method="rules.set",
        changes=(PutInsight(new),) if changed else (),
        outcome=RuleResult(id=old.id, when=new.when, changed=changed, op_id=identity.op_id, replayed=False),
        operation="rule" if changed else "",
        detail=" ".join(str(each) for each in (setting.state, setting.enforce) if each),
        subject=old.id,
    )


def _set(trigger: Trigger, setting: Setting) -> Trigger:
    return msgspec.structs.replace(
        trigger, state=setting.state or trigger.state, enforce=setting.enforce or trigger.enforce
    )


def propose_switch(identity: WriteContext, *, on: bool) -> Proposal:
    """Propose to switch all rules of a store on or off; the switch of each rule stays."""
    return identity.proposal("rules.set", partial(_decide_switch, identity, on=on))


def _decide_switch(identity: WriteContext, view: View, *, on: bool) -> ChangeSet:
    changed = are_rules_off(view.connection) == on
    change_set = identity.change_set(
        method="rules.set",
        changes=(),
        outcome=RuleResult(id=None, when=(), changed=changed, on=on, op_id=identity.op_id, replayed=False),
        operation="rules-on" if on else "rules-off",
    )
    return msgspec.structs.replace(change_set, facts=((RULES_OFF_KEY, "0" if on else "1"),))


def has_rule(it: Insight) -> bool:
    """Return True if a memory is a rule that may be applied: not of unknown origin, with a trigger that is on."""
    return not it.quarantined and any(each.state == "on" for each in it.when)
