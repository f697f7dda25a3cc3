"""What is known of sessions is bounded, and the same event is heard once."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import structs

from mnemond.config.hosts import Host, Moment
from mnemond.hooks import sessions
from mnemond.hooks.sessions import MAX_EVENTS, MAX_SESSIONS, MAX_SHOWN, REPEAT_S, AgentSession, AgentSessions
from mnemond.wire.hook_payload import HookEvent
from tests.tables import each_row


class Stopwatch:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def event(moment: Moment = Moment.PROMPT, **fields: Any) -> HookEvent:
    return HookEvent(**{"host": Host.CLAUDE_CODE, "moment": moment, "session": "s", "text": "why?", **fields})


@each_row(
    ("first", "second", "new_at_once", "new_later"),
    [
        (event(turn="1"), event(turn="1"), False, False),
        (event(turn="1"), event(turn="1", host=Host.CURSOR), False, False),
        (event(turn="1"), event(turn="2"), True, True),
        (event(turn="1"), event(turn="1", session="t"), True, True),
        (event(), event(), False, True),
        (event(), event(text="how?"), True, True),
        (event(Moment.ASSISTANT_DONE, turn="1"), event(Moment.ASSISTANT_DONE, turn="1"), False, False),
        (event(Moment.ASSISTANT_DONE, turn="1"), event(Moment.ASSISTANT_DONE, turn="1", text="more"), True, True),
        (event(Moment.SESSION_START, turn="1"), event(Moment.SESSION_START, turn="1", source="x"), False, True),
        (event(Moment.SESSION_START), event(Moment.PROMPT), True, True),
        (event(Moment.SESSION_START), event(Moment.SESSION_START, source="compact"), True, True),
        (event(session="", cwd="/a"), event(session="", cwd="/b"), True, True),
        (event(session="", cwd="/a"), event(session="", cwd="/a"), False, True),
    ],
)
def test_what_comes_twice(first: HookEvent, second: HookEvent, new_at_once: bool, new_later: bool) -> None:
    for seconds, new in ((REPEAT_S - 0.1, new_at_once), (REPEAT_S + 0.1, new_later)):
        stopwatch = Stopwatch()
        sessions = AgentSessions(stopwatch)
        assert sessions.is_new(first)
        stopwatch.now += seconds
        assert sessions.is_new(second) is new


def test_the_same_words_are_new_behind_other_words_of_the_session() -> None:
    """Two hosts call for each event; a turn takes a second."""
    stopwatch = Stopwatch()
    sessions = AgentSessions(stopwatch)
    for text in ("why?", "off the record", "why?", "off the record"):
        for one in (event(text=text), event(Moment.ASSISTANT_DONE, text="Done.")):
            assert [sessions.is_new(structs.replace(one, host=host)) for host in (Host.CODEX, Host.CURSOR)] == [
                True,
                False,
            ]
            stopwatch.now += 0.5


def test_what_nothing_came_of_is_new_again() -> None:
    sessions = AgentSessions(Stopwatch())
    assert sessions.is_new(event(turn="1"))
    sessions.forget_event(event(turn="1"))
    assert sessions.is_new(event(turn="1"))
    sessions.forget_event(event(turn="never heard"))


def test_nothing_grows_without_end() -> None:
    sessions = AgentSessions(Stopwatch())
    for number in range(MAX_EVENTS + 500):
        one = event(session=f"s{number}", turn=str(number))
        assert sessions.is_new(one)
        sessions.of(one).set_prompt("x" * 1_000_000)
    assert len(sessions) == MAX_SESSIONS
    assert len(sessions._events) == MAX_EVENTS
    assert len(sessions.of(one).prompt) <= 32_000
    assert sessions.of(event(session="s0")).prompt == ""


def test_a_subagent_has_a_context_of_its_own_and_ends_with_its_session() -> None:
    sessions = AgentSessions(Stopwatch())
    sessions.of(event()).mark_shown([("a", "1")])
    assert not sessions.of(event(), "agent").has_shown("a", "1")
    assert sessions.of(event()).has_shown("a", "1")
    sessions.of(event(session="other"))
    sessions.end(event())
    assert len(sessions) == 1


def test_what_was_shown_is_known_until_it_changes_or_the_context_goes() -> None:
    session = AgentSession()
    session.mark_shown([("a", "1"), ("b", "1")])
    assert session.has_shown("a", "1")
    assert not session.has_shown("a", "2")
    session.set_summary("so far")
    assert not session.has_shown("b", "1")
    assert session.summary == "so far"
    session.set_summary("")
    assert session.summary == "so far"


@given(st.lists(st.integers(0, 2_000), max_size=1_500))
@example(list(range(2_000)))
def test_the_latest_that_were_shown_are_known(ids: list[int]) -> None:
    session = AgentSession()
    session.mark_shown((str(each), "t") for each in ids)
    latest = list(dict.fromkeys(reversed(ids)))
    assert session.shown_count == min(len(latest), MAX_SHOWN)
    assert all(session.has_shown(str(each), "t") for each in latest[:MAX_SHOWN])


def test_a_prompt_is_taken_once() -> None:
    session = AgentSession()
    session.set_prompt("why?")
    assert (session.take_prompt(), session.take_prompt(), session.task) == ("why?", "", "why?")


def test_a_prompt_that_is_given_back_waits_again_unless_something_came_between() -> None:
    session = AgentSession()
    session.set_prompt("why?")
    session.restore_prompt(session.take_prompt())
    assert session.prompt == "why?"
    taken = session.take_prompt()
    session.set_prompt("how?")
    session.restore_prompt(taken)
    assert session.take_prompt() == "how?"
    session.forget_texts()
    session.restore_prompt("how?")
    assert session.prompt == ""


def test_of_a_long_prompt_beginning_and_end_are_held() -> None:
    session = AgentSession()
    session.set_prompt(f"This log: {'x y ' * 50_000} Why did it stop?")
    assert session.prompt.startswith("This log: ")
    assert session.prompt.endswith(" Why did it stop?")


def test_a_summary_is_bounded() -> None:
    session = AgentSession()
    session.set_summary("x" * 100_000)
    assert len(session.summary) == sessions.MAX_SUMMARY
