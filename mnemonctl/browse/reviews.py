"""The pane of reviews: pairs and texts that wait for a decision, and the decisions that each accepts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Final

from textual.binding import Binding, BindingType

from mnemonctl.browse.calls import Done
from mnemonctl.browse.dialogs import Choose, Edit, Edited
from mnemonctl.browse.widgets import PAGE, Page, Pane, Row
from mnemonctl.client import Client
from mnemond.api.types_changes import HeldTextView, ReviewedMemory, ReviewView
from mnemond.cli.output import Style, body, day, lines, neutralise, note, one_line, second, short_id
from mnemond.model.reviews import ACCEPTED, OF_TEXTS, Resolution

Waiting = ReviewView | HeldTextView

MAX_LISTED: Final = 1_000
"""Reviews that the daemon lists; so many never wait."""

MEANINGS: Final[Mapping[Resolution, str]] = {
    "SUPERSEDE": "the newer one holds, the older leaves recall",
    "MERGE": "they become one memory; the text can be changed first",
    "DUPLICATE": "they say the same, the newer leaves recall",
    "COEXIST": "both hold",
    "LINK": "both hold and are linked as proposed",
    "KEEP": "it becomes a memory; the text can be changed first",
    "DROP": "it does not become a memory, and is deleted",
}

OF_NAMES: Final[Mapping[Resolution, str]] = {
    "MERGE": "they are of one thing: the second becomes a name of the first",
    "COEXIST": "they are of two things, which is remembered",
}


def answers(it: Waiting) -> tuple[Resolution, ...]:
    """Return the decisions that a review accepts."""
    return OF_TEXTS if isinstance(it, HeldTextView) else ACCEPTED[it.kind]


class ReviewsPane(Pane[Waiting]):
    """Pairs and texts that wait for a decision, the oldest first; or those decided, the newest first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "answer", "Decide"),
        Binding("x", "decided", "Waiting/decided"),
    ]
    nothing = "nothing waits for a decision"

    def __init__(self, *, id: str) -> None:  # noqa: A002 - the library's name
        super().__init__(id=id)
        self._decided = False

    def fetch(self) -> Callable[[Client], Page[Waiting]]:
        """Ask for a page of reviews."""
        decided, begin = self._decided, self.number * PAGE

        def ask(client: Client) -> Page[Waiting]:
            found = client.reviews(limit=min(begin + PAGE + 1, MAX_LISTED), decided=decided)
            every: list[Waiting] = [*found.reviews, *found.texts]
            if decided:
                summary = "decided lately, the last one first"
            else:
                counted = (
                    (found.total, "pair of memories"), (found.links, "link"), (found.names, "pair of names"),
                    (found.texts_total, "text of orders"),
                )  # fmt: skip
                waiting = ", ".join(f"{count:,} {what}" for count, what in counted if count)
                summary = f"to decide: {waiting}; all stays as it is meanwhile" if waiting else "nothing to decide"
            return Page([_row(it) for it in every[begin : begin + PAGE]], summary, more=len(every) > begin + PAGE)

        return ask

    def describe(self, item: Waiting, style: Style) -> Callable[[Client], str]:
        """Show both sides of a review; what is needed is there already."""
        return lambda _: describe_review(item, style)

    def action_decided(self) -> None:
        """Show what was decided, or what waits."""
        self._decided = not self._decided
        self.number = 0
        self.nothing = "nothing was decided lately" if self._decided else ReviewsPane.nothing
        self.reload()

    def action_answer(self) -> None:
        """Decide about what is selected."""
        it = self.selected
        if it is not None and it.resolved_at is None:
            self.browser.act(lambda: self._answer(it))

    async def _answer(self, it: Waiting) -> None:
        meanings = {**MEANINGS, **(OF_NAMES if isinstance(it, ReviewView) and it.kind == "names" else {})}
        choices = [(answer, meanings[answer]) for answer in answers(it)]
        details = describe_review(it, Style(columns=60))
        answer = await self.app.push_screen_wait(Choose(f"Review {it.id}", details, choices))
        if answer is None:
            return
        text = _text(it, answer)
        if text is None:
            await self.browser.write("resolve", f"--as={answer}", words=(str(it.id),))
            return
        before = Edited(neutralise(text), {})

        async def save(after: Edited) -> Done:
            if after == before and not _needs_text(it, answer):
                return await self.browser.write("resolve", f"--as={answer}", words=(str(it.id),))
            argv = ("resolve", f"--as={answer}", "--content", "-")
            return await self.browser.write(*argv, words=(str(it.id),), stdin=after.text)

        await self.app.push_screen_wait(Edit(f"{answer}: the text of the memory", before, save))


def _text(it: Waiting, answer: str) -> str | None:
    """Return the text to begin with where the answer may have one."""
    if isinstance(it, HeldTextView):
        return it.content if answer == "KEEP" else None
    if answer != "MERGE" or it.kind == "names":
        return None
    return it.preview if it.preview is not None else f"{it.older.content}\n{it.newer.content}"


def _needs_text(it: Waiting, answer: str) -> bool:
    """Return True for a merge of two memories whose common text does not follow from theirs."""
    return answer == "MERGE" and isinstance(it, ReviewView) and it.preview is None


def _row(it: Waiting) -> Row[Waiting]:
    until = f"{one_line(it.resolution or '?')}  " if it.resolved_at else f"until {day(it.expires_at)}  "
    asks = "orders" if isinstance(it, HeldTextView) else one_line(it.kind)
    head, brief = f"{it.id:>4}  {asks:<8}  {until}", f"{it.id:>4}  {asks:<8}  "
    if isinstance(it, HeldTextView):
        return Row(f"text {it.id}", head, brief, it.content or "(the text is gone)", it)
    return Row(f"pair {it.id}", head, brief, f"{it.older.content}  ⇄  {it.newer.content}", it)


def describe_review(it: Waiting, style: Style) -> str:
    """Return a review in full: both sides, why it is asked, and what was or may be decided."""
    if it.resolved_at is None:
        state = f"waits until {second(it.expires_at)}"
    else:
        state = f"{one_line(it.resolution or '?')} by {one_line(it.by or '?')}, {second(it.resolved_at)}"
    if isinstance(it, HeldTextView):
        return lines(
            f"Text {it.id}: no memory, unconfirmed, not recalled; {state}", "",
            body(it.content or "(the text is gone)", style, "  "), "",
            note(f"said {second(it.said_at)}: {it.reason}", style),
        )  # fmt: skip
    asks = f"; suggested: {one_line(it.suggestion)}" if it.resolved_at is None else ""
    return lines(
        f"Review {it.id}: {state}{asks}", note(f"{it.reason} (similarity {it.similarity:.2f})", style), "",
        *_side("older", it.older, it, style), "", *_side("newer", it.newer, it, style),
        *(("", "merged they would say", body(it.preview, style, "  ")) if it.preview is not None else ()),
    )  # fmt: skip


def _side(which: str, it: ReviewedMemory, review: ReviewView, style: Style) -> list[str]:
    if review.kind == "names":
        return [body(f"{it.content}  ({it.category})", style, "")]
    if review.link is not None and review.link.edge_type == "causal":
        which = "cause" if it.id == review.link.source else "effect"
    state = "purged" if it.status is None else one_line(it.status)
    head = f"{which}  {short_id(it.id)}  {second(it.created_at)}  {one_line(it.category)}  {state}"
    return [note(f"{head}  from {it.source}", style), body(it.content, style, "  ")]
