"""What memory says by itself in what the agents' models are asked: when a session begins, and with a prompt."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mnemond.handlers.agent_texts import GUIDE
from tests.hosts.agents import AGENTS, ANSWER, FACT, Agent
from tests.hosts.home import Home, Ran, home

pytestmark = pytest.mark.hosts

CORE = "Ana Berg owns the billing service and has to agree to every change of its schema"
UNRELATED = "The office in Bergen has a blue door"
PROMPT = "On which day of the week do our releases happen, and why?"
SAID = "I prefer Postgres over MySQL for new services because our team knows it well."


class Told:
    """A session with a prompt that memory knows something about."""

    def __init__(self, agent: Agent, at: Home) -> None:
        self.agent, self.home = agent, at
        agent.prepared(at)
        at.ask("remember", content=CORE, category="fact", importance=5)
        at.ask("remember", content=FACT, category="decision", importance=3)
        at.ask("remember", content=UNRELATED, category="fact", importance=3)
        self.ran: Ran = agent.converse(at, PROMPT, [{"say": ANSWER}])
        assert self.ran.status == 0, self.ran.everything


@pytest.fixture(scope="module", params=AGENTS, ids=lambda agent: agent.name)
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    with home(tmp_path_factory.mktemp(f"told-{request.param.name}")) as at:
        yield Told(request.param, at)


def test_the_model_begins_with_what_matters_most(told: Told) -> None:
    asked = told.ran.main()[0]
    assert GUIDE.strip() in asked
    assert asked.count(CORE) == 1


def test_the_model_hears_with_a_prompt_what_belongs_to_it_and_nothing_else(told: Told) -> None:
    asked = told.ran.main()[0]
    assert asked.count(FACT) == 1
    assert UNRELATED not in asked


def test_the_agent_itself_takes_the_answers_for_successes(told: Told) -> None:
    hooks = [each for each in told.ran.lines() if each.get("subtype") == "hook_response"]
    assert all((each["exit_code"], each["outcome"]) == (0, "success") for each in hooks)
    assert ANSWER in told.ran.stdout
