"""Operations, names, timelines, jobs and recall in the browser."""

from __future__ import annotations

import pytest

from mnemonctl.browse.calls import Daemon
from mnemonctl.browse.recall import BAR, bar, explain
from mnemonctl.client import Client
from mnemond.cli.output import Style
from mnemond.model.answers import Explanation, InsightView, PathStep, RecallHit, Signals, Unasked
from tests.browse.screens import Session, browse
from tests.tables import each_row


def active(client: Client) -> int:
    """How many memories are in recall."""
    return client.status().total_insights


@pytest.mark.check_all
def test_an_operation_of_another_program_is_taken_back(client: Client, daemon: Daemon) -> None:
    client.remember(content="The office opens at nine")
    client.remember(content="Deploys go out on Thursdays")

    async def play(user: Session) -> None:
        await user.go("history")
        await user.until("2 writes, newest first", "The office opens", "Deploys go out", "remembered")
        await user.select("The office opens")
        await user.press("u")
        await user.until("Take back remember of", "all that it did?")
        await user.press("n")
        await user.until("2 writes", without="all that it did?")
        assert active(client) == 2
        await user.press("u")
        await user.until("all that it did?")
        await user.press("y")
        await user.until("Took back: remember", "3 writes")

    browse(daemon, play)
    assert active(client) == 1


@pytest.mark.check_all
def test_an_operation_that_cannot_be_taken_back_says_why(client: Client, daemon: Daemon) -> None:
    made = client.remember(content="The office opens at nine")
    assert made.id is not None
    client.update(id=made.id, importance=5)

    async def play(user: Session) -> None:
        await user.go("history")
        await user.until("2 writes")
        await user.press("down", "u")
        await user.until("all that it did?")
        await user.press("y")
        await user.until("was changed again")

    browse(daemon, play)
    assert active(client) == 1


@pytest.mark.check_all
def test_a_purged_memory_has_no_words_in_the_history(client: Client, daemon: Daemon) -> None:
    made = client.remember(content="The office opens at nine")
    assert made.id is not None
    client.forget(id=made.id, purge=True)

    async def play(user: Session) -> None:
        await user.go("history")
        await user.until("purged", "purged: nothing of it is", without="office")

    browse(daemon, play)


@pytest.mark.check_all
def test_names_their_page_and_their_timeline(client: Client, daemon: Daemon) -> None:
    client.relations.add(source="Ana", type="works_at", target="Acme", since="2024-03")
    client.remember(content="Ana Silva likes tea")

    async def play(user: Session) -> None:
        await user.go("entities")
        await user.until("names:", "Acme", "Ana Silva")
        await user.ask("acm")
        await user.until("Acme", "Ana works_at Acme", without="Silva")
        await user.press("t")
        await user.until("Acme: 1 event, in the order of time", "2024-03", "began", "Ana works_at Acme")
        await user.ask("Ana Silva")
        await user.until("Ana Silva likes tea", "relation")
        await user.press("down")
        await user.until("effective importance")
        await user.press("d")
        await user.until("out of recall?")
        await user.press("y")
        await user.until("Forgot", "z takes it back")
        await user.ask("Nobody")
        await user.until("names 'Nobody'", without="Ana Silva:")

    browse(daemon, play)
    assert active(client) == 0


@pytest.mark.check_all
def test_a_merge_of_names_waits_for_a_person_at_a_terminal_or_a_review(client: Client, daemon: Daemon) -> None:
    client.relations.add(source="Ana", type="uses", target="Vim")
    client.relations.add(source="Anita", type="uses", target="Emacs")

    async def play(user: Session) -> None:
        await user.go("entities")
        await user.until("Anita")
        await user.select("Anita")
        await user.press("m")
        await user.until("Which name is another name of it?")
        await user.type("Ana")
        await user.press("enter")
        await user.until("Merge Anita and Ana?", "Would be so")
        await user.press("y")
        await user.until("Asked whether", "1 pair may be one")  # there is no terminal here
        await user.go("reviews")
        await user.until("1 pair of names", "Anita")

    browse(daemon, play)
    assert client.reviews().names == 1


