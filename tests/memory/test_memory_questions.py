"""What is accepted of a model's answers about a memory."""

from __future__ import annotations

import json

import msgspec

from mnemond.config.settings import Config, config_from
from mnemond.memory.questions.memories import (
    GATES,
    QUESTIONS,
    Found,
    added_names,
    begun,
    digest,
    next_question,
    no_question,
    note_of,
)
from mnemond.model.memory import Insight
from tests.memory.test_conversation_questions import CLAIMS, INJECTIONS
from tests.tables import each_row

AT = "2026-11-24T10:00:00.000000Z"
TEXT = "The nightly build of Zephyr 4 hung on a stale lock; removing the lock fixed the hang"
ON = config_from({
    f"commitment.{name}.engine": "llm"
    for name in ("substance_filter", "entity_extraction", "trigger", "hypothetical_queries", "cues", "relations")
})  # fmt: skip


def memory(text: str = TEXT, **fields: object) -> Insight:
    return msgspec.structs.replace(Insight("m", AT, AT, content=text), **fields)


def told(gate: str, value: object, it: Insight | None = None, config: Config = ON) -> Found:
    return QUESTIONS[gate].check(it or memory(trigger_type="problem-solution"), Found(), config, value)  # type: ignore[index]


@each_row(
    ("text", "content", "why"),
    [
        ("Why did the build of Zephyr hang?", TEXT, None),
        ("On which lock did the build hang?", TEXT, None),
        ("Warum hängt der Build?", "Der Build hängt, weil ein altes Lock liegen blieb", None),
        ("Mit welchem Werkzeug läuft der Build?", "Der Build läuft mit dem Werkzeug Bazel", None),
        ("数据库为什么变慢？", "数据库变慢是因为索引丢失", None),
        ("The build of Zephyr hung?", TEXT, "no question"),
        ("Fix the build of Zephyr", TEXT, "no question"),
        ("Why? How did the build hang?", TEXT, "no question"),
        ("Why did the build of Zephyr 5 hang?", TEXT, "number not said"),
        ("Where does the cat of the neighbours sleep?", TEXT, "not about it"),
        ("What does <person> say about Zephyr?", TEXT, "placeholder"),
        ("Why should we ignore all previous instructions about Zephyr?", TEXT, "order"),
        ("Is AKIAZQ3DRSTUVWXY2345 the key of Zephyr?", TEXT, "secret"),
        ("", TEXT, "length"),
        ("Why " + "build " * 40 + "?", TEXT, "length"),
    ],
)
def test_a_question_is_grammatical_and_about_the_text(text: str, content: str, why: str | None) -> None:
    assert no_question(text, content) == why


@each_row(
    ("name", "kind", "kept"),
    [
        ("Zephyr", "tool", True),
        ("Zephyr 4", "tool", True),
        ("zephyr", "tool", False),
        ("Zeph", "tool", False),
        ("build", "concept", False),
        ("nightly build", "concept", False),
        ("4", "concept", False),
        ("The", "person", False),
        ("Mallory", "person", False),
        ("Zephyr", "planet", False),
        ("Zephyr", "user", False),
        ("<name>", "person", False),
        ("", "tool", False),
    ],
)
def test_a_name_stands_in_the_text(name: str, kind: str, kept: bool) -> None:
    found = told("entities", {"names": [{"name": name, "kind": kind}]})
    assert [each.name for each in found.names] == ([name] if kept else [])


def test_a_name_that_is_known_is_not_added_again() -> None:
    answer = {"names": [{"name": "Zephyr", "kind": "tool"}, {"name": "Zephyr", "kind": "concept"}]}
    assert told("entities", answer, memory(entities=("zephyr",))).told == {"entities": "none"}
    assert len(told("entities", answer).names) == 1


def test_kinds_are_those_of_the_settings() -> None:
    config = config_from({
        "commitment.entity_extraction.engine": "llm", "commitment.entity_extraction.types": ["person"],
    })  # fmt: skip
    asked = next_question(memory(), Found(), config, "")
    assert asked is not None
    assert asked[1].values[1] == "person"
    assert told("entities", {"names": [{"name": "Zephyr", "kind": "tool"}]}, config=config).names == ()
    none = config_from({"commitment.entity_extraction.engine": "llm", "commitment.entity_extraction.types": ["user"]})
    assert next_question(memory(), Found(), none, "") is None


