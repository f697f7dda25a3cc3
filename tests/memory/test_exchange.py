"""What looks like a correction and is a statement about something else, and what is a correction all the same."""

from __future__ import annotations

import math

from mnemond.config.writing import DiffSettings
from mnemond.memory.diff import LITERAL, SAFEGUARDS, CosineThresholds, DiffRules, Safeguards, judge, side
from mnemond.text.entities import extract
from tests.tables import each_row

DEAF = CosineThresholds(override=math.inf, update=0.65, duplicate=0.9)

BOTH_TRUE = [
    ("Reads do not take the lock", "Writes take the lock"),
    ("The unit tests do not need a database", "The integration tests need a database"),
    ("Do not commit to main directly", "Commit to develop directly"),
    ("Customers in the EU cannot use the beta API", "Customers in the US can use the beta API"),
    ("欧盟用户不能使用测试版接口", "美国用户能使用测试版接口"),
    ("Use type hints in Python", "Do not use type hints in Python tests"),
    ("Read docs before changing auth code", "Read docs before changing auth code in Go, do not skip the tests there"),
    ("The billing service uses RabbitMQ", "The orders service now uses Kafka instead of RabbitMQ"),
    ("Alice owns the auth service", "Alice no longer owns the billing service"),
    ("The frontend is built with webpack in CI", "The admin frontend is built with Vite instead of webpack in CI"),
    ("The H100 node costs 4 dollars an hour", "The A100 node costs 2 dollars an hour"),
    ("The test test_login_1 is not flaky", "The test test_login_2 is flaky"),
    ("Error 502 means the upstream is down", "Error 504 means the upstream is down"),
    ("Redis db 0 holds sessions", "Redis db 1 holds sessions"),
    ("Ana approved the deploy on 2026-05-01", "Ana approved the deploy on 2026-06-01"),
    ("Temperature of the room was 41 degrees at 10:00", "Temperature of the room was 55 degrees at 14:00"),
    ("Learning rate 0.001 gave loss 0.35", "Learning rate 0.01 gave loss 0.80"),
]

CORRECTIONS = [
    ("Deploys on Friday are allowed", "Deploys on Friday are not allowed because on-call begins then"),
    ("User prefers dark mode", "User does not prefer dark mode"),
    ("We use Jenkins for the nightly builds", "We no longer use Jenkins for the nightly builds"),
    ("周五可以部署到生产环境", "周五不可以部署到生产环境"),
    ("API rate limit is 100 req/s", "API rate limit is 200 req/s"),
    ("Chose SQLite as storage", "Chose PostgreSQL to replace SQLite as the primary database"),
    ("The search index is rebuilt every night at 02:30 UTC", "The search index is rebuilt every night at 04:15 UTC"),
    ("The deadline of the beta is 2026-05-01", "The deadline of the beta is 2026-06-01"),
    ("The office opens at nine", "The office opens at ten, not at nine"),
    ("The api requires Python 3.11", "The api requires Python 3.12"),
    ("The deadline of the beta is 2026-05-01", "The deadline of the beta moved to 2026-06-01 instead of 2026-05-01"),
]


def action(old: str, new: str, safeguards: Safeguards = SAFEGUARDS) -> str:
    one, other = (side(text, "general", [entity.canonical for entity in extract(text)]) for text in (old, new))
    return judge(one, other, None, DiffRules(DiffSettings(), DEAF, safeguards)).action


@each_row(("one", "other"), BOTH_TRUE)
def test_both_stay_in_either_order(one: str, other: str) -> None:
    assert (action(one, other), action(other, one)) == ("ADD", "ADD")


@each_row(("old", "new"), CORRECTIONS)
def test_a_correction_still_replaces_what_it_corrects(old: str, new: str) -> None:
    assert action(old, new) == "CONFLICT"


def test_the_rules_can_be_switched_off() -> None:
    replaced = [action(one, other, LITERAL) == "CONFLICT" for one, other in BOTH_TRUE]
    assert sum(replaced) > len(BOTH_TRUE) // 2
