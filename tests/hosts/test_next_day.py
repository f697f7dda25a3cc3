"""What was said in one session of an agent stands in what its model is asked in the next, in the same words: in the
brief, with a prompt, and in what `recall` returns; nothing of another project's, of a private or of a paused session.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.hosts.agents import AGENTS, CLAUDE_CODE, CODEX, GEMINI, Agent
from tests.hosts.home import Home, Ran, home

pytestmark = pytest.mark.hosts

RULE = "Never push to main without a green build."
PROMPT = f"Why did the nightly import fail? {RULE}"
CAUSE = "The import failed because the supplier feed repeats rows with one key."
FIXED = "I fixed it in `stage_rows()`, and the 41 tests pass now."
OPEN = "Re-run the manifests of 3 November"
DETAIL = "The warehouse mirror answers on port 8191 behind the old proxy."
ANSWER = f"{CAUSE} {FIXED}\n\n{DETAIL}\n\n**Still open**\n- {OPEN}"
NEEDS = "Does the warehouse mirror answer on a port behind the old proxy?"

ELSEWHERE = "The login failed because the clock of Heron drifts.\n\n**Still open**\n- Ask Heron"
PRIVATE = "Our offer to Northwind is 97500"
PAUSED = "The audit by Castellan begins in May"
NEVER_TOLD = ("Heron", "97500", "Castellan")

MIRRORS = ("Oslo", "Lima", "Kyoto", "Quito", "Turin", "Accra", "Perth")
MOST_RESULTS = 5
LONGEST_RESULT = 1_000

RESUMED: dict[str, Agent] = {
    CLAUDE_CODE.name: msgspec.structs.replace(CLAUDE_CODE, arguments=("--continue", *CLAUDE_CODE.arguments)),
    CODEX.name: msgspec.structs.replace(CODEX, arguments=(*CODEX.arguments[:-1], "resume", "--last", "{prompt}")),
    GEMINI.name: msgspec.structs.replace(GEMINI, arguments=("--resume", "latest", *GEMINI.arguments)),
}
"""How each goes on with its last session of a directory."""


def session(agent: Agent, at: Home, prompt: str, *steps: dict[str, Any]) -> Ran:
    at.work.mkdir(exist_ok=True)
    ran = agent.converse(at, prompt, list(steps))
    assert ran.status == 0, ran.everything
    return ran


class Days:
    """Sessions of an agent in two projects, and two that begin after them."""

    def __init__(self, agent: Agent, at: Home) -> None:
        self.agent, self.home = agent, at
        agent.prepared(at)
        session(agent, at, PROMPT, {"say": ANSWER})
        at.ask("jobs.run", name="extract")
        self.day = datetime.now(UTC)
        session(agent, msgspec.structs.replace(at, place="zeus"), "Why does the login fail?", {"say": ELSEWHERE})
        session(agent, at, f"Off the record: {PRIVATE}", {"say": f"Noted: {PRIVATE}."})
        session(agent, at, "Hello", {"say": "Hello."})
        at.types("session", "pause", at.tap.hooks()[-1]["session_id"])
        session(RESUMED[agent.name], at, PAUSED, {"say": f"{PAUSED}, then."})
        at.ask("jobs.run", name="extract")
        self.talks_before = len(at.tap.talks)
        self.next = session(agent, at, NEEDS, agent.use("recall", query=NEEDS), {"say": "Yes."})
        self.talks_after = len(at.tap.talks)
        for place in MIRRORS:
            at.ask("remember", content=f"The mirror in {place} answers on a port", importance=1, no_diff=True)
        self.asked = session(
            agent, at, "Go on", agent.use("recall", query="On which port does a mirror answer?"), {"say": "Done."}
        )


@pytest.fixture(scope="module", params=AGENTS, ids=lambda agent: agent.name)
def days(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Days]:
    with home(tmp_path_factory.mktemp(f"days-{request.param.name}")) as at:
        yield Days(request.param, at)


def test_the_first_request_has_what_came_of_the_last_session_and_the_rule(days: Days) -> None:
    """The last one that came to something: those after it were private, paused, or a greeting."""
    asked = days.next.main()[0]
    parts = [
        f"Last session of apollo, {days.day:%Y-%m-%d} ({days.agent.name}):", CAUSE, "Open then:", OPEN,
        "Instructions and preferences:", RULE,
    ]  # fmt: skip
    places = [asked.find(part) for part in parts]
    assert -1 not in places, parts[places.index(-1)]
    assert places == sorted(places)


def test_no_request_has_anything_of_other_projects_or_private_sessions(days: Days) -> None:
    for asked in (*days.next.main(), *days.asked.main()):
        assert [each for each in NEVER_TOLD if each in asked] == []
    (found,) = days.home.ask("recall", query="Northwind offer, Castellan audit", kind="passage", limit=1)["results"]
    assert not any(each in found["insight"]["content"] for each in ("97500", "Castellan"))


def test_a_prompt_that_needs_it_comes_with_what_was_said(days: Days) -> None:
    asked = days.next.main()[0]
    place = asked.find(f"session of {days.day:%Y-%m-%d} in apollo, user/assistant")
    assert 0 <= place < asked.find(DETAIL, place)


def test_recall_returns_few_short_results_with_the_session_they_are_from(days: Days) -> None:
    def results(ran: Ran) -> list[str]:
        told = ran.main()[-1]
        found = re.split("<ref:", told[told.rindex("best first") :].split("</recalled-data")[0])[1:]
        assert 0 < len(found) <= MOST_RESULTS
        assert all(len(each) < LONGEST_RESULT for each in found)
        return found

    said = next(each for each in results(days.next) if DETAIL in each)
    assert f"session of {days.day:%Y-%m-%d} in apollo, user/assistant" in said
    assert len(results(days.asked)) == MOST_RESULTS


def test_a_person_sees_one_line_when_a_session_begins_and_none_after(days: Days) -> None:
    line = f"mnemond: 1 memory, last session of {days.day.day} {days.day:%b}"
    shown = Counter[str]()
    for talk in days.home.tap.talks[days.talks_before : days.talks_after]:
        for hook, answer in zip(talk.messages(), talk.answers(), strict=False):
            if "systemMessage" in answer:
                assert answer["systemMessage"] == line
                shown[hook["hook_event_name"]] += 1
    assert shown == {"SessionStart": 1}
    if days.agent is not CODEX:  # `codex exec` shows nothing of hooks
        assert line in days.next.stdout + days.next.stderr


def test_today_lists_what_each_session_was_told_and_what_was_kept(days: Days) -> None:
    found = {each["id"]: each for each in json.loads(days.home.types("today", "--json"))["sessions"]}
    ids = list(dict.fromkeys(each["session_id"] for each in days.home.tap.hooks()))
    first, zeus, private, paused, following, _ = (found[each] for each in ids)
    assert ([each["words"] for each in first["kept"]], first["exchanges"]) == ([RULE], 1)
    assert zeus["project"].startswith("zeus")
    assert (private["exchanges"], paused["exchanges"], following["exchanges"]) == (0, 1, 1)  # "Hello" is kept
    told = [memory["words"] for shown in following["shown"] for memory in shown["memories"]]
    assert RULE in told
    assert any(PROMPT[:30] in each for each in told)
    said = days.home.types("today")
    assert "an instruction or a preference" in said
    assert not any(each in said for each in NEVER_TOLD[1:])


def transcribed(days: Days) -> list[dict[str, int]]:
    """What may be found in the transcripts: of a session that is resumed Gemini CLI sometimes keeps none."""
    return [{"exchange": 5}, *([{"exchange": 4}] if days.agent is GEMINI else [])]


def test_the_transcripts_of_the_agent_have_nothing_that_hooks_did_not_keep(days: Days) -> None:
    kind = f"{days.agent.name}-sessions"
    found = json.loads(days.home.types("import", "--from", kind, "--dry-run", "--json"))
    assert (found["added"], found["ignored"]) == ({}, 0), found
    assert found["known"] in transcribed(days), found
    assert not any(each in json.dumps(found) for each in NEVER_TOLD)


def test_an_import_of_the_transcripts_is_found_and_undone(days: Days) -> None:
    at = days.home
    at.types("store", "create", "fresh")
    line = ("import", "--from", f"{days.agent.name}-sessions", "--store", "fresh", "--yes", "--json")
    found = json.loads(at.types(*line))
    assert found["added"] == {"exchange": 4, "session": 4}, "none of the session that was paused"
    assert json.loads(at.types(*line))["known"] == {"exchange": 4}
    recall = ("recall", NEEDS, "--store", "fresh", "--kind", "passage", "--json")
    results = json.loads(at.types(*recall))["results"]
    assert any(DETAIL in each["insight"]["content"] for each in results[:3])
    assert not any(each in json.dumps(results) for each in NEVER_TOLD[1:])
    at.types("undo", found["op_id"], "--store", "fresh")
    assert json.loads(at.types(*recall))["results"] == []


COMPACTED: dict[str, Agent] = {
    CLAUDE_CODE.name: RESUMED[CLAUDE_CODE.name],
    CODEX.name: msgspec.structs.replace(
        CODEX,
        arguments=(*CODEX.arguments[:-1], "-c", "model_auto_compact_token_limit=1", "resume", "--last", "{prompt}"),
    ),
}
"""Claude Code compacts when it is told to, Codex by itself; Gemini CLI has no hook after it compacted."""


@pytest.mark.parametrize("name", COMPACTED)
def test_a_session_that_was_compacted_goes_on_with_its_own_words(name: str, tmp_path: Path) -> None:
    (agent,) = (each for each in AGENTS if each.name == name)
    with home(tmp_path) as at:
        agent.prepared(at)
        session(agent, at, PROMPT, {"say": ANSWER})
        if agent is CLAUDE_CODE:
            session(COMPACTED[name], at, "/compact", {"say": "<summary>\nWe spoke.\n</summary>"})
        asked = session(COMPACTED[name], at, "Go on", {"say": "Done."}).main()[-1]
        (place,) = (found.start() for found in re.finditer("This session before, until ", asked))
        assert 0 < asked.find(CAUSE, place) < asked.find(OPEN, place)
