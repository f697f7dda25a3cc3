"""What a clause says of what: subject, relation, values, what is no longer so, and what it announces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.text.frames import MAX_CLAUSES, Frame, frames
from tests.tables import each_row
from tests.timing import cpu_s


def keys(frame: Frame) -> tuple[list[str], str, list[tuple[str, list[str]]], list[str]]:
    segments = [(segment.role, [unit.key for unit in segment.units]) for segment in frame.segments]
    return [unit.key for unit in frame.subject], frame.relation, segments, [unit.key for unit in frame.gone]


def only(text: str) -> Frame:
    [frame] = frames(text)
    return frame


@each_row(
    ("text", "read"),
    [
        ("Billing listens on port 8080", (["bill"], "other", [("in", ["@port", "number:8080"])], [])),
        ("The team lead is Ana", (["team", "@lead"], "be", [("", ["ana"])], [])),
        ("Bob is now the lead of the team", (["@lead", "team"], "be", [("", ["bob"])], [])),
        ("Priya owns billing", (["@owner", "bill"], "be", [("", ["priya"])], [])),
        ("We switched from Jenkins to Buildkite", (["we"], "change", [("to", ["buildkit"])], ["jenkin"])),
        ("We raised the upload cap to 25 MB", (["we", "upload", "@limit"], "change", [("to", ["number:25mb"])], [])),
        ("RabbitMQ was replaced by Redpanda", ([], "change", [("by", ["redpanda"])], ["rabbitmq"])),
        ("The cache is a Redis instead of a Memcached", (["cach"], "be", [("", ["redi"])], ["memcach"])),
        ("Latency in prod is 20 ms", (["latenc", "production"], "be", [("", ["number:0.02s"])], [])),
        ("The launch is on 3 March", (["launch"], "be", [("in", ["date:2-3"])], [])),
        ("接口超时从30秒改为60秒", (["接", "口", "@timeout"], "change", [("", ["number:60s"])], ["number:30s"])),
        ("Wir sind von Jenkins auf Buildkite umgestiegen", (["we"], "change", [("in", ["buildkit"])], ["jenkin"])),
    ],
)
def test_a_clause(text: str, read: tuple[list[str], str, list[tuple[str, list[str]]], list[str]]) -> None:
    assert keys(only(text)) == read


@each_row(
    ("text", "flags"),
    [
        ("We don't deploy on Fridays any more", {"denies", "changes"}),
        ("The door no longer opens", {"denies", "changes"}),
        ("Wir nutzen kein Docker mehr", {"denies", "changes"}),
        ("我们不再开站会", {"denies", "changes"}),
        ("We also use Redis", {"additive"}),
        ("Maybe we use Redis", {"supposed"}),
        ("Ana wants to move to Oslo", {"supposed"}),
        ("Last year we used Jenkins", {"past"}),
        ("Our new landlord is Habitat", {"changes"}),
        ("We have disabled the cache", {"changes"}),
        ("The schema change is small", set()),
        ("The lower part is red", set()),
        ("It is on the left", set()),
    ],
)
def test_what_a_clause_announces(text: str, flags: set[str]) -> None:
    frame = frames(text)[0]
    assert {name for name in ("denies", "changes", "additive", "supposed", "past") if getattr(frame, name)} == flags


def test_a_question_asks() -> None:
    assert only("Is Bob the lead?").asks
    assert not only("Bob is the lead.").asks


def test_a_clause_without_a_subject_has_that_of_the_one_before() -> None:
    first, second = frames("Ana left Acme and joined Globex")
    assert [unit.key for unit in first.subject] == [unit.key for unit in second.subject] == ["ana"]
    assert [unit.key for unit in second.units][-1] == "globex"


@pytest.mark.parametrize(
    "text", ["The port is 8443, not 443", "The port is not 443 but 8443", "Der Port ist nicht 443, sondern 8443"]
)
def test_what_it_is_not_is_gone(text: str) -> None:
    frame = only(text)
    assert [unit.key for unit in frame.gone] == ["number:443"]
    assert "number:8443" in {unit.key for unit in frame.units}


def test_amounts_are_compared_by_what_they_are() -> None:
    one, other = only("The TTL is 60 s"), only("The TTL is 1 minute")
    assert one.segments[0].units[0].key == other.segments[0].units[0].key == "number:60s"


def test_commas_part_clauses_that_have_a_verb_each() -> None:
    assert len(frames("Tofu, Miso and Nori are cats")) == 1
    assert len(frames("Logs go to Loki, the dashboards are in Grafana")) == 2


@pytest.mark.parametrize("text", ["Das Fest ist am 3. ", "Das Fest ist am 3. \n", "am 3. ; danach"])
def test_a_day_before_nothing_ends_its_sentence(text: str) -> None:
    assert len(frames(text)) <= 2


@given(st.text(max_size=200))
def test_every_text_has_frames(text: str) -> None:
    assert len(frames(text)) <= MAX_CLAUSES


@each_row(
    "piece", ["a", "1", "a.b.", "改", "is, ", "x and is ", "not ", "from ", "1:1", "/", "since a, ", "'", "A ", "《"]
)
def test_hostile_texts_take_no_longer_than_others(piece: str) -> None:
    frames("warm up")
    assert cpu_s(lambda: frames(piece * (8_000 // len(piece)))) < 2.0
