"""Widgets that show and take texts. Memory text is hostile: it reaches the screen escaped, and never as markup."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import ClassVar, Final, Generic, NamedTuple, Protocol, TypeVar, cast

from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical, VerticalScroll
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input, OptionList, Static, TextArea
from textual.widgets.option_list import Option

from mnemonctl.browse.calls import Daemon, Done, is_absence
from mnemonctl.client import Client
from mnemond.cli.output import Style, neutralise, one_line, shorten
from mnemond.errors import MnemonError

T = TypeVar("T")

PAGE: Final = 100
"""Rows of one page."""

ROW_CELLS: Final = 240
"""Cells of a text in a row; the preview has all of it."""

PREVIEW: Final = 40_000
"""Characters of a preview: several times the longest memory with all its fields."""

BRIEF_BELOW: Final = 76
"""Columns of a list below which its rows have a brief head."""

SETTLE_S: Final = 0.08
"""Seconds that a row stays selected before its preview is requested, so that an arrow key that is held requests one."""

MIN_COLUMNS: Final = 24
"""Least width that a preview is laid out for."""


def plain(text: str) -> Content:
    """Return escaped text without any markup, of bounded length."""
    return Content(neutralise(text if len(text) <= PREVIEW else text[:PREVIEW] + "…"))


class Line(Input):
    """A line to type in. Unsafe characters that are pasted become visible escapes."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "To the list")]

    def _on_paste(self, event: events.Paste) -> None:
        event.text = one_line(event.text.split("\n")[0].rstrip("\r"))

    def action_leave(self) -> None:
        """Give the keys back to what is below."""
        self.screen.focus_next()


class Editor(TextArea):
    """Several lines to type in. Unsafe characters that are pasted become visible escapes."""

    async def _on_paste(self, event: events.Paste) -> None:
        event.text = neutralise(event.text)


class Host(Protocol):
    """The application, as far as panes need it."""

    daemon: Daemon

    def report(self, error: MnemonError) -> None:
        """Show an error until the daemon answers again."""

    def say(self, sentence: str, *, is_error: bool = False) -> None:
        """Show a sentence in the line at the bottom."""

    def reached(self) -> None:
        """The daemon answered."""

    def act(self, action: Callable[[], Coroutine[None, None, None]]) -> None:
        """Run what asks the user or writes, unless another such is under way."""

    async def write(
        self, *argv: str, words: tuple[str, ...] = (), stdin: str | None = None, named: bool = True
    ) -> Done:
        """Run a command line, show what came of it, and load the list anew. A failure is a result, too."""

    def visit(self, pane: str, line: str) -> None:
        """Go to another pane, with a text in its line."""


class Row(NamedTuple, Generic[T]):
    """A row of a list: `head` is faint, `brief` the same for a narrow list; `text` is memory text, `item` is what it
    shows."""

    key: str
    head: str
    brief: str
    text: str
    item: T

    def content(self, *, marked: bool, is_brief: bool) -> Content:
        """Return the line for the screen."""
        head = one_line(self.brief if is_brief else self.head)
        mark = "● " if marked else ""
        return Content.assemble((mark, "bold $accent"), (head, "$text-muted"), shorten(self.text, ROW_CELLS))


class Page(NamedTuple, Generic[T]):
    """Rows, a line about them, and whether there is another page; `cursor`: where it begins, if not at a number."""

    rows: list[Row[T]]
    summary: str
    more: bool = False
    cursor: str | None = None


