"""The pane of sessions: what each was told, what was kept of it and what was left out, with a key for each decision."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar, Final, NamedTuple

from textual.binding import Binding, BindingType

from mnemonctl.browse.calls import Done
from mnemonctl.browse.dialogs import Edit, Edited
from mnemonctl.browse.memories import edit_memory, forget_memory, render
from mnemonctl.browse.widgets import PAGE, Page, Pane, Row
from mnemonctl.client import Client
from mnemond.api.types_sessions import SessionView
from mnemond.cli.output import Style, neutralise, one_line, second, short_id
from mnemond.cli.recall import GET
from mnemond.cli.sessions import TODAY, headline
from mnemond.model.memory import project_parts

SESSIONS: Final = 50
"""Sessions that are listed; more than anyone has in a week, which the line may ask for."""


class Entry(NamedTuple):
    """A session, or one thing of it: a memory that it was told, one that was kept, or a text that was left out.
    `id`: of the memory, or of the exchange that has the text."""

    session: SessionView
    what: str
    id: str = ""
    text: str = ""
    reason: str = ""
    at: str = ""


class TodayPane(Pane[Entry]):
    """Sessions of a day, the newest first, each with what it was told, what was kept and what was left out."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("k", "keep", "Keep"),
        Binding("c", "correct", "Correct"),
        Binding("d", "forget", "Forget"),
    ]
    prompt = "since: yesterday, last week, 2026-02-18; a day unless given"
    nothing = "no session was told a memory then, and nothing is kept of one"

    def fetch(self) -> Callable[[Client], Page[Entry]]:
        """Ask for the sessions of a time."""
        since, begin = self.typed or None, self.number * PAGE

        def ask(client: Client) -> Page[Entry]:
            found = client.today(since=since, limit=SESSIONS)
            entries = [each for session in found.sessions for each in _entries(session)]
            rows = [_row(number, it) for number, it in enumerate(entries)][begin : begin + PAGE]
            return Page(rows, headline(found.figures), len(entries) > begin + PAGE)

        return ask

    def describe(self, item: Entry, style: Style) -> Callable[[Client], str]:
        """Ask for all that is known of a memory, or for the exchange of a text that was left out."""
        if item.id:
            why = f"{item.what}: {one_line(item.reason)}\n\n" if item.reason else ""
            return lambda client: why + render(GET.render, client.get(id=item.id), style)
        return lambda client: render(TODAY.render, client.today(id=item.session.id, limit=1), style)

    def action_keep(self) -> None:
        """Say that a memory was useful, or remember a text that was left out."""
        if (it := self.selected) is not None and it.id:
            self.browser.act(lambda: self._keep(it))

    async def _keep(self, it: Entry) -> None:
        if it.what != "left out":
            await self.browser.write("useful", it.id)
            return
        before = Edited(neutralise(it.text), {})

        async def save(after: Edited) -> Done:
            project = f"--project={it.session.project or 'none'}"
            return await self.browser.write("remember", project, words=(after.text,))

        await self.app.push_screen_wait(Edit("Keep this as a memory", before, save))

    def action_correct(self) -> None:
        """Change a memory."""
        if (it := self.selected) is not None and it.id and it.what != "left out":
            self.browser.act(lambda: edit_memory(self, it.id))

    def action_forget(self) -> None:
        """Take a memory out of recall, or the exchange of a text that was left out."""
        if (it := self.selected) is not None and it.id:
            self.browser.act(lambda: forget_memory(self, it.id, it.text))


def _entries(session: SessionView) -> Iterator[Entry]:
    yield Entry(session, "")
    for shown in session.shown:
        for it in shown.memories:
            if not it.purged:
                what = "rule" if shown.moment == "rule" else "told"
                yield Entry(session, what, it.id, it.words or "", it.reason, shown.at)
    for kept in session.kept:
        yield Entry(session, "kept", kept.id, kept.words, kept.category)
    for left in session.left_out:
        yield Entry(session, "left out", left.passage, left.text, left.reason)


def _row(number: int, it: Entry) -> Row[Entry]:
    session = it.session
    if not it.what:
        told = sum(len(each.memories) for each in session.shown)
        where = ", ".join(filter(None, (project_parts(session.project)[0], session.host)))
        counted = f"told {told:,}, kept {session.exchanges + len(session.kept):,}, left out {session.left_out_count:,}"
        head = f"{second(session.ended)[:16]}  {one_line(session.id)[:12]}  "
        return Row(f"{session.id}", head, head[5:], f"{where}: {counted}", it)
    head = f"    {it.what:<9} {short_id(it.id)}  "
    return Row(f"{session.id} {number}", head, head, it.text, it)
