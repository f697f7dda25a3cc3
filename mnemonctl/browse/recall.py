"""The pane of recall: a question, its results, and why each is where it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar, Final

from msgspec import UNSET
from textual.binding import Binding, BindingType

from mnemonctl import fast
from mnemonctl.browse.memories import edit_memory, forget_memory
from mnemonctl.browse.widgets import Page, Pane, Row
from mnemonctl.client import Client
from mnemond.cli.output import Style, body, day, fraction, kind, lines, milliseconds, note, one_line, short_id
from mnemond.cli.recall import notes
from mnemond.model.answers import RecallHit, RecallResult, traits_text
from mnemond.wire.params import plural

RESULTS: Final = 20
"""Results of a question."""

EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
"""A cell that is filled from the left by so many eighths."""

BAR: Final = 16
"""Cells of a full bar."""


class RecallPane(Pane[RecallHit]):
    """The results of a question, best first. Looking at them is not counted as use."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("e", "edit", "Edit"), Binding("d", "forget", "Forget")]
    prompt = "a question"
    nothing = "type a question"

    @property
    def wants_line(self) -> bool:
        """True before a question was typed."""
        return not self.typed

    def fetch(self) -> Callable[[Client], Page[RecallHit]]:
        """Ask the question, as from the working directory."""
        question, scope = self.typed, self.browser.daemon.scope
        self.nothing = "nothing was found" if question else RecallPane.nothing

        def ask(client: Client) -> Page[RecallHit]:
            if not question:
                return Page([], "")
            here = fast.working_directory() or None
            found = client.recall(query=question, limit=RESULTS, explain=True, touch=False, directory=here, **scope)
            return Page([_row(at, it) for at, it in enumerate(found.results, 1)], _summary(found))

        return ask

    def describe(self, item: RecallHit, style: Style) -> Callable[[Client], str]:
        """Show why a result is there; what is needed is there already."""
        return lambda _: explain(item, style)

    def action_edit(self) -> None:
        """Change the memory."""
        if (it := self.selected) is not None:
            self.browser.act(lambda: edit_memory(self, it.insight.id))

    def action_forget(self) -> None:
        """Take the memory out of recall."""
        if (it := self.selected) is not None:
            self.browser.act(lambda: forget_memory(self, it.insight.id, it.insight.content))


def _summary(found: RecallResult) -> str:
    meta = found.meta
    doubt = "nothing known surely fits · " if meta.nothing_fits else ""
    took = f"{plural(len(found.results), 'memory')} in {milliseconds(meta.took_ms)} ms"
    return " · ".join([f"{doubt}{took}", f"intent {meta.intent.lower()} ({meta.intent_source})", *notes(found)])


def _row(at: int, it: RecallHit) -> Row[RecallHit]:
    head = f"{at:>2}. {fraction(it.score):>4} {one_line(it.confidence):<6}  {short_id(it.insight.id)}  "
    return Row(it.insight.id, head, f"{at:>2}. {fraction(it.score):>4}  ", it.insight.content, it)


def bar(share: float) -> str:
    """Return a bar of `BAR` cells of which a share in [0, 1] is filled, to an eighth of a cell."""
    eighths = round(min(max(share, 0.0), 1.0) * BAR * 8)
    part = EIGHTHS[eighths % 8] if eighths % 8 else ""
    return ("█" * (eighths // 8) + part).ljust(BAR)


def _bars(values: Mapping[str, float], most: float, sign: str = "") -> Iterator[str]:
    for name, value in values.items():
        yield f"  {one_line(name)[:20].replace('_', ' '):<20}  {bar(abs(value) / most)}  {value:{sign}.2f}"


def explain(it: RecallHit, style: Style) -> str:
    """Return a result, its signals and the parts of its score as bars, and the reasons for its place."""
    insight, why = it.insight, it.explanation
    via = ", ".join(map(one_line, it.via_all or (it.via,)))
    signals = {name: getattr(it.signals, name) for name in it.signals.__struct_fields__}
    signals = {name: value for name, value in signals.items() if value is not UNSET}
    parts = why.parts if why else {}
    most = max((abs(value) for value in parts.values()), default=0.0) or 1.0
    return lines(
        f"{short_id(insight.id)}  {day(insight.created_at)}  {kind(insight)}",
        body(insight.content, style, "  "), "",
        f"score {fraction(it.score)}, confidence {one_line(it.confidence)}, found by {via}",
        *(() if it.first_score is None else (f"  {fraction(it.first_score)} before the second look",)),
        "signals", *_bars(signals, 1.0),
        *(("made of", *_bars(parts, most, "+")) if parts else ()),
        *(note(sentence, style) for sentence in _reasons(it)),
    )  # fmt: skip


def _reasons(it: RecallHit) -> Iterator[str]:
    why = it.explanation
    if it.path:
        steps = " ".join(f"{short_id(step.from_)} -{step.edge} {fraction(step.weight)}->" for step in it.path)
        yield f"reached {steps} here"
    if why is not None and why.cue:
        yield f'found by its cue "{why.cue}"'
    if why is not None and why.above:
        yield f"above the next best by {', '.join(why.above)}"
    if why is not None and why.unasked:
        yield f"a prompt needs it with probability {fraction(why.unasked.probability)}: {traits_text(why.unasked)}"
    if it.contradicts:
        yield f"may contradict {', '.join(map(short_id, it.contradicts))}"
    if it.also:
        yield f"the same in {plural(len(it.also), 'other memory')}: {', '.join(map(short_id, it.also))}"
