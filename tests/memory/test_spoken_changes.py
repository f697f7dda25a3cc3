"""Changes and corrections in the words of a conversation, against notes in other words."""

from __future__ import annotations

import math
from itertools import product

from mnemond.config.writing import DiffSettings
from mnemond.memory.diff import CosineThresholds, DiffRules, Verdict, judge, side
from mnemond.text.entities import extract
from tests.tables import each_row

DEAF = CosineThresholds(override=math.inf, update=0.65, duplicate=0.9)
DAYS = ("2026-01-15T12:00:00.000000Z", "2026-02-18T12:00:00.000000Z")

CHANGED = [
    ("The budget is 20k", "The budget was raised to 25k last week (2026-02-09 to 2026-02-15)"),
    ("消息队列用的是 RabbitMQ", "消息队列上周改用 NATS 了"),
    ("用户住在杭州", "用户已经不住在杭州了，上个月搬到苏州了"),
    ("Die Chorprobe ist dienstags um 19 Uhr", "Die Chorprobe findet ab Oktober donnerstags um 19:30 Uhr statt"),
    ("Release 4.0 erscheint am 12. März", "Release 4.0 wurde auf den 2. April verschoben"),
    ("Release 4.0 ships on 12 March", "Release 4.0 was postponed to 2 April"),
    ("Der Hautarzttermin ist am 3. März um 9 Uhr", "Der Hautarzttermin wurde auf den 10. März um 11 Uhr verlegt"),
    ("The dentist appointment is on Monday at 9:00", "The dentist appointment moved to Tuesday at 11:30"),
    (
        "Die Nutzerin arbeitet als Krankenschwester im Klinikum Fulda",
        "User arbeitet seit dem 1. Mai bei einem ambulanten Pflegedienst in Hünfeld",
    ),
    ("瑜伽课在周三晚上七点", "瑜伽课改到周五晚上八点了"),
    ("用户的女儿读三年级", "用户女儿不是三年级，是四年级"),
    ("用户在一家银行做柜员", "用户从银行辞职啦"),
    ("User's manager is Susanne", "Karim has been User's manager since March"),
    ("The team language is German", "We switched the team language to English when Pooja joined"),
    ("User trains at FitBase", "User trains at the Boulder Barn now"),
    ("The cache TTL is 10 minutes", "The cache TTL is an hour since the last incident"),
    ("Antworten gern mit Emojis", "Bitte keine Emojis mehr in den Antworten"),
    ("Use emojis in commit messages", "No more emojis in commit messages"),
    ("Susanne lives in Ulm", "Susanne moved to London"),
    ("Projektleiterin ist Jana", "Projektleiter ist jetzt Tobias"),
    ("我在腾讯上班", "我跳槽到字节了"),
    ("My sister drives a Volvo", "She sold the Volvo"),
    ("The office is on Baker Street", "Since last month (2026-01-01 to 2026-01-31) our office is on Elm Street"),
    ("Katrin leitet das Team", "Katrin leitet das Team nicht mehr, das macht jetzt Jonas"),
]
"""A note, and what a conversation of another day says."""

OTHERS = [
    ("Yesterday I slept 7 hours", "Yesterday I slept 5 hours"),
    ("The build failed on Monday at 9:00", "The build failed on Tuesday at 9:30"),
    ("Die Retro ist freitags um 9 Uhr", "Die Chorprobe findet ab Oktober donnerstags um 19:30 Uhr statt"),
    ("Release 5.0 erscheint am 12. März", "Release 4.0 wurde auf den 2. April verschoben"),
    ("Katrin leitet den Chor", "Katrin leitet das Team nicht mehr, das macht jetzt Jonas"),
    ("Hannes leitet das Infrastrukturteam", "Hannes ist seit Januar in Elternzeit"),
    ("User's manager is Susanne", "Susanne moved to the London office"),
    ("User's dad drives a Volvo", "User sold the Volvo"),
    ("Ana drives a Volvo", "Ben no longer drives a Volvo"),
    ("User's wife is vegetarian", "User isn't vegetarian anymore"),
    ("I live in Ulm", "I moved my savings to Revolut"),
    ("I work at Siemens in the London office", "I switched the London office to Linear"),
    ("I report to Eva on budgets", "I changed budgets to Excel"),
    ("Ich arbeite bei Siemens im Vertrieb", "Ich habe den Vertrieb auf Linear umgestellt"),
    ("Deploys run once a day", "Backups run twice a day now"),
    ("任务队列用的是 RabbitMQ", "缓存上周改用 NATS 了"),
    ("用户的儿子读三年级", "用户女儿不是三年级，是四年级"),
    ("用户的父母住在杭州", "用户上个月搬到苏州了"),
]

STATES = [
    "plays chess", "likes tea", "has a cat", "uses vim", "works at Siemens", "leads the platform team", "is vegetarian",
    "owns the billing service", "speaks French", "drives a Kia", "reports to Eva", "runs the book club",
    "is allergic to nuts", "teaches yoga on Mondays", "is the head chef", "is from Ghana", "sings in the church choir",
]  # fmt: skip
EVENTS = [
    "moved to London", "quit smoking", "bought a house", "sold the boat", "switched to Linear", "joined the choir",
    "left on Friday", "stopped eating meat", "has been ill since May", "is on leave since January",
    "now works from home on Fridays", "took over the garden", "is now allowed to deploy", "changed the tyres",
    "is at the dentist now", "went to Spain",
]  # fmt: skip

CORRECTED = [
    ("Das Admin-Panel läuft auf Port 443", "Das Admin-Panel hört auf 8443"),
    ("Maria owns the billing service", "Tomasz owns the billing service"),
    ("The staging database is Postgres", "The staging database is MySQL"),
]
"""A note, and what is said to correct it."""


def judged(old: str, new: str, *, corrects: bool = False) -> Verdict:
    one, other = (
        side(text, "general", [entity.canonical for entity in extract(text)], at)
        for text, at in zip((old, new), DAYS, strict=True)
    )
    other = side(new, "general", other.entities, DAYS[1], corrects=corrects)
    return judge(one, other, None, DiffRules(DiffSettings(), DEAF))


@each_row(("old", "new"), CHANGED)
def test_a_change_of_another_day_replaces_the_note(old: str, new: str) -> None:
    assert judged(old, new).action == "CONFLICT"


@each_row(("old", "new"), OTHERS)
def test_a_change_of_another_thing_replaces_nothing(old: str, new: str) -> None:
    assert judged(old, new).action == "ADD"


@each_row(("who", "state"), list(product(["Susanne", "User", "My brother", "We"], STATES)))
def test_what_happened_to_a_person_ends_nothing_else_of_them(who: str, state: str) -> None:
    verdicts = {event: judged(f"{who} {state}", f"{who} {event}") for event in EVENTS}
    assert {event for event, verdict in verdicts.items() if verdict.action != "ADD"} == set()


@each_row(("old", "new"), OTHERS[2:])
def test_what_is_said_to_correct_replaces_nothing_of_another_thing(old: str, new: str) -> None:
    assert judged(old, new, corrects=True).action == "ADD"


@each_row(("old", "new"), CORRECTED)
def test_only_what_is_said_to_correct_replaces_another_value(old: str, new: str) -> None:
    assert judged(old, new).action == "ADD"
    assert judged(old, new, corrects=True).action == "CONFLICT"


def test_a_correction_of_one_thing_leaves_another() -> None:
    assert judged("Maria owns the search service", "Tomasz owns the billing service", corrects=True).action == "ADD"
    assert judged("The production database is MySQL", "The staging database is Postgres", corrects=True).action == "ADD"