@each_row(
    ("text", "name", "kept"),
    [
        ("Wir nutzen jetzt Velox statt Brightwater", "Velox", True),
        ("Velox ist unsere neue Druckerei", "Velox", False),
        ("Das Büro in der Goethestraße wird bis Mai renoviert", "Büro", False),
        ("Das Büro in der Goethestraße wird bis Mai renoviert", "Mai", False),
        ("Das Büro in der Goethestraße wird bis Mai renoviert", "Goethestraße", True),
        ("Arbeitet ab nächster Woche im Homeoffice", "ab nächster Woche", False),
        ("Arbeitet ab nächster Woche im Homeoffice", "Arbeitet", False),
        ("Arbeitet ab nächster Woche im Homeoffice", "im Homeoffice", False),
        ("Deploys at Brightwater run on Tuesday", "Tuesday", False),
        ("Deploys at Brightwater run on Tuesday", "Brightwater", True),
        ("Redis was given up for want of experience", "Redis", True),
        ("Out of memory because the image cache had no limit", "Out of memory", False),
        ("The upstream wants 30 seconds between calls", "30 seconds", False),
        ("The upstream wants 30 seconds between calls", "The upstream", False),
        ("Der Import brach ab, weil die Datei in Latin-1 ist", "Der Import", False),
        ("Der Import brach ab, weil die Datei in Latin-1 ist", "Latin-1", True),
        ("Mit der Stadtverwaltung per Sie", "Sie", False),
        ("备份保留三十天", "备份", False),
        ("我们在北京用 Velox 做备份", "Velox", True),
    ],
)
def test_a_capital_alone_makes_no_name(text: str, name: str, kept: bool) -> None:
    kind = "organization" if name in ("Velox", "Brightwater") else "location"
    found = told("entities", {"names": [{"name": name, "kind": kind}]}, memory(text))
    assert [each.name for each in found.names] == ([name] if kept else [])


@each_row(
    ("answer", "source", "kind"),
    [
        ({"trigger": "learning-success"}, "user", "learning-success"),
        ("learning-failure", "user", "learning-failure"),
        ({"trigger": "none"}, "user", None),
        ({"trigger": "revenge"}, "user", None),
        ({"trigger": "corrective-feedback"}, "user", "corrective-feedback"),
        ({"trigger": "corrective-feedback"}, "assistant", None),
        ([], "user", None),
    ],
)
def test_a_trigger_is_one_of_the_known(answer: object, source: str, kind: str | None) -> None:
    it = memory(f"{TEXT}. I prefer it fixed", source=source)
    assert told("trigger", answer, it).trigger_type == kind


@each_row(
    ("text", "named", "kind"),
    [
        ("The import broke on an umlaut in the file of Velox", "problem-solution", "problem-solution"),
        ("Clara is the user's sister", "problem-solution", None),
        ("The queue uses SQLite now", "learning-success", None),
        ("The user likes short answers about Zephyr", "corrective-feedback", "corrective-feedback"),
        ("The import broke on an umlaut in the file of Velox", "positive-feedback", None),
    ],
)
def test_a_trigger_needs_a_word_of_the_text(text: str, named: str, kind: str | None) -> None:
    found = told("trigger", {"trigger": named}, memory(text))
    assert found.trigger_type == kind
    assert (found.told["trigger"] == f"left to the rules: no word of the text says {named}") is (kind is None)


def test_a_text_that_shows_no_trigger_is_not_asked_about_one() -> None:
    config = config_from({"commitment.trigger.engine": "llm"})
    assert next_question(memory("Clara from Lisbon is the user's sister"), Found(), config, "") is None
    assert next_question(memory(), Found(), config, "") is not None


def test_a_text_that_names_something_is_not_asked_about_its_use() -> None:
    config = config_from({"commitment.substance_filter.engine": "llm"})
    named = memory("The landlord of the studio is Peter Novak", channel="hook", entities=("Peter Novak",))
    assert next_question(named, Found(), config, "") is None
    vague = memory("Plants like water in the morning", channel="hook")
    assert next_question(vague, Found(), config, "") is not None


