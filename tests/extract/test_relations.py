"""Relations that sentences state, with their times."""

from __future__ import annotations

import time

import pytest

from mnemond.extract.relations import statements_in
from mnemond.model.memory import parse_rfc3339

SAID = "2026-05-10T12:00:00.000000Z"
SAID_US = parse_rfc3339(SAID)
TABLE = [
    ("Ana works at Acme since March 2024", [("Ana", "works_at", "Acme", "start", "2024-03-01", "month")]),
    ("Ana works at Acme", [("Ana", "works_at", "Acme", "seen", SAID, "exact")]),
    (
        "Ana worked at Acme from 2018 to 2020",
        [
            ("Ana", "works_at", "Acme", "start", "2018-01-01", "year"),
            ("Ana", "works_at", "Acme", "end", "2020-01-01", "year"),
        ],
    ),
    ("Ana left Acme on 2026-03-05", [("Ana", "works_at", "Acme", "end", "2026-03-05", "day")]),
    ("Bob no longer lives in Berlin", [("Bob", "lives_in", "Berlin", "end", SAID, "exact")]),
    ("Bob moved to Munich last week", [("Bob", "lives_in", "Munich", "start", "2026-04-27", "week")]),
    ("In 2019 Ana joined Globex", [("Ana", "works_at", "Globex", "start", "2019-01-01", "year")]),
    (
        "Since March 2024, Bob Smith lives in New York City",
        [("Bob Smith", "lives_in", "New York City", "start", "2024-03-01", "month")],
    ),
    (
        "The billing service uses Postgres 15 in production",
        [("billing service", "uses", "Postgres 15", "seen", SAID, "exact")],
    ),
    ("Carol reports to Dave", [("Carol", "reports_to", "Dave", "seen", SAID, "exact")]),
    ("User prefers tabs over spaces", [("User", "prefers", "tabs over spaces", "seen", SAID, "exact")]),
    ("Ana stopped using Vim", [("Ana", "uses", "Vim", "end", SAID, "exact")]),
    ("Ana doesn't use Emacs any more", [("Ana", "uses", "Emacs", "end", SAID, "exact")]),
    ("Ana used to work at Initech until 2015", [("Ana", "works_at", "Initech", "until", "2015-01-01", "year")]),
    ("Ana used to live in Rome", [("Ana", "lives_in", "Rome", "until", SAID, "exact")]),
    ("I work at Siemens.", [("User", "works_at", "Siemens", "seen", SAID, "exact")]),
    (
        "We switched from Jenkins to GitHub Actions yesterday",
        [
            ("User", "uses", "Jenkins", "end", "2026-05-09", "day"),
            ("User", "uses", "GitHub Actions", "start", "2026-05-09", "day"),
        ],
    ),
    ("Ana arbeitet bei Siemens", [("Ana", "works_at", "Siemens", "seen", SAID, "exact")]),
    (
        "The parser is part of the ingest. Ana created Kestrel in 2021",
        [
            ("parser", "part_of", "ingest", "seen", SAID, "exact"),
            ("Ana", "created", "Kestrel", "start", "2021-01-01", "year"),
        ],
    ),
]
NOTHING = (
    "Maybe Ana works at Acme",
    "He works at Acme",
    "Ana will join Acme in June",
    "If Ana works at Acme, call her",
    "Does Ana work at Acme?",
    "Ana used Vim yesterday",
    "Ana doesn't use Emacs",
    "Ana left the meeting",
    "We moved to Kubernetes",
    "We work at night",
    "Ana uses Ana",
    "",
)


@pytest.mark.parametrize(("text", "wanted"), TABLE, ids=[text for text, _ in TABLE])
def test_what_a_sentence_states(text: str, wanted: list[tuple[str, ...]]) -> None:
    found = [
        (*each[:4], each.at if each.at == SAID else each.at[:10], each.granularity)
        for each in statements_in(text, SAID_US)
    ]
    assert found == wanted


@pytest.mark.parametrize("text", NOTHING)
def test_what_states_nothing(text: str) -> None:
    assert statements_in(text, SAID_US) == ()


@pytest.mark.parametrize(
    "hostile",
    [
        "Ana " * 4000,
        "Ana works at " * 1500,
        "from 2018 to " * 1500,
        "a.b" * 8000,
        "Ana no longer " * 1500,
        "2024-03-01 " * 2000,
    ],
)
def test_hostile_text_takes_linear_time(hostile: str) -> None:
    statements_in(hostile, SAID_US)
    began = time.process_time()
    statements_in(hostile, SAID_US)
    assert time.process_time() - began < 0.5
