"""A rule reaches the model of an agent before the tool runs: what its model is asked, and what was done meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.hosts.agents import CLAUDE_CODE, CODEX, GEMINI, Agent
from tests.hosts.home import Home, Ran, home

pytestmark = pytest.mark.hosts

RULE = "Nobody pushes to main before Ana Berg has seen the change"
PUSH = "git push origin main; echo pushed >> pushed.txt"
OTHER = "echo nothing to do with it"

SHELL = {
    CLAUDE_CODE.name: lambda line: {"use": "Bash", "with": {"command": line, "description": "x"}},
    CODEX.name: lambda line: {"use": "exec_command", "with": {"cmd": line}},
    GEMINI.name: lambda line: {"use": "run_shell_command", "with": {"command": line}},
}
FREE: dict[str, tuple[str, ...]] = {
    CLAUDE_CODE.name: ("--dangerously-skip-permissions",),
    CODEX.name: ("--dangerously-bypass-approvals-and-sandbox",),
    GEMINI.name: (),
}
"""Options with which a call needs nobody's consent: what holds it back is the rule."""


def talk(agent: Agent, at: Home, *lines: str) -> Ran:
    """A session in which the model runs these lines in a shell."""
    steps: list[dict[str, Any]] = [SHELL[agent.name](line) for line in lines]
    free = FREE[agent.name]
    arguments = (agent.arguments[0], *free, *agent.arguments[1:]) if agent is CODEX else (*agent.arguments, *free)
    environ = {**agent.environ, "IS_SANDBOX": "1"} if agent is CLAUDE_CODE else agent.environ
    further = msgspec.structs.replace(agent, arguments=arguments, environ=environ)
    ran = further.converse(at, "Please go on with it", [*steps, {"say": "Done."}])
    assert ran.status == 0, ran.everything
    return ran


@pytest.fixture(params=[CLAUDE_CODE, CODEX, GEMINI], ids=lambda agent: agent.name)
def agent(request: pytest.FixtureRequest) -> Agent:
    found: Agent = request.param
    return found


@pytest.fixture
def at(agent: Agent, tmp_path: Path) -> Iterator[Home]:
    with home(tmp_path) as made:
        agent.prepared(made)
        made.ask("remember", content=RULE, when=["Bash:git push*"], importance=1)
        yield made


def pushed(at: Home) -> int:
    """How often the command ran."""
    kept = at.work / "pushed.txt"
    return len(kept.read_text("utf-8").splitlines()) if kept.exists() else 0


def test_the_model_reads_the_rule_before_the_tool_runs(agent: Agent, at: Home) -> None:
    ran = talk(agent, at, PUSH)
    first, second = ran.main()[:2]
    assert RULE not in first
    assert second.count(RULE) == 1
    assert pushed(at) == 0


def test_the_same_call_made_again_passes_and_the_rule_is_shown_once(agent: Agent, at: Home) -> None:
    ran = talk(agent, at, PUSH, PUSH, PUSH)
    assert pushed(at) == 2
    assert ran.main()[-1].count(RULE) == 1


def test_other_calls_bring_no_rule(agent: Agent, at: Home) -> None:
    ran = talk(agent, at, OTHER)
    assert RULE not in ran.main()[-1]
    assert "nothing to do with it" in ran.main()[-1]


def test_what_a_person_refuses_is_refused_every_time(agent: Agent, at: Home) -> None:
    (rule,) = at.ask("list")["insights"]
    line = ["rules", "enforce", rule["id"], "deny"]
    assert at.ask("cli.run", argv=line, tty=True)["exit_code"] != 0, "this process has no terminal"
    assert "denies" in at.types(*line)
    ran = talk(agent, at, PUSH, PUSH)
    assert pushed(at) == 0
    assert ran.main()[-1].count(RULE) == 2
    at.ask("rules.set", state="off")
    talk(agent, at, PUSH)
    assert pushed(at) == 1


def test_what_a_person_wants_to_decide_is_not_done_without(agent: Agent, at: Home) -> None:
    """Claude Code asks, and nobody is there to answer. The others do not know `ask`: refused once, and told why."""
    (rule,) = at.ask("list")["insights"]
    assert "asks" in at.types("rules", "enforce", rule["id"], "ask")
    ran = talk(agent, at, PUSH, PUSH)
    assert ran.main()[1].count(RULE) == 1
    assert pushed(at) == (0 if agent is CLAUDE_CODE else 1)


def test_no_shell_of_an_agent_enforces_a_rule(agent: Agent, at: Home) -> None:
    """Also not with a terminal that it made for it; the sandbox of Codex is off for this."""
    (rule,) = at.ask("list")["insights"]
    enforce = f"{Path(sys.executable).parent / 'mnemonctl'} rules enforce {rule['id']} deny"
    at.types("rules", "list")  # makes the way past the tap
    direct = f"MNEMON_DATA_DIR={at.path / 'direct'}"
    talk(agent, at, f"{direct} {enforce}; {direct} script -qec '{enforce}' /dev/null > said.txt 2>&1")
    assert "from a person at a terminal only" in (at.work / "said.txt").read_text("utf-8")
    assert [each["enforce"] for each in at.ask("rules.list")["rules"]] == ["tell"]
