"""The application: the panes as tabs, a line for results and errors, keys that hold everywhere."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, ClassVar, Final

from textual import on, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Footer, Static, TabbedContent, TabPane

from mnemonctl import rpc
from mnemonctl.browse.calls import Daemon, Done, is_absence
from mnemonctl.browse.dialogs import Help
from mnemonctl.browse.entities import EntitiesPane, TimelinePane
from mnemonctl.browse.history import HistoryPane, JobsPane
from mnemonctl.browse.memories import MemoriesPane
from mnemonctl.browse.recall import RecallPane
from mnemonctl.browse.reviews import ReviewsPane
from mnemonctl.browse.today import TodayPane
from mnemonctl.browse.widgets import Line, Pane, plain
from mnemond.errors import MnemonError

RETRY_S: Final = 2.0
"""Seconds between attempts to reach a daemon that went away."""

LIGHT, DARK = "textual-light", "textual-dark"

PANES: Final[dict[str, tuple[str, type[Pane[Any]]]]] = {
    "reviews": ("Reviews", ReviewsPane),
    "memories": ("Memories", MemoriesPane),
    "history": ("History", HistoryPane),
    "entities": ("Entities", EntitiesPane),
    "timeline": ("Timeline", TimelinePane),
    "jobs": ("Jobs", JobsPane),
    "recall": ("Recall", RecallPane),
    "today": ("Today", TodayPane),
}
"""Titles and panes by id, in the order of the tabs."""

KEYS: Final = """\
1 … 8      reviews, memories, history, entities, timeline, jobs, recall, today
↑ ↓ PgUp PgDn Home End   the list; Enter: scroll what is selected; Tab: next part
/          filter or question; Enter asks, Esc goes back to the list
n p        next and previous page
r          load anew; starts the daemon if none runs
z          take back the last change that was made here
L          light or dark colours
q          leave

Reviews    a decide   x what was decided, or what waits
Memories   e edit   d forget   b bring back (with the filter --retired)
           space mark, then m on another: make one memory of both
           h its history, or its fields again
           The filter takes words to look for and the options of `mnemonctl list`:
           --category decision  --since "last week"  --tag x  --entity Ana  --retired
History    u take an operation back
Entities   m another name of it   s no name of it   t its timeline
Timeline   e edit   d forget
Jobs       g run now, after a question that says what it would do
Recall     e edit   d forget
Today      k keep: it was useful, or remember what was left out   c correct   d forget

