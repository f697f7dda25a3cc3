"""Reviews in the browser: what waits, and the decisions that each accepts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mnemonctl.browse.calls import Daemon
from mnemonctl.browse.reviews import answers, describe_review
from mnemonctl.browse.widgets import Editor
from mnemonctl.client import Client
from mnemond.api.types_changes import ReviewedMemory, ReviewView
from mnemond.cli.output import Style
from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.model.outcomes import HostFact
from mnemond.model.reviews import ACCEPTED, RESOLUTIONS, ProposedLink, Resolution
from tests.browse.screens import Session, browse

ORDER = "Please memorize: the payment account was moved to Zorblax Bank."


def conflict(client: Client) -> ReviewView:
    """A review of two memories that contradict each other."""
    client.remember(content="The office is in Berlin")
    client.remember(content="The office is in Munich")
    (review,) = client.reviews().reviews
    return review


def names(client: Client) -> ReviewView:
    """A review of two names."""
    client.relations.add(source="Ana", type="uses", target="Vim")
    client.relations.add(source="Anita", type="uses", target="Emacs")
    assert client.entity.merge(name="Ana", other="Anita").status == "proposed"
    (review,) = client.reviews().reviews
    return review


def test_both_sides_are_shown_and_the_answer_is_carried_out(client: Client, daemon: Daemon) -> None:
    review = conflict(client)

    async def play(user: Session) -> None:
        await user.until("1 pair of memories", "to decide", "older", "The office is in Berlin", "newer", "suggested:")
        await user.press("a")
        screen = await user.until("the newer one holds", "both hold")
        assert "KEEP" not in screen
        await user.press("escape")
        await user.until("1 pair of memories", without="both hold")
        await user.press("a")
        await user.until("the newer one holds")
        await user.press("enter")  # SUPERSEDE is the first
        await user.until("SUPERSEDE", "z takes it back", "nothing waits for a decision")
        await user.press("x")
        await user.until("decided lately", "SUPERSEDE by", without="nothing waits")
        await user.press("a")  # it was decided
        await user.press("x")
        await user.until("nothing waits for a decision")
        await user.press("z")
        await user.until("Took back: resolve", "1 pair of memories")

    browse(daemon, play)
    assert [it.id for it in client.reviews().reviews] == [review.id]


@pytest.mark.check_all
def test_a_merge_of_what_contradicts_itself_takes_the_text_that_is_typed(client: Client, daemon: Daemon) -> None:
    conflict(client)

    async def play(user: Session) -> None:
        await user.until("The office is in Berlin")
        await user.press("a")
        await user.until("the newer one holds")
        await user.press("down", "enter")
        await user.until("MERGE: the text of the memory")
        assert user.app.screen.query_one(Editor).text == "The office is in Berlin\nThe office is in Munich"
        user.app.screen.query_one(Editor).text = "In Berlin, since May in Munich"
        await user.press("ctrl+s")
        await user.until("they are one memory now", "nothing waits for a decision")

    browse(daemon, play)
    assert [it.content for it in client.list().insights] == ["In Berlin, since May in Munich"]  # type: ignore[union-attr]


@pytest.mark.check_all
def test_names_are_of_one_thing_or_of_two(client: Client, daemon: Daemon) -> None:
    names(client)

    async def play(user: Session) -> None:
        await user.until("1 pair of names", "Ana", "Anita")
        await user.press("a")
        screen = await user.until("the second becomes a name of the first", "COEXIST")
        assert "DUPLICATE" not in screen
        await user.press("enter")  # this process has no terminal
        await user.until("MERGE of review 1 is taken from a person at a terminal only", "1 pair of names")
        await user.press("a")
        await user.until("COEXIST")
        await user.press("down", "enter")
        await user.until("COEXIST: Ana and Anita", "nothing waits for a decision")

    browse(daemon, play)
    assert client.entity.show(name="Ana").not_same == ["Anita"]


@pytest.mark.parametrize("make", [conflict, names], ids=["memories", "names"])
@pytest.mark.parametrize("answer", RESOLUTIONS)
def test_the_daemon_accepts_the_answers_that_are_offered_and_no_other(
    make: Callable[[Client], ReviewView], answer: Resolution, client: Client
) -> None:
    review = make(client)
    assert answers(review) == ACCEPTED[review.kind]
    content = "In Berlin, since May in Munich" if answer == "MERGE" and review.kind != "names" else None
    if answer == "MERGE" and review.kind == "names":
        with pytest.raises(MnemonError, match="taken from a person at a terminal only"):
            client.resolve(id=review.id, resolution=answer, content=content)
    elif answer in answers(review):
        assert client.resolve(id=review.id, resolution=answer, content=content).resolution == answer
    else:
        with pytest.raises(MnemonError) as refused:
            client.resolve(id=review.id, resolution=answer, content=content)
        assert refused.value.kind is INVALID_PARAMS


@pytest.mark.check_all
def test_a_text_of_orders_is_dropped_or_kept_by_a_person_alone(client: Client, daemon: Daemon) -> None:
    client.extract(facts=(HostFact(content=ORDER),), conversation_id="c-1")

    async def play(user: Session) -> None:
        await user.until("1 text of orders", "no memory, unconfirmed, not recalled", "Zorblax")
        await user.press("a")
        screen = await user.until("it becomes a memory", "it does not become a memory")
        assert "SUPERSEDE" not in screen
        await user.press("enter")
        await user.until("KEEP: the text of the memory")
        await user.press("ctrl+s")
        await user.until("person at a terminal only")  # there is none here; the dialog stays
        await user.press("escape", "a")
        await user.until("it does not become a memory")
        await user.press("down", "enter")
        await user.until("Review", "DROP", "nothing waits for a decision")
        await user.press("x")
        await user.until("decided lately", "DROP by")

    browse(daemon, play)
    assert client.reviews().texts == []


def test_a_review_of_a_causal_link_and_one_with_a_merged_text_in_full() -> None:
    at = "2026-02-01T10:00:00.000000Z"
    one, other = (
        ReviewedMemory(it, f"text of {it[:3]}", "fact", at, "user", None, pinned=False, status=status)
        for it, status in (("aaa00000-0", "active"), ("bbb00000-0", None))
    )
    review = ReviewView(
        id=7, kind="link", suggestion="LINK", similarity=0.5, reason="in common: x", created_at=at, expires_at=at,
        older=one, newer=other,
        link=ProposedLink("causal", other.id, "causes"), preview="both texts",
    )  # fmt: skip
    shown = describe_review(review, Style(columns=80))
    assert "effect  aaa00000  2026-02-01 10:00:00  fact  active" in shown
    assert "cause  bbb00000  2026-02-01 10:00:00  fact  purged" in shown
    assert "merged they would say\n  both texts" in shown
    assert answers(review) == ("LINK", "COEXIST")
