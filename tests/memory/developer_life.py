"""Half a year of a developer's life, as an agent hears of it, and an oracle that keeps everything it heard.

What is said is true of a made-up life, but comes late, twice, in part, or is taken back. The oracle knows of each
statement from when until when it counted, and answers a question about a day by filling a calendar with the statements
of a group, one after another. It shares no code with the store.
"""

from __future__ import annotations

import random
from datetime import date, timedelta
from typing import NamedTuple

PEOPLE = ("Ana", "Bob", "Carla", "Deniz", "Emil", "User")
ORGANISATIONS = ("Acme", "Globex", "Initech", "Umbrella", "Hooli")
TOOLS = ("Redis", "Kafka", "Postgres", "Grafana", "Terraform", "Neovim")
SERVICES = ("billing", "ingest", "search")
FUNCTIONAL = ("works_at", "reports_to", "primary_editor")
FIRST = date(2025, 1, 1)
"""First day of the calendar; the life begins a year later."""
DAYS = 600
BEGINS = 400

Group = tuple[str, str]


class Said(NamedTuple):
    """One statement: `kind` of `target` at a day of the calendar."""

    source: str
    type: str
    target: str
    kind: str
    day: int


class Heard(NamedTuple):
    """A statement that counted from the first moment on, and not any more from the second. `number`: the order."""

    said: Said
    since: int
    until: int | None
    number: int


class Memory(NamedTuple):
    """A sentence and the statements in it."""

    text: str
    said: tuple[Said, ...]


def day_of(number: int) -> date:
    return FIRST + timedelta(days=number)


class Oracle:
    """Keeps everything. Moments are counted in steps of the life."""

    def __init__(self) -> None:
        self.heard: list[Heard] = []
        self.same: list[tuple[str, str, int, int | None]] = []

    def hear(self, moment: int, *said: Said) -> list[int]:
        """Note statements and return their numbers."""
        start = len(self.heard)
        self.heard += [Heard(each, moment, None, start + at) for at, each in enumerate(said)]
        return list(range(start, len(self.heard)))

    def withdraw(self, moment: int, numbers: list[int]) -> None:
        for number in numbers:
            if self.heard[number].until is None:
                self.heard[number] = self.heard[number]._replace(until=moment)

    def unite(self, moment: int, kept: str, other: str) -> None:
        self.same.append((other, kept, moment, None))

    def part(self, moment: int, other: str) -> None:
        self.same = [
            (one, kept, since, moment if one == other and until is None else until)
            for one, kept, since, until in self.same
        ]

    def name(self, name: str, moment: int) -> str:
        for one, kept, since, until in self.same:
            if one == name and since <= moment and (until is None or until > moment):
                return self.name(kept, moment)
        return name

    def believed(self, day: int, moment: int) -> set[tuple[str, str, str]]:
        """What was believed at a moment to hold on a day."""
        groups: dict[tuple[str, ...], list[tuple[int, int, int, Said]]] = {}
        for it in self.heard:
            if it.since <= moment and (it.until is None or it.until > moment):
                source, target = self.name(it.said.source, moment), self.name(it.said.target, moment)
                key: tuple[str, ...] = (
                    (source, it.said.type) if it.said.type in FUNCTIONAL else (source, it.said.type, target)
                )
                rank = {"until": 0, "end": 0, "start": 1, "seen": 2}[it.said.kind]
                said = it.said._replace(source=source, target=target)
                groups.setdefault(key, []).append((said.day, rank, it.number, said))
        found = set()
        for key, rows in groups.items():
            held = _calendar(sorted(rows))[day]
            if held is not None:
                found.add((key[0], key[1], held))
        return found


def _calendar(rows: list[tuple[int, int, int, Said]]) -> list[str | None]:
    """What holds on each day."""
    days: list[str | None] = [None] * DAYS
    for _, _, _, said in rows:
        before = days[said.day - 1]
        if said.kind in ("start", "seen"):
            days[said.day :] = [said.target] * (DAYS - said.day)
            if said.kind == "seen" and not any(days[: said.day]):
                days[: said.day] = [said.target] * said.day
        elif before == said.target:
            days[said.day :] = [None] * (DAYS - said.day)
        elif said.kind == "until" and before is None:
            at = said.day
            while at > 0 and days[at - 1] is None:
                at -= 1
            days[at : said.day] = [said.target] * (said.day - at)
    return days


class Life:
    """Draws what is said on a day."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def memory(self, today: int) -> Memory:
        """A sentence of today; what it says may be long ago."""
        draw = self.random
        past = draw.randrange(100, today)
        later = draw.randrange(past + 1, today + 1)
        who, where, tool = draw.choice(PEOPLE), draw.choice(ORGANISATIONS), draw.choice(TOOLS)
        service, boss = draw.choice(SERVICES), draw.choice([each for each in PEOPLE[:-1] if each != who])
        name = "I" if who == "User" else who
        verb, use = ("work", "use") if who == "User" else ("works", "uses")
        on, until = day_of(past).isoformat(), day_of(later).isoformat()
        sentences = (
            Memory(f"{name} {verb} at {where}", (Said(who, "works_at", where, "seen", today),)),
            Memory(f"{name} joined {where} on {on}", (Said(who, "works_at", where, "start", past),)),
            Memory(f"Since {on} {name} {verb} at {where}", (Said(who, "works_at", where, "start", past),)),
            Memory(f"{name} left {where} on {on}", (Said(who, "works_at", where, "end", past),)),
            Memory(f"{name} worked at {where} until {on}", (Said(who, "works_at", where, "until", past),)),
            Memory(f"{name} {use} {tool}", (Said(who, "uses", tool, "seen", today),)),
            Memory(f"{name} stopped using {tool}", (Said(who, "uses", tool, "end", today),)),
            Memory(f"{name} started using {tool} on {on}", (Said(who, "uses", tool, "start", past),)),
            Memory(
                f"The {service} service depends on {tool}",
                (Said(f"{service} service", "depends_on", tool, "seen", today),),
            ),
            Memory(
                f"The {service} service no longer depends on {tool}",
                (Said(f"{service} service", "depends_on", tool, "end", today),),
            ),
            Memory(f"{name} switched from {tool} to Vim on {on}",
                   (Said(who, "uses", tool, "end", past), Said(who, "uses", "Vim", "start", past))),
            Memory(f"{boss} reports to {where} Support",
                   (Said(boss, "reports_to", f"{where} Support", "seen", today),)),
            Memory(f"{boss} reported to {where} Support until {until}",
                   (Said(boss, "reports_to", f"{where} Support", "until", later),)),
            Memory(f"note {draw.randrange(10**6)}: the build is red again", ()),
        )  # fmt: skip
        return draw.choice(sentences)
