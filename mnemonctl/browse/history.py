"""The panes of operations, with undo, and of jobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

from textual.binding import Binding, BindingType

from mnemonctl.browse.dialogs import Confirm
from mnemonctl.browse.memories import render
from mnemonctl.browse.widgets import PAGE, Page, Pane, Row
from mnemonctl.client import Client
from mnemond.api.types_jobs import JobsListResult, JobView
from mnemond.cli.history import HISTORY
from mnemond.cli.maintenance import JOBS_LIST, JOBS_RUN
from mnemond.cli.output import Style, lines, note, one_line, second, short_id
from mnemond.errors import NOT_FOUND, MnemonError
from mnemond.model.answers import LogLine
from mnemond.wire.params import plural

MAX_LINES: Final = 1_000
"""Lines of the log that the daemon lists."""


class HistoryPane(Pane[LogLine]):
    """Operations, newest first."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("u", "undo", "Undo")]
    nothing = "nothing was done here yet"

    def fetch(self) -> Callable[[Client], Page[LogLine]]:
        """Ask for a page of the log of writes."""
        begin = self.number * PAGE

        def ask(client: Client) -> Page[LogLine]:
            found = client.log(limit=min(begin + PAGE + 1, MAX_LINES), recalls=False)
            shown = found[begin : begin + PAGE]
            return Page(
                [_row(it) for it in shown], f"{plural(len(shown), 'write')}, newest first", len(found) > begin + PAGE
            )

        return ask

    def describe(self, item: LogLine, style: Style) -> Callable[[Client], str]:
        """Ask for the past of the memory that an operation was about."""
        scope = self.browser.daemon.scope
        head = lines(
            f"{one_line(item.operation)}  {second(item.created_at)}",
            note(f"operation {item.op_id}" if item.op_id else "nothing that could be taken back", style),
            note(item.detail, style) if item.detail else None,
        )
        if item.insight_id is None:
            return lambda _: head
        insight_id = item.insight_id

        def ask(client: Client) -> str:
            try:
                return f"{head}\n{render(HISTORY.render, client.history(id=insight_id, **scope), style)}"
            except MnemonError as error:
                if error.kind is not NOT_FOUND:
                    raise
                return f"{head}\n{note(error.message, style)}"

        return ask

    def action_undo(self) -> None:
        """Take an operation back."""
        it = self.selected
        if it is None or it.op_id is None:
            self.browser.say("this operation changed no memory and no link")
            return
        self.browser.act(lambda: self._undo(it, it.op_id or ""))

    async def _undo(self, it: LogLine, op_id: str) -> None:
        question = f"Take back {it.operation} of {second(it.created_at)}, all that it did?"
        about = f"{short_id(it.insight_id or '')}  {it.words or it.detail}".strip()
        if await self.app.push_screen_wait(Confirm(question, f"{about}\noperation {op_id}", "Take back")):
            await self.browser.write("undo", words=(op_id,))


def _row(it: LogLine) -> Row[LogLine]:
    words = "purged" if it.purged else it.words or ""
    subject = short_id(it.insight_id) if it.insight_id else ""
    mark = "↶" if it.op_id else " "
    head = f"{second(it.created_at)}  {mark} {one_line(it.operation):<13}  {subject:<8}  "
    brief = f"{second(it.created_at)[5:16]}  {mark} {one_line(it.operation)}  "
    return Row(str(it.id), head, brief, words or it.detail, it)


class JobsPane(Pane[JobView]):
    """Background jobs, in the order they run in."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("g", "start", "Run now")]

    def fetch(self) -> Callable[[Client], Page[JobView]]:
        """Ask for the jobs of the store."""

        def ask(client: Client) -> Page[JobView]:
            found = client.jobs.list()
            return Page([_job(it) for it in found.jobs], f'{plural(len(found.jobs), "job")} of store "{found.store}"')

        return ask

    def describe(self, item: JobView, style: Style) -> Callable[[Client], str]:
        """Show a job and its last run; what is needed is there already."""
        more = lines("", note(item.detail, style)) if item.detail else ""
        undo = lines(note(f"operation {item.op_id}", style)) if item.op_id else ""
        return lambda _: render(JOBS_LIST.render, JobsListResult(store="", jobs=[item]), style) + more + undo

    def action_start(self) -> None:
        """Run a job now, after a question that says what it would do."""
        if (it := self.selected) is not None:
            self.browser.act(lambda: self._start(it))

    async def _start(self, it: JobView) -> None:
        would = await self.browser.daemon.read(lambda client: client.jobs.run(name=it.name, dry_run=True))
        text = f"{it.summary}\n\n{render(JOBS_RUN.render, would, Style(columns=60))}"
        if await self.app.push_screen_wait(Confirm(f"Run {it.name} now?", text, "Run")):
            yes = ["--yes"] if would.outcome == "stopped" else []
            await self.browser.write("jobs", "run", *yes, words=(it.name,), named=False)


def _job(it: JobView) -> Row[JobView]:
    state = "failed" if it.error else "running" if it.running else it.outcome or "never ran"
    last = second(it.last_run)[:16] if it.last_run else ""
    head = f"{one_line(it.name):<20}  {last:<16}  {one_line(state):<9}  "
    return Row(it.name, head, f"{one_line(it.name):<16} {one_line(state):<9} ", it.error or it.summary, it)
