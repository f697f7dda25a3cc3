"""The pane of memories: filters as those of `list`, edit, forget, bring back, merge two."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any, ClassVar, Final

import msgspec
from textual.binding import Binding, BindingType

from mnemonctl.browse.calls import Done
from mnemonctl.browse.dialogs import Confirm, Edit, Edited
from mnemonctl.browse.widgets import PAGE, Page, Pane, Row
from mnemonctl.client import Client
from mnemond.api.types_memories import ListParams, SearchParams
from mnemond.cli.history import HISTORY
from mnemond.cli.output import Style, day, kind, neutralise, one_line, short_id
from mnemond.cli.parser import UsageError
from mnemond.cli.recall import GET, LIST, SEARCH
from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.model.answers import InsightDetail, InsightView, RetiredResult, RetiredView
from mnemond.model.memory import CATEGORIES
from mnemond.wire.params import Params, plural

QUOTED: Final = 600
"""Characters of a memory that are quoted in a question."""


class Filter(msgspec.Struct, frozen=True):
    """A filter as it was read: the parameters of `list`, or of `search` if it has words."""

    params: dict[str, Any]
    words: str


def parse_filter(line: str) -> Filter:
    """Read options of `mnemonctl list`, and words to look for. Raises MnemonError(INVALID_PARAMS)."""
    try:
        typed = shlex.split(line)
        words = LIST.parser.split(typed)[1]
        command, declared = (SEARCH, SearchParams) if words else (LIST, ListParams)
        params, words = command.parser.split(typed)
        return Filter(_checked(params, declared), " ".join(words))
    except ValueError as error:
        raise _not_understood(f"the filter cannot be read: {error}", "quotes go in pairs") from None
    except UsageError as error:
        raise _not_understood(
            error.message, "the filters are the options of `mnemonctl list`, words are looked for"
        ) from None


def _checked(params: dict[str, Any], declared: type[Params]) -> dict[str, Any]:
    """Raises UsageError for an option that is none of a filter, or a value of another form."""
    unknown = params.keys() - set(declared.__struct_encode_fields__)
    if unknown:
        raise UsageError(f"--{min(unknown).replace('_', '-')} has no meaning here")
    try:
        msgspec.convert({"query": "", **params} if declared is SearchParams else params, declared)
    except msgspec.ValidationError as error:
        raise UsageError(str(error)) from None
    return params


def _not_understood(sentence: str, hint: str) -> MnemonError:
    return MnemonError(INVALID_PARAMS, sentence, hint=hint, outcome="rejected")


def render(command_render: Callable[[Any, Style], str] | None, result: object, style: Style) -> str:
    """Return the text that the command line prints for a result."""
    assert command_render is not None  # noqa: S101  (each of these commands has one)
    return command_render(result, style)


def quoted(text: str) -> str:
    """Return the beginning of a memory for a question."""
    return text if len(text) <= QUOTED else text[:QUOTED] + "…"


class MemoriesPane(Pane[InsightView]):
    """Memories, newest first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "edit", "Edit"),
        Binding("d", "forget", "Forget"),
        Binding("b", "restore", "Bring back"),
        Binding("space", "mark", "Mark"),
        Binding("m", "merge", "Merge"),
        Binding("h", "past", "History"),
    ]
    prompt = "filter: words, --category decision, --since yesterday, --tag x, --entity Ana, --retired …"
    nothing = "no memory fits"

    def __init__(self, *, id: str) -> None:  # noqa: A002 - the library's name
        super().__init__(id=id)
        self._cursors: list[str | None] = [None]
        """For each page that was shown, the memory after which it begins."""
        self._shows_past = False

    def fetch(self) -> Callable[[Client], Page[InsightView]]:
        """Ask for a page of `list`, or for what `search` finds."""
        line, scope = self.typed, self.browser.daemon.scope
        before = self._cursors[self.number] if self.number < len(self._cursors) else None

        def ask(client: Client) -> Page[InsightView]:
            wanted = parse_filter(line)
            params = {"limit": PAGE, **scope, **wanted.params}
            if not scope:
                params.setdefault("all_sessions", True)
            if wanted.words:
                hits = client.search(query=wanted.words, **params).results
                return Page(
                    [_row(hit.insight) for hit in hits], f"{plural(len(hits), 'memory')} with these words, best first"
                )
            if before is not None:
                params["before"] = before
            found = client.list(**params)
            rows = [_row(it) for it in (found.retired if isinstance(found, RetiredResult) else found.insights)]
            here = "" if found.next is None and before is None else " on this page"
            return Page(rows, f"{plural(len(rows), 'memory')}{here}, newest first", found.next is not None, found.next)

        return ask

    def action_turn(self, by: int) -> None:
        """Remember where the next page begins."""
        if by > 0 and self.page.more:
            self._cursors[self.number + 1 :] = [self.page.cursor]
        super().action_turn(by)

    def describe(self, item: InsightView, style: Style) -> Callable[[Client], str]:
        """Ask for all that is known of a memory, or for its past."""
        if self._shows_past:
            return lambda client: render(HISTORY.render, client.history(id=item.id), style)
        return lambda client: render(GET.render, client.get(id=item.id), style)

    def action_past(self) -> None:
        """Show the past of a memory instead of its fields, or these again."""
        self._shows_past = not self._shows_past
        self._describe()

    def action_edit(self) -> None:
        """Change a memory."""
        if (it := self.selected) is not None:
            self.browser.act(lambda: edit_memory(self, it.id))

    def action_forget(self) -> None:
        """Take a memory out of recall."""
        if (it := self.selected) is not None:
            self.browser.act(lambda: forget_memory(self, it.id, it.content))

    def action_restore(self) -> None:
        """Bring a memory back that is out of recall."""
        it = self.selected
        if isinstance(it, RetiredView):
            self.browser.act(lambda: restore_memory(self, it.id))

    def action_mark(self) -> None:
        """Mark a memory, to be merged with another."""
        if (it := self.selected) is not None and (at := self.rows.highlighted) is not None:
            self.marked ^= {it.id}
            self.draw_row(at)

    def action_merge(self) -> None:
        """Make one memory of the marked one and the selected one."""
        it, others = self.selected, self.marked - {self.selected.id if self.selected else ""}
        if it is None or len(others) != 1:
            self.browser.say("mark one memory with the space bar, then press m on another")
            return
        self.browser.act(lambda: _merge(self, next(iter(others)), it.id))


