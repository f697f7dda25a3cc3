"""Coding agents as they are, set up by `mnemonctl setup`: their model uses our tools, and their hooks reach the daemon.

Each has a session with a model that remembers something, looks for it and answers; no network is there to be reached.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mnemond.mcp.tools import tools
from tests.hosts.agents import AGENTS, ANSWER, CLAUDE_CODE, FACT, QUESTION, Agent
from tests.hosts.home import Home, Ran, home
from tests.hosts.neutral import neutral
from tests.wire.hooks.recorded import recorded

pytestmark = pytest.mark.hosts


class Session:
    """What a session left behind."""

    def __init__(self, agent: Agent, at: Home) -> None:
        steps = [agent.use("remember", content=FACT, category="decision"), agent.use("recall", query=QUESTION)]
        self.agent, self.home = agent, at
        agent.prepared(at)
        self.ran: Ran = agent.converse(at, QUESTION, [*steps, {"say": ANSWER}])
        assert self.ran.status == 0, self.ran.everything


@pytest.fixture(scope="module", params=AGENTS, ids=lambda agent: agent.name)
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with home(tmp_path_factory.mktemp(request.param.name)) as at:
        yield Session(request.param, at)


def test_every_hook_of_a_session_reaches_the_daemon_once(session: Session) -> None:
    assert tuple(each["hook_event_name"] for each in session.home.tap.hooks()) == session.agent.events
    prompt = session.home.tap.hooks()[1]
    assert prompt["prompt"].endswith(QUESTION)
    assert prompt["cwd"] == str(session.home.work)


def test_its_payloads_are_the_ones_that_are_recorded(session: Session) -> None:
    """So what `make check` knows of hosts is what they do; a new version is recorded by `tests/hosts/record.py`."""
    known = [dict(each.payload) for each in recorded() if each.host == session.agent.name and each.sent_by]
    sent = [each for each in session.home.tap.hooks() if each["hook_event_name"] not in ("PreToolUse", "BeforeTool")]
    assert neutral(sent, str(session.home.path)) == known
    versions = {each.sent_by for each in recorded() if each.host == session.agent.name}
    assert versions == {"", session.agent.version}


def test_it_speaks_the_revision_of_mcp_that_it_prefers(session: Session) -> None:
    methods = session.home.tap.methods()
    assert methods[0] == session.agent.opening
    assert {"tools/list", "tools/call"} <= set(methods)


def test_its_model_is_offered_our_tools(session: Session) -> None:
    offered = set(session.ran.asked[-1]["tools"])
    ours = {f"{session.agent.tools}{name}" for name in tools()}
    at_once = {f"{session.agent.tools}{name}" for name in ("recall", "remember")}
    assert at_once <= offered
    assert session.agent is CLAUDE_CODE or ours <= offered  # Claude Code hides the others behind a search


def test_what_its_model_remembers_is_kept_and_found(session: Session) -> None:
    (kept,) = session.home.ask("list")["insights"]
    assert (kept["content"], kept["category"]) == (FACT, "decision")
    _, after_remember, after_recall = session.ran.main()
    assert f"Remembered: {kept['id']}" in after_remember
    assert f"<ref:{kept['id'][:8]}" in after_recall
    assert ANSWER in session.ran.stdout


def test_nothing_it_says_is_an_error(session: Session) -> None:
    """Of ours: what these programs complain of about themselves is theirs."""
    said = [line for line in session.ran.stderr.splitlines() if "mnemon" in line.lower()]
    assert said == []
    hooks = [each for each in session.ran.lines() if each.get("subtype") == "hook_response"]
    assert {(each["exit_code"], each["stderr"], each["outcome"]) for each in hooks} <= {(0, "", "success")}
    assert bool(hooks) == (session.agent is CLAUDE_CODE)
    answers = [answer for talk in session.home.tap.talks for answer in talk.answers()]
    assert [answer for answer in answers if "error" in answer] == []
