"""What memory says by itself in what the agents' models are asked: when a session begins, and with a prompt."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from mnemond.hooks.prompt_files import PromptFiles
from mnemond.hooks.sessions import REPEAT_S
from tests.hosts.agents import AGENTS, ANSWER, CLAUDE_CODE, CODEX, FACT, Agent
from tests.hosts.home import Home, Ran, home

pytestmark = pytest.mark.hosts

CORE = "Ana Berg owns the billing service and has to agree to every change of its schema"
UNRELATED = "The office in Bergen has a blue door"
PREFERENCE = "The user prefers short answers with a table"
GUIDE = "# Mine\n\nmnemond is our memory. Ask it before you touch the billing service.\n\nThen tell Ben.\n"
PROMPT = "On which day of the week do our releases happen, and why?"
SAID = "I prefer Postgres over MySQL for new services because our team knows it well."


class Told:
    """A session with a prompt that memory knows something about."""

    def __init__(self, agent: Agent, at: Home) -> None:
        self.agent, self.home = agent, at
        agent.prepared(at)
        at.ask("remember", content=CORE, category="fact", importance=5)
        at.ask("remember", content=FACT, category="decision", importance=1)  # below what a brief has
        at.ask("remember", content=UNRELATED, category="fact", importance=1)
        at.ask("remember", content=PREFERENCE, category="preference", importance=3)
        (at.directory / "prompt").mkdir(exist_ok=True)
        (at.directory / "prompt" / "guide.md").write_text(GUIDE, "utf-8")
        self.ran: Ran = agent.converse(at, PROMPT, [{"say": ANSWER}])
        assert self.ran.status == 0, self.ran.everything


@pytest.fixture(scope="module", params=AGENTS, ids=lambda agent: agent.name)
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    with home(tmp_path_factory.mktemp(f"told-{request.param.name}")) as at:
        yield Told(request.param, at)


def test_the_model_begins_with_what_matters_most(told: Told) -> None:
    asked = told.ran.main()[0]
    assert asked.count(CORE) == asked.count(PREFERENCE) == 1
    assert asked.index(PREFERENCE) < asked.index(CORE)


def test_the_guide_of_the_user_is_what_the_model_is_told(told: Told) -> None:
    """Its first paragraph opens the session, and all of it is in the instructions of the MCP server."""
    asked = told.ran.main()[0]
    assert PromptFiles(told.home.directory).opening().strip() in asked
    assert asked.count("Ask it before you touch the billing service.") == 2
    assert asked.count("Then tell Ben.") == 1


def test_the_model_hears_with_a_prompt_what_belongs_to_it_and_nothing_else(told: Told) -> None:
    asked = told.ran.main()[0]
    assert asked.count(FACT) == 1
    assert UNRELATED not in asked


def test_the_agent_itself_takes_the_answers_for_successes(told: Told) -> None:
    hooks = [each for each in told.ran.lines() if each.get("subtype") == "hook_response"]
    assert all((each["exit_code"], each["outcome"]) == (0, "success") for each in hooks)
    assert ANSWER in told.ran.stdout


@pytest.mark.parametrize(
    ("one", "other"), list(zip(AGENTS, (*AGENTS[1:], AGENTS[0]), strict=True)), ids=lambda agent: agent.name
)
def test_what_is_said_to_one_agent_the_next_one_knows(one: Agent, other: Agent, tmp_path: Path) -> None:
    with home(tmp_path) as at:
        one.prepared(at)
        other.prepared(at)
        ran = one.converse(at, SAID, [{"say": "I will use Postgres."}])
        assert ran.status == 0, ran.everything
        at.ask("jobs.run", name="extract")  # or some seconds later, when nobody uses the store
        (known,) = at.ask("list")["insights"]
        assert known["content"] == f"[User] {SAID}"
        ran = other.converse(at, "Which database do I prefer for new services?", [{"say": "Postgres."}])
        assert ran.status == 0, ran.everything
        assert ran.main()[0].count(SAID) == 1
        at.ask("jobs.run", name="extract")
        assert len(at.ask("list")["insights"]) == 1  # a question and what memory said are no news


def test_a_session_that_is_compacted_begins_again_with_what_mattered(tmp_path: Path) -> None:
    """Claude Code: its hooks, in the order in which they come, and what is kept of the summary."""
    agent, reply = CLAUDE_CODE, "<analysis>\nHm.\n</analysis>\n<summary>\nPgBouncer stands before Postgres.\n</summary>"
    further = msgspec.structs.replace(agent, arguments=("--continue", *agent.arguments))
    with home(tmp_path) as at:
        agent.prepared(at)
        at.ask("remember", content=FACT, category="decision", importance=3)
        assert agent.converse(at, PROMPT, [{"say": ANSWER}]).status == 0
        begun, begun_talks = len(at.tap.hooks()), len(at.tap.talks)
        ran = further.converse(at, "/compact", [{"say": reply}])
        assert ran.status == 0, ran.everything
        hooks = [(each["hook_event_name"], each.get("source")) for each in at.tap.hooks()[begun:]]
        assert hooks == [
            ("SessionStart", "resume"), ("SessionStart", "compact"), ("PostCompact", None), ("SessionEnd", None),
        ]  # fmt: skip
        at.ask("jobs.run", name="extract")
        kept = [each["content"] for each in at.ask("list")["insights"]]
        assert kept == ["PgBouncer stands before Postgres.", FACT]
        briefed = at.tap.talks[begun_talks:]
        assert any(FACT.encode() in talk.told for talk in briefed if b'"source":"compact"' in talk.said)


RESUMED: dict[str, Agent] = {
    "claude-code": msgspec.structs.replace(CLAUDE_CODE, arguments=("--continue", *CLAUDE_CODE.arguments)),
    "codex": msgspec.structs.replace(CODEX, arguments=(*CODEX.arguments[:-1], "resume", "--last", "{prompt}")),
}
"""The agents that resume a session, as they do it: the last one of the directory."""

ATTEMPTS = 3


def begin(agent: Agent, at: Home) -> None:
    """A session with its brief, and the time until the next start is no repetition for its quickness alone. A hook of a
    busy machine may be too late for the brief; then another session."""
    agent.prepared(at)
    at.ask("remember", content=CORE, category="fact", importance=5)
    at.ask("remember", content=FACT, category="decision", importance=3)
    for _ in range(ATTEMPTS):
        ran = agent.converse(at, PROMPT, [{"say": ANSWER}])
        assert ran.status == 0, ran.everything
        if CORE in ran.main()[0]:
            time.sleep(REPEAT_S)
            return
    pytest.fail(f"{ATTEMPTS} sessions had no brief")


@pytest.mark.parametrize("name", RESUMED)
def test_what_stands_in_the_context_of_a_resumed_session_is_not_told_again(name: str, tmp_path: Path) -> None:
    (agent,) = (each for each in AGENTS if each.name == name)
    with home(tmp_path) as at:
        begin(agent, at)
        begun, talked = len(at.tap.hooks()), len(at.tap.talks)
        ran = RESUMED[name].converse(at, PROMPT, [{"say": ANSWER}])
        assert ran.status == 0, ran.everything
        starts = [each["source"] for each in at.tap.hooks()[begun:] if each["hook_event_name"] == "SessionStart"]
        assert starts == ["resume"]
        asked = ran.main()[0]
        assert (asked.count(CORE), asked.count(FACT)) == (1, 1)
        assert b"recalled-data" not in b"".join(talk.told for talk in at.tap.talks[talked:])


def test_a_session_of_codex_that_is_compacted_is_told_again_what_left_it(tmp_path: Path) -> None:
    compacting = ("-c", "model_auto_compact_token_limit=1", *RESUMED["codex"].arguments[-3:])
    agent = msgspec.structs.replace(CODEX, arguments=(*CODEX.arguments[:-1], *compacting))
    with home(tmp_path) as at:
        begin(CODEX, at)
        begun = len(at.tap.hooks())
        ran = agent.converse(at, PROMPT, [{"say": ANSWER}])
        assert ran.status == 0, ran.everything
        hooks = [(each["hook_event_name"], each.get("source")) for each in at.tap.hooks()[begun:]]
        assert hooks[:4] == [
            ("PostCompact", None), ("SessionStart", "resume"), ("SessionStart", "compact"), ("UserPromptSubmit", None),
        ]  # fmt: skip
        asked = ran.main()[0]
        assert (asked.count(CORE), asked.count(FACT)) == (1, 1)  # they left the context, and are back


def test_a_fork_of_claude_code_is_not_told_again(tmp_path: Path) -> None:
    fork = msgspec.structs.replace(CLAUDE_CODE, arguments=("--continue", "--fork-session", *CLAUDE_CODE.arguments))
    with home(tmp_path) as at:
        CLAUDE_CODE.prepared(at)
        at.ask("remember", content=CORE, category="fact", importance=5)
        begin(CLAUDE_CODE, at)
        begun = len(at.tap.hooks())
        ran = fork.converse(at, PROMPT, [{"say": ANSWER}])
        assert ran.status == 0, ran.everything
        assert at.tap.hooks()[begun]["source"] == "fork"
        assert ran.main()[0].count(CORE) == 1


@pytest.mark.parametrize("agent", [CLAUDE_CODE, CODEX], ids=lambda agent: agent.name)
def test_a_memory_of_one_project_is_not_told_in_another(agent: Agent, tmp_path: Path) -> None:
    rule = "Do not use the library requests in this repo, use httpx for HTTP"
    with home(tmp_path) as at:
        agent.prepared(at)
        steps = [agent.use("remember", content=rule, category="preference", importance=5), {"say": ANSWER}]
        assert agent.converse(at, "Remember our rule.", steps).status == 0
        (kept,) = at.ask("list")["insights"]
        assert (kept["content"], kept["project"]) == (rule, "apollo")  # of the directory that the agent works in
        told = agent.converse(at, "Do we use the library requests or httpx for HTTP?", [{"say": ANSWER}])
        assert told.main()[0].count(rule) == 1
        elsewhere = msgspec.structs.replace(at, place="zeus")
        elsewhere.work.mkdir()
        steps = [agent.use("recall", query="library for HTTP requests"), {"say": ANSWER}]
        ran = agent.converse(elsewhere, "Do we use the library requests or httpx for HTTP?", steps)
        assert ran.status == 0, ran.everything
        first, last = ran.main()[0], ran.main()[-1]
        assert rule not in first
        assert f"project:apollo> {rule}" in last  # it is found, and says where it is from
