"""Rules at the moment of action: what is said before a call of a tool is made (docs/decisions/0044).

A text that hooks add to a context comes to the model with the result of the call. So a call that would change something
is held back once, with the rule as the reason: the model reads it before anything happened, and may call again.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol

import msgspec

from mnemond.api.rules import CompiledRules
from mnemond.api.store_access import OpenStore
from mnemond.api.uses import Uses
from mnemond.clock import Clock
from mnemond.config.settings import HookSettings
from mnemond.memory.rules import Rule, belongs
from mnemond.model.changes import Showing, TriggerCount
from mnemond.model.memory import format_us
from mnemond.text.prompt_escape import inert
from mnemond.text.triggers import ToolCall, tool_call
from mnemond.wire.hook_payload import HookEvent
from mnemond.wire.hooks import HookReply, Verdict

MAX_SHOWN: Final = 3
"""Rules shown before one call."""

MAX_TEXT: Final = 300
"""Characters of a rule that are shown."""

MAX_HELD: Final = 20
"""Calls of a session that are held back for rules that no person enforced; after that rules are only told. An agent
that was led to store many rules must not be able to stop another."""

MAX_KEPT: Final = 512
"""Rules and calls of a session that are remembered."""

PARALLEL_S: Final = 1.0
"""Seconds within which another call of the same rule is held back as well: a model makes several calls at once, and
reads no reason before it has sent the last of them."""

_HELD: Final = "mnemond held this call back once, for a rule of this user to be read first; nothing was done:"
_AGAIN: Final = "If the call follows it, or the user wants it all the same, make the same call again"
_TOLD: Final = "mnemond: a rule of this user for such calls:"
_UNREAD: Final = "the call is too long to be read whole; rule: "
"""Before a rule that a person enforced, where the call may fit it in what is not read. It tells what to do: less."""
_DENIED: Final = "Refused: this user does not allow such calls:"
_ASKS: Final = "mnemond: the user wants to decide about such calls:"


class HeldCall(msgspec.Struct):
    """A call that was held back for a rule: when, and True if it was made again."""

    call: int
    at_s: float
    again: bool = False


class KeptAsShown(Protocol):
    """Texts that a session was shown, kept when it is resumed and when the daemon starts again."""

    def has_shown(self, insight_id: str, text: str) -> bool:
        """Return True if it was shown this text of a memory."""
        ...

    def mark_shown(self, memories: Iterable[tuple[str, str]], tokens: int = 0) -> None:
        """Record that it was shown these, (id, text)."""
        ...


class ShownRules:
    """Rules that one session was shown. A compaction of its context does not change that: a rule is shown once.

    `shown`: by rule, the call that was held back for it; `refused`: rules with `ask` and the calls that were refused
    for them, in hosts that cannot ask; `held`: how many calls were held back; `last`: the last call and its answer.
    """

    def __init__(self, kept: KeptAsShown) -> None:
        self._kept = kept
        self.shown: OrderedDict[tuple[str, str], HeldCall | None] = OrderedDict()
        self.refused: OrderedDict[tuple[str, str, int], None] = OrderedDict()
        self.held = 0
        self.last: tuple[tuple[str, int], HookReply] = (("", 0), "")

    def show(self, rules: Iterable[Rule], held: HeldCall | None) -> None:
        """Note that rules were shown, with the call that was held back for them."""
        for rule in rules:
            self.shown[rule.key] = held
            self._kept.mark_shown([_mark(rule)])
        while len(self.shown) > MAX_KEPT:
            self.shown.popitem(last=False)

    def is_due(self, rule: Rule, call: int, now_s: float) -> bool:
        """Return True if a rule has to be shown before this call."""
        if rule.key not in self.shown:
            return not self._kept.has_shown(*_mark(rule))
        held = self.shown[rule.key]
        return held is not None and held.call != call and now_s - held.at_s < PARALLEL_S

    def note_call(self, call: int) -> None:
        """Note that a call that was held back is made again."""
        for held in self.shown.values():
            if held is not None and held.call == call:
                held.again = True

    def note_refusal(self, rule: Rule, call: int) -> bool:
        """Record that a call is refused for a rule; return True if the same call was refused for it before."""
        key = (*rule.key, call)
        known = key in self.refused
        self.refused[key] = None
        while len(self.refused) > MAX_KEPT:
            self.refused.popitem(last=False)
        return known

    def followed(self) -> list[tuple[str, str]]:
        """Return the rules for which a call was held back that was not made again."""
        return [key for key, held in self.shown.items() if held is not None and not held.again]


_REASONS: Final = {
    "deny": "a call was held back", "ask": "the user was asked about a call", "tell": "told before a call",
}  # fmt: skip
"""Why a rule was shown, by what was decided."""


class RuleGuard:
    """Decides before every call of a tool. For the event loop's thread; awaits nothing but Deferreds."""

    def __init__(self, compiled: CompiledRules, uses: Uses, clock: Clock, stopwatch: Callable[[], float]) -> None:
        self._compiled = compiled
        self._uses = uses
        self._clock = clock
        self._stopwatch = stopwatch

    async def before(
        self, event: HookEvent, shown: ShownRules, warm: OpenStore, project: str | None, settings: HookSettings
    ) -> HookReply:
        """Return what to say before a call: a text, a Verdict, or nothing. Raises MnemonError."""
        use = event.tool
        if use is None or settings.rules == "off":
            return ""
        call = tool_call(use.name, use.line, use.paths, use.text, event.cwd, use.unread)
        key = hash((call, event.agent))
        if use.id and shown.last[0] == (use.id, key):
            return shown.last[1]  # two hook files of one host
        fitting = [rule for rule in self._compiled.rules_for(warm, call) if _is_for(rule, project)]
        shown.note_call(key)
        said, told = self._decide(event, shown, call, key, fitting, settings) if fitting else ("", ())
        if fitting:
            self._uses.note_rules(warm, _counts(fitting, told))
        if told:
            at, why = format_us(self._clock.now_us()), _REASONS[said.decision if isinstance(said, Verdict) else "tell"]
            session = event.session or event.host
            rules = dict.fromkeys(rule.id for rule in told)
            showings = [Showing(at, session, event.host, event.agent, "rule", 0, each, why) for each in rules]
            self._uses.note(warm, (), None, showings)
        shown.last = ((use.id, key), said)
        return said

    def end(self, shown: ShownRules, warm: OpenStore) -> None:
        """Count the rules that were followed, as far as that can be seen."""
        counts = [TriggerCount(*key, followed=1) for key in shown.followed()]
        if counts:
            self._uses.note_rules(warm, counts)

    def _decide(
        self, event: HookEvent, shown: ShownRules, call: ToolCall, key: int, fitting: Sequence[Rule],
        settings: HookSettings,
    ) -> tuple[HookReply, Sequence[Rule]]:  # fmt: skip
        now_s = self._stopwatch()
        held = HeldCall(key, now_s)
        if denying := [rule for rule in fitting if rule.enforce == "deny"][:MAX_SHOWN]:
            shown.show((rule for rule in denying if rule.key not in shown.shown), held)
            return Verdict("deny", _lines(_DENIED, denying)), denying
        asking = [rule for rule in fitting if rule.enforce == "ask"][:MAX_SHOWN]
        if asking and event.asks:
            return Verdict("ask", _lines(_ASKS, asking)), asking
        if unread := [rule for rule in asking if rule.unread]:  # the next call may be another one, as far as is read
            shown.show((rule for rule in unread if rule.key not in shown.shown), held)
            return Verdict("deny", _lines(_DENIED, unread)), unread
        due = [rule for rule in asking if not shown.note_refusal(rule, key)]
        is_enforced = bool(due)
        due += [rule for rule in fitting if rule.enforce == "tell" and shown.is_due(rule, key, now_s)]
        due = due[:MAX_SHOWN]
        may_hold = settings.rules == "hold" and (call.changes or not event.takes_context) and shown.held < MAX_HELD
        if due and (is_enforced or may_hold):
            shown.held += 1
            shown.show(due, held)
            return Verdict("deny", _lines(_HELD, due, _AGAIN)), due
        if due and event.takes_context:
            shown.show(due, None)
            return _lines(_TOLD, due), due
        return "", ()


def _mark(rule: Rule) -> tuple[str, str]:
    return rule.id, f"when {rule.pattern}"


def _is_for(rule: Rule, project: str | None) -> bool:
    return rule.scope.session_id is None and belongs(rule, project)


def _lines(head: str, rules: Sequence[Rule], tail: str = "") -> str:
    """One line each. A memory says what its agent stored: it stands in a line of its own, without what could end it."""
    return "\n".join(filter(None, (head, *map(_row, rules), tail)))


def _row(rule: Rule) -> str:
    return f"- {_UNREAD if rule.unread else ''}{_shortened(inert(rule.text).replace('<', '‹'))}"


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"


def _counts(fitting: Sequence[Rule], told: Sequence[Rule]) -> list[TriggerCount]:
    times = Counter(rule.key for rule in told)
    return [TriggerCount(*rule.key, matched=int(not rule.unread), shown=times[rule.key]) for rule in fitting]