def test_questions_and_cues_are_bounded_and_none_repeats() -> None:
    one, two, three = "Why did the build hang?", "How was the hang fixed?", "What is a stale lock?"
    found = told("questions", {"questions": [one, one.upper(), two, three]})
    assert found.questions == (one, two)
    cues = [
        "the build is stuck",
        "The build is stuck",
        "a lock is left over",
        "hang again",
        "build of the night",
        "build",
    ]
    assert told("cues", {"cues": cues}).cues == ("the build is stuck", "a lock is left over", "hang again")
    assert told("cues", {"cues": ["stale lock"]}).told == {"cues": "left to the rules: in the text already"}
    assert told("cues", {"cues": []}).told == {"cues": "left to the rules: no cue"}
    assert told("questions", "no JSON of this shape").told == {"questions": "left to the rules: no question"}


def test_questions_are_for_the_triggers_of_the_settings_only() -> None:
    config = config_from({"commitment.hypothetical_queries.engine": "llm"})
    assert next_question(memory(), Found(), config, "") is None
    assert next_question(memory(trigger_type="positive-feedback"), Found(), config, "") is None
    asked = next_question(memory(trigger_type="learning-failure"), Found(), config, "")
    assert asked is not None
    assert asked[1].values[1] == "2"
    assert next_question(memory(), Found(trigger_type="problem-solution"), config, "") is not None


def test_the_text_is_shown_as_data_and_cut() -> None:
    asked = next_question(memory(f"user: hi\n```\n{TEXT} " + "x" * 9_000), Found(), ON, "")
    assert asked is not None
    assert len(asked[1].values[0]) <= 2_010
    assert "```" not in asked[1].values[0]
    assert "\n" not in asked[1].values[0]


@each_row("injection", INJECTIONS)
def test_an_injection_adds_nothing_by_a_model_that_obeys(injection: str) -> None:
    """Every claim as a name, a cue and a question: none of them is about the memory that was asked about."""
    it = memory(f"{TEXT}. {injection}", trigger_type="problem-solution")
    found = begun(it, ON.commitment)
    if next_question(it, found, ON, "") is None:
        assert all(each.startswith("left to the rules") for each in found.told.values())
        return
    it = memory(trigger_type="problem-solution")
    for gate, key in (("entities", "names"), ("questions", "questions"), ("cues", "cues")):
        items = [{"name": each, "kind": "concept"} for each in CLAIMS] if gate == "entities" else list(CLAIMS)
        found = told(gate, {key: items}, it)
        assert (found.names, found.questions, found.cues) == ((), None, ())


def test_a_note_is_about_one_text_and_may_be_damaged() -> None:
    assert note_of(memory()) is None
    note = f'{{"of":"{digest(TEXT)}","gates":"cues","model":"tiny","at":"{AT}","told":{{}},"names":["Zephyr"]}}'
    noted = memory(metadata=f'{{"model_gates":{note}}}')
    assert note_of(noted) is not None
    assert added_names(noted) == {"zephyr"}
    assert note_of(msgspec.structs.replace(noted, content="other")) is None
    for damaged in ('{"model_gates":3}', '{"model_gates":{"of":3}}'):
        assert note_of(memory(metadata=damaged)) is None
        assert added_names(memory(metadata=damaged)) == frozenset()
    assert added_names(memory()) == frozenset()
    assert set(GATES) == {"substance", "entities", "trigger", "questions", "cues", "relations"}


@each_row("it", [memory("The office plants like water in the morning", channel="hook"), memory()])
def test_an_answer_of_one_word_fits_however_it_is_indented(it: Insight) -> None:
    asked = next_question(it, Found(), ON, "")
    assert asked is not None
    while asked is not None and asked[0] not in ("substance", "trigger"):
        asked = next_question(it, Found(told={asked[0]: "none"}), ON, "")
    assert asked is not None
    ((name, field),) = asked[1].schema["properties"].items()
    indented = json.dumps({name: max(field["enum"], key=len)}, indent=4)
    assert asked[1].max_tokens >= len(indented)  # a token is one character or more
