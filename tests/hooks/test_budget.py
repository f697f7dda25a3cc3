"""The budget of a session: the best memories win it, whatever comes first, and none is shown twice."""

from __future__ import annotations

import math
import re
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mnemond.config.hosts import Moment
from mnemond.config.settings import HookSettings
from mnemond.hooks.memory import select
from mnemond.hooks.prompt_text import (
    BRIEF_SHARE,
    NO_PROMPT_TEXT,
    WEAKEST,
    Candidate,
    PromptText,
    bar,
    fit,
    fit_brief,
    render_prompt_memories,
    size,
)
from mnemond.hooks.sessions import AgentSession
from mnemond.model.answers import InsightView, RecallHit, Signals
from mnemond.text.prompt_escape import quarters, token_count
from tests.hooks.factories import SQLITE, WHY, desk, known
from tests.tables import each_row

PROMPTS = 50
SHARES = st.floats(0, 1)


WEAK, LEAST = 0.46, HookSettings().min_probability
"""What just passes, and the least that does."""


def scored(number: int, probability: float, words: int = 12) -> Candidate:
    """A result, some thirty tokens long."""
    when = "2026-02-18T09:00:00.000000Z"
    text = " ".join([f"memory {number}", *["quokka"] * words])
    view = InsightView(
        f"{number:08d}-0000-4000-8000-000000000000", text, "fact", 3, (), (), "user", 0, 0.5, when, when, None, None
    )
    signals = Signals(0.5, 0.0, 0.5, 0.0)
    return Candidate(RecallHit(view, 0.5, "GENERAL", "keyword", ("keyword",), "high", signals), probability)


class Session:
    """Fifty prompts of one session, without a daemon."""

    def __init__(self, settings: HookSettings) -> None:
        self.session, self.settings = AgentSession(), settings
        self.shown: list[Candidate] = []
        self.texts: list[str] = []

    def begins(self, characters: int) -> None:
        """With a brief of so many Latin letters."""
        fitted = fit_brief(
            lambda most: PromptText("x" * min(characters, most), [], []), self.settings, self.session.spent
        )
        self.session.mark_shown([], fitted.tokens)
        self.session.begun = fitted.tokens
        self.texts.append(fitted.rendered.text)

    def asks(self, *found: Candidate) -> list[Candidate]:
        """What one prompt is shown."""
        fitted = fit(
            select(list(found), self.session, self.settings.min_probability),
            lambda them: render_prompt_memories(them, "0123456789abcdef", self.settings.max_characters),
            self.settings,
            self.session.spent,
            self.session.begun,
        )
        self.session.mark_shown([(it.id, it.content) for it in fitted.rendered.shown], fitted.tokens)
        self.shown += fitted.chosen
        self.texts.append(fitted.rendered.text)
        return fitted.chosen

    @property
    def tokens(self) -> int:
        return sum(token_count(quarters(text)) for text in self.texts)


# ---------------------------------------------------------------- the rule


@given(SHARES, SHARES, SHARES)
def test_the_bar_rises_from_the_least_to_one(one: float, other: float, least: float) -> None:
    low, high = sorted((one, other))
    assert least <= bar(low, least) <= bar(high, least) <= 1.0 + 1e-9
    assert bar(0.0, least) == least
    assert bar(1.0, least) == pytest.approx(1.0)


@pytest.mark.parametrize("least", [0.0, 0.45, 0.62])
def test_everything_passes_until_three_tenths_are_used(least: float) -> None:
    until = 1 / (1 + math.log(1 / WEAKEST))
    assert bar(until - 0.01, least) == least < bar(until + 0.01, least)


@given(
    st.lists(st.lists(st.floats(0, 1), max_size=6), max_size=PROMPTS),
    st.integers(0, 6_000),
    st.sampled_from([300, 1_500, 4_000]),
    SHARES,
)
def test_no_session_has_more_than_its_budget(prompts: list[list[float]], brief: int, budget: int, least: float) -> None:
    session = Session(HookSettings(session_tokens=budget, min_probability=least))
    session.begins(brief)
    assert session.tokens <= math.ceil(budget * BRIEF_SHARE)
    for number, strengths in enumerate(prompts):
        session.asks(*(scored(10 * number + place, each) for place, each in enumerate(sorted(strengths, reverse=True))))
    assert session.tokens == session.session.spent <= budget
    assert len({each.hit.insight.id for each in session.shown}) == len(session.shown)


def test_without_a_limit_everything_is_shown() -> None:
    session = Session(HookSettings(session_tokens=0))
    session.begins(6_000)
    assert session.tokens == 600  # of `max_characters`
    assert all(session.asks(scored(number, WEAK)) for number in range(PROMPTS))


# ---------------------------------------------------------------- a session of fifty prompts


def test_weak_memories_that_come_first_leave_room_for_the_best() -> None:
    """Forty prompts with a weak memory each, then ten with an excellent one: a budget that is first come, first served
    would be used up by then."""
    session = Session(HookSettings())
    session.begins(4_000)
    for number in range(40):
        session.asks(scored(number, WEAK))
    weak = len(session.shown)
    for number in range(40, PROMPTS):
        session.asks(scored(number, 0.95))
    best = [each for each in session.shown if each.probability > 0.9]
    assert weak <= 4
    assert len(best) >= 3
    assert session.tokens <= 1_500


