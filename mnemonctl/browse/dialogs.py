"""Dialogs: confirm, choose, type a line, edit a text, read a page of help."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar

import msgspec
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Label, OptionList, Static
from textual.widgets.option_list import Option

from mnemonctl.browse.calls import Done
from mnemonctl.browse.widgets import Editor, Line, plain
from mnemond.errors import MnemonError


class Confirm(ModalScreen[bool]):
    """A question about something that would be lost. Only `y` and the button mean yes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes"),
        Binding("n,escape", "answer(False)", "No"),
    ]

    def __init__(self, question: str, details: str = "", yes: str = "Yes") -> None:
        super().__init__()
        self._question, self._details, self._yes = question, details, yes

    def compose(self) -> ComposeResult:
        """Yield the widgets."""
        with Vertical(classes="dialog"):
            yield Static(plain(self._question), classes="title", markup=False)
            with VerticalScroll(classes="text"):
                yield Static(plain(self._details), markup=False)
            with Horizontal(classes="buttons"):
                yield Button("No (n)", id="no")
                yield Button(f"{self._yes} (y)", id="yes", variant="error")

    def on_mount(self) -> None:
        """Enter means no."""
        self.query_one("#no").focus()

    @on(Button.Pressed)
    def press(self, event: Button.Pressed) -> None:
        """Answer."""
        self.dismiss(event.button.id == "yes")

    def action_answer(self, yes: bool) -> None:
        """Answer."""
        self.dismiss(yes)


class Choose(ModalScreen[str | None]):
    """One of several answers, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back")]

    def __init__(self, question: str, details: str, choices: Sequence[tuple[str, str]]) -> None:
        """`choices`: answers, and what each means."""
        super().__init__()
        self._question, self._details, self._choices = question, details, choices

    def compose(self) -> ComposeResult:
        """Yield the widgets."""
        with Vertical(classes="dialog"):
            yield Static(plain(self._question), classes="title", markup=False)
            with VerticalScroll(classes="text"):
                yield Static(plain(self._details), markup=False)
            yield OptionList(
                *(Option(plain(f"{answer}  {text}"), id=answer) for answer, text in self._choices), markup=False
            )

    def on_mount(self) -> None:
        """Give the keys to the answers."""
        self.query_one(OptionList).focus()

    @on(OptionList.OptionSelected)
    def choose(self, event: OptionList.OptionSelected) -> None:
        """Answer."""
        event.stop()
        self.dismiss(event.option.id)

    def action_leave(self) -> None:
        """Answer nothing."""
        self.dismiss(None)


class Ask(ModalScreen[str | None]):
    """A line of text, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back")]

    def __init__(self, question: str, placeholder: str) -> None:
        super().__init__()
        self._question, self._placeholder = question, placeholder

    def compose(self) -> ComposeResult:
        """Yield the widgets."""
        with Vertical(classes="dialog"):
            yield Static(plain(self._question), classes="title", markup=False)
            yield Input(placeholder=self._placeholder, max_length=1_000)

    @on(Input.Submitted)
    def submit(self, event: Input.Submitted) -> None:
        """Answer, unless nothing was typed."""
        event.stop()
        self.dismiss(event.value.strip() or None)

    def action_leave(self) -> None:
        """Answer nothing."""
        self.dismiss(None)


class Edited(msgspec.Struct, frozen=True):
    """A text and its fields as they were typed."""

    text: str
    fields: dict[str, str]


class Edit(ModalScreen[bool]):
    """A text and further fields to change. `save` is called with them; while it fails the dialog stays, so that nothing
    typed is lost. True once it was saved."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "Save"),
        Binding("escape", "leave", "Back"),
    ]

    def __init__(self, title: str, before: Edited, save: Callable[[Edited], Awaitable[Done]], note: str = "") -> None:
        """`before`: what is there; unsafe characters of it are visible escapes already."""
        super().__init__()
        self._title, self._before, self._save, self._note = title, before, save, note
        self._warned = False
        self._is_saving = False

    def compose(self) -> ComposeResult:
        """Yield the widgets."""
        with Vertical(classes="dialog edit"):
            yield Static(plain(self._title), classes="title", markup=False)
            yield Editor(self._before.text, soft_wrap=True, tab_behavior="focus")
            for name, value in self._before.fields.items():
                with Horizontal(classes="field"):
                    yield Label(name)
                    yield Line(value, id=name, max_length=4_000)
            yield Static(plain(self._note), classes="note", markup=False)
            yield Static("Ctrl+S saves · Tab goes on · Esc goes back", classes="keys", markup=False)

    def on_mount(self) -> None:
        """Give the keys to the text."""
        self.query_one(Editor).focus()

    @property
    def edited(self) -> Edited:
        """The text and the fields as they are now."""
        return Edited(
            self.query_one(Editor).text, {name: self.query_one(f"#{name}", Line).value for name in self._before.fields}
        )

    def action_save(self) -> None:
        """Save."""
        if not self._is_saving:
            self._is_saving = True
            self._saved()

    @work(group="save")
    async def _saved(self) -> None:
        try:
            done = await self._save(self.edited)
        except MnemonError as error:
            self._say(f"{error.message} {error.hint or ''}")
        else:
            if done.succeeded:
                self.dismiss(True)
            else:
                self._say(done.sentence)
        finally:
            self._is_saving = False

    def action_leave(self) -> None:
        """Leave; what was typed is dropped at the second time."""
        if self.edited != self._before and not self._warned:
            self._warned = True
            self._say("Esc once more drops what you typed; Ctrl+S saves it")
            return
        self.dismiss(False)

    def _say(self, sentence: str) -> None:
        self.query_one(".note", Static).update(plain(sentence))


class Help(ModalScreen[None]):
    """A page about the keys."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,f1,question_mark", "leave", "Back")]

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        """Yield the widgets."""
        with Vertical(classes="dialog help"), VerticalScroll(classes="text"):
            yield Static(plain(self._text), markup=False)

    def on_mount(self) -> None:
        """Let the keys scroll."""
        self.query_one(VerticalScroll).focus()

    def action_leave(self) -> None:
        """Leave."""
        self.dismiss(None)
