"""The panes of people and things, and of the time of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

from textual.binding import Binding, BindingType

from mnemonctl.browse.dialogs import Ask, Confirm
from mnemonctl.browse.memories import edit_memory, forget_memory, render
from mnemonctl.browse.widgets import PAGE, Page, Pane, Row
from mnemonctl.client import Client
from mnemond.api.types_entities import EntityLine
from mnemond.api.types_relations import TimelineEvent
from mnemond.cli.entities import SHOW
from mnemond.cli.output import Style, body, counts, lines, one_line
from mnemond.cli.recall import GET
from mnemond.model.relations import time_text
from mnemond.wire.params import plural

MAX_LISTED: Final = 1_000
"""Names, and events, that the daemon lists."""

SHOWN: Final = 20
"""Memories and events on the page of a name."""

MAX_ALIASES: Final = 3
"""Other names in a row."""


class EntitiesPane(Pane[EntityLine]):
    """People and things, those that most memories name first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "merge", "Merge"),
        Binding("s", "split", "Split"),
        Binding("t", "timeline", "Timeline"),
    ]
    prompt = "part of a name"
    nothing = "no person and no thing like that is known"

    def fetch(self) -> Callable[[Client], Page[EntityLine]]:
        """Ask for a page of names."""
        query, begin, scope = self.typed or None, self.number * PAGE, self.browser.daemon.scope

        def ask(client: Client) -> Page[EntityLine]:
            found = client.entity.list(query=query, limit=min(begin + PAGE + 1, MAX_LISTED), **scope)
            rows = [_row(it) for it in found.entities[begin : begin + PAGE]]
            asked = f" · {plural(found.proposed, 'pair')} may be one, see the reviews" if found.proposed else ""
            more = len(found.entities) > begin + PAGE
            return Page(rows, f"{plural(found.total, 'name')}: {counts(found.types)}{asked}", more)

        return ask

    def describe(self, item: EntityLine, style: Style) -> Callable[[Client], str]:
        """Ask for the page of a name."""
        scope = self.browser.daemon.scope
        return lambda client: render(SHOW.render, client.entity.show(name=item.name, limit=SHOWN, **scope), style)

    def action_timeline(self) -> None:
        """Show the time of the name."""
        if (it := self.selected) is not None:
            self.browser.visit("timeline", it.name)

    def action_merge(self) -> None:
        """Join another name with the selected one."""
        if (it := self.selected) is not None:
            self.browser.act(lambda: self._decide(it.name, "merge", "Which name is another name of it?"))

    def action_split(self) -> None:
        """Separate a name from the selected one."""
        if (it := self.selected) is not None:
            also = f" It is also called {', '.join(it.aliases[:MAX_ALIASES])}." if it.aliases else ""
            self.browser.act(lambda: self._decide(it.name, "split", f"Which name is of another thing?{also}"))

    async def _decide(self, name: str, verb: str, question: str) -> None:
        """Raises MnemonError."""
        other = await self.app.push_screen_wait(Ask(f"{name}\n{question}", "the other name"))
        if other is None:
            return
        text = f"{name} and {other} become two things, which is remembered."
        if verb == "merge":
            would = await self.browser.daemon.run("entity", "merge", "--dry-run", words=(name, other), named=False)
            text = "\n".join(would.lines)
        yes = "Split" if verb == "split" else "Merge"
        if await self.app.push_screen_wait(Confirm(f"{yes} {name} and {other}?", text, yes)):
            await self.browser.write("entity", verb, words=(name, other))


def _row(it: EntityLine) -> Row[EntityLine]:
    also = f" (also {', '.join(it.aliases[:MAX_ALIASES])}{' …' if len(it.aliases) > MAX_ALIASES else ''})"
    head = f"{it.memories:>5,}  {one_line(it.type):<10}  "
    return Row(it.name, head, head, f"{it.name}{also if it.aliases else ''}", it)


class TimelinePane(Pane[TimelineEvent]):
    """Events of one name in the order of time; the last page comes first."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("e", "edit", "Edit"), Binding("d", "forget", "Forget")]
    prompt = "name of a person or a thing"
    nothing = "type a name, or press t at one of the entities"

    @property
    def wants_line(self) -> bool:
        """True before a name was given."""
        return not self.typed

    def fetch(self) -> Callable[[Client], Page[TimelineEvent]]:
        """Ask for a page of events."""
        name, begin, scope = self.typed, self.number * PAGE, self.browser.daemon.scope

        def ask(client: Client) -> Page[TimelineEvent]:
            if not name:
                return Page([], "")
            found = client.timeline(name=name, limit=min(begin + PAGE, MAX_LISTED), **scope)
            events = found.events[: len(found.events) - begin] if begin else found.events
            summary = f"{found.name}: {plural(found.total, 'event')}, in the order of time"
            more = found.total > begin + len(events) and begin + PAGE < MAX_LISTED
            return Page([_event(at, it) for at, it in enumerate(events[-PAGE:])], summary, more)

        return ask

    def describe(self, item: TimelineEvent, style: Style) -> Callable[[Client], str]:
        """Ask for the memory that was noted; a relation is shown as it is."""
        if item.what == "memory":
            return lambda client: render(GET.render, client.get(id=item.id), style)
        return lambda _: lines(
            f"{item.what} {_time(item)}", body(item.text, style, "  "), f"  relation {one_line(item.id)}"
        )

    def action_edit(self) -> None:
        """Change the memory."""
        if (it := self.selected) is not None and it.what == "memory":
            self.browser.act(lambda: edit_memory(self, it.id))

    def action_forget(self) -> None:
        """Take the memory out of recall."""
        if (it := self.selected) is not None and it.what == "memory":
            self.browser.act(lambda: forget_memory(self, it.id, it.text))


def _time(it: TimelineEvent) -> str:
    return "before" if it.at is None else one_line(time_text(it.at, it.granularity))


def _event(at: int, it: TimelineEvent) -> Row[TimelineEvent]:
    head, brief = f"{_time(it):<16}  {it.what:<6}  ", f"{_time(it):<10}  "
    return Row(f"{it.what} {it.id} {at}", head, brief, it.text, it)