def test_excellent_memories_that_come_first_are_all_that_fits() -> None:
    session = Session(HookSettings())
    session.begins(4_000)
    for number in range(PROMPTS):
        session.asks(scored(number, 0.98 if number < 10 else WEAK))
    assert all(each.probability > 0.9 for each in session.shown)
    assert len(session.shown) >= 6


@each_row("seed", range(5))
def test_in_any_order_the_shown_are_better_than_those_left_out(seed: int) -> None:
    chance = Random(seed)
    strengths = [LEAST + (0.98 - LEAST) * chance.random() for _ in range(PROMPTS)]
    session = Session(HookSettings())
    for number, each in enumerate(strengths):
        session.asks(scored(number, each))
    shown = [each.probability for each in session.shown]
    assert sum(shown) / len(shown) > sum(strengths) / len(strengths)


def test_a_compaction_empties_the_budget_and_what_was_shown() -> None:
    session = Session(HookSettings())
    assert session.asks(scored(1, 0.9))
    assert not session.asks(scored(1, 0.9))
    session.session.reset_context()
    assert session.session.spent == 0
    assert session.asks(scored(1, 0.9))


def test_a_memory_that_says_something_else_is_shown_again() -> None:
    session = Session(HookSettings())
    assert session.asks(scored(1, 0.9))
    hit = scored(1, 0.9).hit
    hit = replace(hit, insight=replace(hit.insight, updated_at="2026-03-01T00:00:00.000000Z"))
    assert not session.asks(Candidate(hit, 0.9))
    assert session.asks(scored(1, 0.9, words=13))


async def test_a_daemon_keeps_to_it_over_fifty_prompts(tmp_path: Path) -> None:
    async with desk(tmp_path, HookSettings(session_tokens=600)) as over:
        await known(over)
        for number in range(60):
            await over.remember(f"The quokka station {number} has a leaking roof over its {number % 7} windows")
        said = [await over.at(Moment.SESSION_START, source="startup")]
        said += [await over.asks(f"Which quokka station has roof {number}?") for number in range(PROMPTS)]
        assert sum(token_count(quarters(text)) for text in said) <= 600
        told = [re.findall(r"<ref:(\w{8})", text) for text in said]
        flat = [each for refs in told for each in refs]
        assert len(flat) == len(set(flat)) > 5
        await over.at(Moment.POST_COMPACT, text="They looked at stations.", takes_context=False)
        assert SQLITE in await over.at(Moment.SESSION_START, source="compact")


async def test_what_is_used_stays_used_when_a_session_is_resumed(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await known(over)
        said = await over.at(Moment.SESSION_START, source="startup")
        await over.at(Moment.SESSION_END, takes_context=False)
        assert await over.asks(WHY) == ""
        (session,) = over.daemon._agents.sessions._sessions.values()
        assert session.spent == token_count(quarters(said))


# ---------------------------------------------------------------- parts


def test_a_brief_of_wide_letters_is_cut_to_its_tokens() -> None:
    settings = HookSettings(session_tokens=900)
    fitted = fit_brief(lambda most: PromptText("记" * most, [], []), settings, 0)
    assert 500 < fitted.tokens <= 600
    assert fit_brief(lambda most: PromptText("记" * 4_000, [], []), settings, 0).rendered is NO_PROMPT_TEXT
    assert fit_brief(lambda most: PromptText("记" * most, [], []), settings, 800).tokens <= 100


def test_reasons_of_what_is_not_shown() -> None:
    settings = HookSettings(prompt_results=1, session_tokens=200)

    def refused(spent: int, *found: Candidate, most: int = 4_000) -> list[str]:
        return [
            reason
            for _, reason in fit(
                found, lambda them: render_prompt_memories(them, "0" * 16, most), settings, spent
            ).refused
        ]

    assert refused(0, scored(1, 0.9), scored(2, 0.8)) == ["1 others come first"]
    assert refused(120, scored(1, 0.6)) == [
        "probability 0.60; what is left of the session's budget is for 0.95 and more"
    ]
    assert refused(180, scored(1, 1.0)) == ["no room in the session's budget"]
    assert refused(0, scored(1, 0.9), most=100) == ["no room in hooks.max_characters"]
    assert size(NO_PROMPT_TEXT) == 0


def test_what_is_told_beside_a_surer_memory_is_told_with_it_alone() -> None:
    session = Session(HookSettings())
    beside = scored(2, 0.6 * LEAST)
    assert not session.asks(beside)
    assert session.asks(scored(1, 0.9), beside) == [scored(1, 0.9), beside]
    assert not session.asks(scored(1, 0.9), scored(3, 0.6 * LEAST)), "the surer one was shown before"


def test_what_is_told_beside_another_is_not_told_once_room_is_scarce() -> None:
    session = Session(HookSettings(session_tokens=600))
    while len(session.asks(scored(len(session.texts), 0.99), scored(100 + len(session.texts), 0.6 * LEAST))) == 2:
        assert len(session.texts) < PROMPTS
    assert session.shown[-1].probability == 0.99
    assert session.tokens < 400


async def test_a_resumed_prompt_is_asked_as_before(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await known(over)
        assert SQLITE in await over.asks(WHY)
        assert await over.asks(WHY) == ""