class Pane(Vertical, Generic[T]):
    """A list, the whole of what is selected beside or below it, and a line to type in where `prompt` is given.

    Subclasses say what is asked of the daemon; both functions run in a thread and may not touch the screen.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "ask", "Filter", key_display="/"),
        Binding("n", "turn(1)", "Next page", show=False),
        Binding("p", "turn(-1)", "Previous page", show=False),
    ]
    prompt: ClassVar[str] = ""
    nothing: str = "nothing here"
    """Text in place of a preview where there are no rows."""

    def __init__(self, *, id: str) -> None:  # noqa: A002 - the library's name
        super().__init__(id=id)
        self.number = 0
        """Number of the page, from 0."""
        self.page: Page[T] = Page([], "")
        self.marked: set[str] = set()
        self.is_loading = False
        self._settling: Timer | None = None

    def fetch(self) -> Callable[[Client], Page[T]]:
        """Return what to ask for the page `number`."""
        raise NotImplementedError

    def describe(self, item: T, style: Style) -> Callable[[Client], str]:
        """Return what to ask for the whole of an item, as text for the width of `style`."""
        raise NotImplementedError

    # What is on the screen.

    def compose(self) -> ComposeResult:
        """Yield the widgets."""
        if self.prompt:
            yield Line(placeholder=self.prompt, max_length=4_000)
        yield Static("", classes="summary", markup=False)
        with Container(classes="split"):
            yield OptionList(markup=False)
            with VerticalScroll(classes="preview", can_focus=True):
                yield Static("", markup=False)

    @property
    def rows(self) -> OptionList:
        """The list."""
        return self.query_one(OptionList)

    @property
    def preview(self) -> VerticalScroll:
        """The place of the whole of what is selected."""
        return self.query_one(".preview", VerticalScroll)

    @property
    def typed(self) -> str:
        """The line as it was typed; "" without one."""
        return self.query_one(Line).value.strip() if self.prompt else ""

    @property
    def selected(self) -> T | None:
        """The item of the selected row, None without one."""
        at = self.rows.highlighted
        return None if at is None or at >= len(self.page.rows) else self.page.rows[at].item

    def activate(self) -> None:
        """Load the page anew, and take the keys unless a widget of this pane has them."""
        focused = self.screen.focused
        if focused is None or self not in focused.ancestors:
            (self.query_one(Line) if self.prompt and self.wants_line else self.rows).focus()
        self.reload()

    @property
    def wants_line(self) -> bool:
        """Return True if there is nothing to show before something is typed."""
        return False

    def reload(self) -> None:
        """Load the page anew. The row that is selected stays so."""
        self._load()

    @work(group="load", exclusive=True)
    async def _load(self) -> None:
        self.is_loading = True
        try:
            page = await self.browser.daemon.read(self.fetch())
        except MnemonError as error:
            if not is_absence(error):
                self._show(Page([], ""))
            self.browser.report(error)
            return
        finally:
            self.is_loading = False
        self.browser.reached()
        self._show(page)

    def _show(self, page: Page[T]) -> None:
        at, kept = self.rows.highlighted, self.page.rows
        key = kept[at].key if at is not None and at < len(kept) else None
        self.page = page
        keys = [row.key for row in page.rows]
        self.marked &= set(keys)
        self.rows.clear_options()
        self.rows.add_options([Option(self._content(row)) for row in page.rows])
        number = f" · page {self.number + 1}" if self.number else ""
        turn = " · n: next page" if page.more else ""
        self.query_one(".summary", Static).update(plain(f"{page.summary}{number}{turn}"))
        if not page.rows:
            self._preview(self.nothing)
            return
        self.rows.highlighted = keys.index(key) if key in keys else min(at or 0, len(keys) - 1)

    def _content(self, row: Row[T]) -> Content:
        return row.content(marked=row.key in self.marked, is_brief=self.rows.size.width < BRIEF_BELOW)

    def draw_row(self, at: int) -> None:
        """Show a row as it is now."""
        self.rows.replace_option_prompt_at_index(at, self._content(self.page.rows[at]))

    def _preview(self, text: str) -> None:
        for shown in self.query(".preview Static").results(Static):  # none is left while the pane is being closed
            shown.update(plain(text))

    # What is selected.

    @on(OptionList.OptionHighlighted)
    def settle(self, event: OptionList.OptionHighlighted) -> None:
        """Show the whole of a row that stays selected."""
        event.stop()
        if self._settling is not None:
            self._settling.stop()
        self._settling = self.set_timer(SETTLE_S, self._describe)

    @on(OptionList.OptionSelected)
    def open(self, event: OptionList.OptionSelected) -> None:
        """Let the keys scroll the preview."""
        event.stop()
        self.preview.focus()

    def on_resize(self) -> None:
        """Lay rows and preview out anew."""
        for at in range(len(self.page.rows)):
            self.draw_row(at)
        if self._settling is not None:
            self._settling.stop()
        self._settling = self.set_timer(SETTLE_S, self._describe)

    def _describe(self) -> None:
        item = self.selected
        if item is not None and self.is_attached:
            width = max(self.preview.scrollable_content_region.width, MIN_COLUMNS)
            self._load_preview(self.describe(item, Style(columns=width)))

    @work(group="preview", exclusive=True)
    async def _load_preview(self, ask: Callable[[Client], str]) -> None:
        try:
            self._preview(await self.browser.daemon.read(ask))
        except MnemonError as error:
            self._preview(error.message)
            self.browser.report(error)

    # Keys.

    def action_ask(self) -> None:
        """Go to the line."""
        if self.prompt:
            self.query_one(Line).focus()

    def action_turn(self, by: int) -> None:
        """Go to another page."""
        if (by > 0 and not self.page.more) or self.number + by < 0:
            return
        self.number += by
        self.rows.highlighted = None
        self.reload()

    @on(Input.Submitted)
    def ask(self, event: Input.Submitted) -> None:
        """Ask anew, with what was typed."""
        event.stop()
        self.number = 0
        self.rows.highlighted = None
        self.rows.focus()
        self.reload()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide the key of a line that is not there."""
        return bool(self.prompt) if action == "ask" else True

    @property
    def browser(self) -> Host:
        """The application."""
        return cast("Host", self.app)