def _row(it: InsightView) -> Row[InsightView]:
    project = f"{one_line(it.project)[:20]}  " if it.project else ""
    brief = f"{short_id(it.id)}  "
    if isinstance(it, RetiredView):
        head = f"{short_id(it.id)}  {day(it.retired_at)}  {one_line(it.status):<11}  {project}"
        return Row(it.id, head, f"{brief}{one_line(it.status)}  ", it.content, it)
    head = f"{short_id(it.id)}  {day(it.created_at)}  {kind(it):<13}  {project}"
    return Row(it.id, head, brief, it.content, it)


# Actions, which other panes with memories have as well.


async def restore_memory(pane: Pane[Any], insight_id: str) -> None:
    """Bring a memory back into recall."""
    await pane.browser.write("restore", insight_id)


async def forget_memory(pane: Pane[Any], insight_id: str, content: str) -> None:
    """Forget a memory after a question."""
    question = f"Take {short_id(insight_id)} out of recall? It can be brought back."
    if await pane.app.push_screen_wait(Confirm(question, quoted(content), "Forget")):
        await pane.browser.write("forget", insight_id)


async def edit_memory(pane: Pane[Any], insight_id: str) -> None:
    """Let the user change text, category, importance and tags of a memory. Raises MnemonError."""
    found = await pane.browser.daemon.read(lambda client: client.get(id=insight_id))
    it = found.insight
    before = Edited(
        neutralise(it.content),
        {"category": one_line(it.category), "importance": str(it.importance), "tags": one_line(", ".join(it.tags))},
    )
    note = f"category: {', '.join(CATEGORIES)}"
    if before.text != it.content:
        note = "characters that cannot be seen are written as escapes; a text that you change is stored with these"

    async def save(after: Edited) -> Done:
        if after == before:
            return Done(True, ("Nothing was changed",), None)
        return await pane.browser.write(
            *_changes(it, before, after), stdin=after.text if after.text != before.text else None
        )

    await pane.app.push_screen_wait(Edit(f"Memory {short_id(insight_id)}", before, save, note))


def _changes(it: InsightDetail, before: Edited, after: Edited) -> list[str]:
    """Return the command line for the fields that differ."""
    argv = ["update", it.id]
    if after.text != before.text:
        argv += ["--content", "-"]
    for name in ("category", "importance"):
        if after.fields[name] != before.fields[name]:
            argv.append(f"--{name}={after.fields[name].strip()}")
    if after.fields["tags"] != before.fields["tags"]:
        argv.append(f"--tags={after.fields['tags']}")
    return argv


async def _merge(pane: MemoriesPane, one: str, other: str) -> None:
    """Make one memory of two, with the text that the daemon proposes, or that of both where they contradict each
    other. Raises MnemonError."""
    daemon = pane.browser.daemon
    found = await daemon.read(lambda client: (client.get(id=one).insight, client.get(id=other).insight))
    older, newer = sorted(found, key=lambda it: it.created_at)
    try:
        proposed = await daemon.read(lambda client: client.merge(id=older.id, other_id=newer.id, dry_run=True))
        text: str | None = proposed.content
        note = f"{short_id(older.id)} keeps its id, {short_id(newer.id)} leaves recall"
    except MnemonError as error:
        text, note = None, error.message
    before = Edited(neutralise(f"{older.content}\n{newer.content}" if text is None else text), {})

    async def save(after: Edited) -> Done:
        pane.marked.clear()
        given = text is None or after != before
        argv = ["merge", older.id, newer.id, *(["--content", "-"] if given else [])]
        return await pane.browser.write(*argv, stdin=after.text if given else None)

    await pane.app.push_screen_wait(Edit("One memory of two: what both say", before, save, note))