@pytest.mark.check_all
def test_names_are_separated(client: Client, daemon: Daemon) -> None:
    client.relations.add(source="Ana", type="uses", target="Vim")
    client.entity.alias(name="Ana", other="Anita")

    async def play(user: Session) -> None:
        await user.go("entities")
        await user.until("Ana (also Anita)")
        await user.select("Ana (also Anita)")
        await user.press("s")
        await user.until("Which name is of another thing? It is also called Anita.")
        await user.type("Anita")
        await user.press("enter")
        await user.until("Split Ana and Anita?")
        await user.press("y")
        await user.until("Ana and Anita are two", without="also Anita")
        await user.press("s", "escape")
        await user.until("Ana and Anita are two", without="Which name")

    browse(daemon, play)


@pytest.mark.check_all
def test_a_job_runs_after_a_question(client: Client, daemon: Daemon) -> None:
    client.remember(content="The office opens at nine")

    async def play(user: Session) -> None:
        await user.go("jobs")
        await user.until("jobs of store", "decay_refresh")
        at = next(at for at, row in enumerate(user.app.pane.page.rows) if row.key == "decay_refresh")
        user.app.pane.rows.highlighted = at
        await user.press("g")
        await user.until("Run decay_refresh now?")
        await user.press("y")
        screen = await user.until("decay_refresh ", without="Run decay_refresh now?")
        assert "never ran" in screen  # other jobs

    browse(daemon, play)
    (job,) = (it for it in client.jobs.list().jobs if it.name == "decay_refresh")
    assert job.last_run is not None


@pytest.mark.check_all
def test_recall_shows_its_reasons_and_counts_as_no_use(client: Client, daemon: Daemon) -> None:
    made = client.remember(content="We chose SQLite because the team lacks Redis experience", category="decision")
    client.remember(content="The office opens at nine")
    assert made.id is not None

    async def play(user: Session) -> None:
        await user.go("recall")
        await user.until("type a question")
        await user.type("why SQLite")
        await user.press("enter")
        screen = await user.until("1 memory in", "intent why", "signals", "keyword", "made of", "█", "confidence high")
        assert "We chose SQLite because" in screen
        await user.press("e")
        await user.until("Ctrl+S saves")
        await user.press("escape")
        await user.ask("zebra")
        await user.until("nothing was found")

    browse(daemon, play)
    assert client.get(id=made.id).insight.access_count == 0


@each_row(("share", "cells", "last"), [(0, 0, ""), (1, BAR, "█"), (2, BAR, "█"), (-1, 0, ""), (0.5, BAR // 2, "█")])
def test_bars(share: float, cells: int, last: str) -> None:
    shown = bar(share)
    assert len(shown) == BAR
    assert shown.rstrip() == last * cells


def test_a_bar_grows_by_eighths_of_a_cell() -> None:
    assert [bar(at / (8 * BAR)).rstrip() for at in range(10)] == ["", *"▏▎▍▌▋▊▉█", "█▏"]


def test_every_reason_of_a_result_is_named() -> None:
    insight = InsightView(
        "aaa00000-0", "We chose SQLite", "decision", 4, (), (), "user", 0, 0.5, "2026-02-01T10:00:00Z",
        "2026-02-01T10:00:00Z", None, None,
    )  # fmt: skip
    hit = RecallHit(
        insight, 0.7, "WHY", "causal", (), "medium", Signals(0.1, 0.2, 0.3, 1.0),
        path=(PathStep("bbb00000-0", "causal", 0.8),), also=("ccc00000-0",), first_score=0.6,
        explanation=Explanation(
            {"words": -0.5}, ("words +0.1",), cue="why [b]SQL", unasked=Unasked(0.6, {"wording": 0.9})
        ),
        contradicts=("ddd00000-0",),
    )  # fmt: skip
    shown = explain(hit, Style(columns=100))
    for line in (
        "score .70, confidence medium, found by causal", ".60 before the second look", "█  1.00", "█  -0.50",
        "reached bbb00000 -causal .80-> here", 'found by its cue "why [b]SQL"', "above the next best by words +0.1",
        "a prompt needs it with probability .60: wording +0.90", "may contradict ddd00000",
        "the same in 1 other memory: ccc00000",
    ):  # fmt: skip
        assert line in shown
    assert "prior" not in shown