Nothing is lost without a question, and everything but a dropped text can be taken back.
What a memory says is shown as text: escapes, markup and links in it do nothing."""


class Browser(App[None]):
    """The memories of a store. Closes the daemon's connections when it ends."""

    ENABLE_COMMAND_PALETTE = False  # it would offer a screenshot as a file that anyone may read
    TITLE = "mnemonctl browse"
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - declared so by the library
        (0, "-narrow"),
        (100, "-wide"),
    ]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1,question_mark", "help", "Help", key_display="?"),
        Binding("z", "take_back", "Undo last"),
        Binding("r", "load", "Reload"),
        Binding("L", "colours", "Light/dark", show=False),
        Binding("q", "quit", "Quit"),
        *(
            Binding(str(at), f"go('{name}')", title, show=False)
            for at, (name, (title, _)) in enumerate(PANES.items(), 1)
        ),
    ]
    CSS = """
    TabbedContent { height: 1fr; }
    ContentSwitcher { height: 1fr; }
    TabPane { padding: 0; height: 1fr; }
    Pane { height: 1fr; }
    Line, Ask Input { height: 1; border: none; padding: 0 1; background: $boost; }
    .summary { height: 1; padding: 0 1; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
    .split { layout: vertical; height: 1fr; }
    .split OptionList { height: 1fr; border: none; padding: 0; text-wrap: nowrap; text-overflow: ellipsis; }
    .split .preview { height: 1fr; padding: 0 1; scrollbar-size-vertical: 1; border-top: solid $primary; }
    .split .preview:focus { border-top: heavy $accent; }
    .-wide .split { layout: horizontal; }
    .-wide .split OptionList { width: 1fr; height: 1fr; }
    .-wide .split .preview { width: 1fr; border-top: none; border-left: solid $primary; }
    .-wide .split .preview:focus { border-left: heavy $accent; }
    .preview Static { height: auto; }
    #status { height: auto; max-height: 3; padding: 0 1; background: $panel; }
    #status.error { background: $error; color: $text; }
    Confirm, Choose, Ask, Edit, Help { align: center middle; }
    .dialog { width: 90%; max-width: 84; height: auto; max-height: 95%; padding: 0 1; background: $surface;
              border: solid $primary; }
    .dialog .title { text-style: bold; height: auto; max-height: 3; }
    .dialog .text { height: auto; max-height: 12; }
    .dialog OptionList { height: auto; max-height: 8; }
    .dialog .buttons { height: 3; }
    .dialog Button { margin: 0 1 0 0; }
    .dialog.edit { height: 95%; }
    .dialog.edit Editor { height: 1fr; min-height: 3; }
    .dialog .field { height: 1; }
    .dialog .field Label { width: 12; }
    .dialog .field Line { width: 1fr; }
    .dialog .note { height: auto; max-height: 3; color: $warning; }
    .dialog .keys { height: 1; color: $text-muted; }
    .dialog.help { height: 90%; }
    .dialog.help .text { height: 1fr; max-height: 100%; }
    .-narrow .dialog { width: 100%; max-height: 100%; }
    .-narrow .dialog .text { max-height: 6; }
    .-narrow .dialog.help { height: 100%; }
    .-narrow .dialog.help .text { max-height: 100%; }
    """

    def __init__(self, daemon: Daemon, *, light: bool = False) -> None:
        super().__init__()
        self.daemon = daemon
        self.theme = LIGHT if light else DARK
        self.changes: list[str] = []
        """Operations that were made here and not taken back, the last one at the end."""
        self.is_away = False
        """The daemon did not answer the last call."""
        self._acting = False

    def compose(self) -> ComposeResult:
        """Yield the widgets."""
        with TabbedContent(*(title for title, _ in PANES.values()), initial="reviews-tab"):
            for name, (title, pane) in PANES.items():
                with TabPane(title, id=f"{name}-tab"):
                    yield pane(id=name)
        yield Static("", id="status", markup=False)
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Look for a daemon that went away, from time to time."""
        self.set_interval(RETRY_S, self._retry)

    def on_unmount(self) -> None:
        """Leave the daemon."""
        self.daemon.close()

    @property
    def pane(self) -> Pane[Any]:
        """The pane that is shown."""
        active = self.screen_stack[0].query_one(TabbedContent).active
        return self.screen_stack[0].query_one(f"#{active.removesuffix('-tab')}", Pane)

    @on(TabbedContent.TabActivated)
    def show(self) -> None:
        """Show another pane."""
        if not self.screen_stack:  # the application was left while this was on its way
            return
        if not self.is_away:
            self.say("")
        self.pane.activate()

    # What panes need.

    def report(self, error: MnemonError) -> None:
        """Show an error until the daemon answers again."""
        self.is_away = is_absence(error)
        hint = "r starts it; it is looked for meanwhile" if isinstance(error, rpc.NotRunningError) else error.hint or ""
        self.say(f"{error.message}\n{hint}", is_error=True)

    def reached(self) -> None:
        """The daemon answered."""
        if self.is_away:
            self.is_away = False
            self.say("the daemon answers again")
        elif self.query_one("#status").has_class("error"):
            self.say("")

    def say(self, sentence: str, *, is_error: bool = False) -> None:
        """Show a sentence in the line at the bottom."""
        status = self.screen_stack[0].query_one("#status", Static)
        status.update(plain(sentence.strip()))
        status.set_class(is_error, "error")

    def act(self, action: Callable[[], Coroutine[None, None, None]]) -> None:
        """Run what asks the user or writes, unless another such is under way."""
        if not self._acting:
            self._acting = True
            self._act(action)

    @work(group="act")
    async def _act(self, action: Callable[[], Coroutine[None, None, None]]) -> None:
        try:
            await action()
        except MnemonError as error:
            self.report(error)
        finally:
            self._acting = False

    async def write(
        self, *argv: str, words: tuple[str, ...] = (), stdin: str | None = None, named: bool = True
    ) -> Done:
        """Run a command line, show what came of it, and load the list anew. A failure is a result, too."""
        done = await self.daemon.run(*argv, words=words, stdin=stdin, named=named)
        if done.op_id is not None:
            self.changes.append(done.op_id)
        back = " · z takes it back" if done.op_id is not None else ""
        self.say(f"{done.sentence}{back}", is_error=not done.succeeded)
        if done.succeeded:
            self.pane.reload()
        return done

    def visit(self, pane: str, line: str) -> None:
        """Go to another pane, with a text in its line."""
        self.query_one(f"#{pane}", Pane).query_one(Line).value = line
        self.action_go(pane)

    # Keys.

    def _retry(self) -> None:
        if self.is_away and not self._acting and not self.pane.is_loading:
            self.pane.reload()

    def action_go(self, name: str) -> None:
        """Show a pane."""
        if len(self.screen_stack) == 1:
            self.query_one(TabbedContent).active = f"{name}-tab"

    def action_load(self) -> None:
        """Load anew what is shown; start the daemon if none runs."""
        if len(self.screen_stack) > 1:
            return
        if self.is_away:
            self.act(self._start)
        else:
            self.pane.reload()

    async def _start(self) -> None:
        """Raises MnemonError."""
        self.say("starting the daemon …")
        await self.daemon.start()
        self.pane.reload()

    def action_take_back(self) -> None:
        """Take back the last change that was made here."""
        if len(self.screen_stack) > 1:
            return
        if self.changes:
            self.act(self._take_back)
        else:
            self.say("nothing was changed here yet; History (3) has what was done elsewhere")

    async def _take_back(self) -> None:
        """Raises MnemonError."""
        done = await self.daemon.run("undo", words=(self.changes[-1],))
        self.say(done.sentence, is_error=not done.succeeded)
        self.changes.pop()
        self.pane.reload()

    def action_colours(self) -> None:
        """Change between light and dark."""
        self.theme = DARK if self.theme == LIGHT else LIGHT

    def action_help(self) -> None:
        """Show the keys."""
        if len(self.screen_stack) == 1:
            self.push_screen(Help(KEYS))
