"""Results of the methods about names, and what people read of them."""

from __future__ import annotations

from mnemond.api.types_entities import EntityLine, EntityListResult, EntityPage
from mnemond.api.types_relations import TimelineEvent
from mnemond.model.answers import NamingMemory
from mnemond.model.outcomes import EntityResult
from tests.cli.relation_results import AT, CURRENT, MARCH, MEMORY, PAST, WORKED

SAID = NamingMemory(MEMORY, "Ana works at Acme", "fact", AT, "manual")


def decided(status: str, **fields: object) -> EntityResult:
    return EntityResult(status=status, entity="Ana", other="Ana Silva", op_id="op-9", replayed=False, **fields)  # type: ignore[arg-type]


ENTITY_RESULTS: dict[str, object] = {
    "entity.list": EntityListResult(
        entities=[
            EntityLine("Ana", "person", ["Ana Silva", "Anita", "Dr. Silva", "Nina"], 12, 1),
            EntityLine("Acme", "organization", [], 0, 3),
            EntityLine("Lisbon", "location", [], 0, 0),
        ],
        total=40, types={"person": 30, "organization": 10}, proposed=1,
    ),
    "entity.show": EntityPage(
        name="Ana", type="person", aliases=["Ana Silva", "Anita"], not_same=["Anna"], proposed={"7": "A. Silva"},
        now=[CURRENT], before=[PAST], later=[],
        events=[
            TimelineEvent(MARCH, "month", "ended", WORKED, "Ana works_at Initech"),
            TimelineEvent(AT, "exact", "memory", MEMORY, "Ana works at Acme"),
        ],
        total_events=3, memories=[SAID], total_memories=1,
        summary=NamingMemory("5" * 32, "Ana works at Acme, and did at Initech.", "fact", AT, "summary"),
        as_of=AT, known_at=None,
    ),
    "entity.merge": decided("merged", memories=2, relations=1, changed=[PAST]),
    "entity.split": decided("split"),
    "entity.not-same": decided("not-same"),
    "entity.alias": decided("alias"),
}  # fmt: skip

ENTITY_TRANSCRIPTS = {
    "entity.list": """\
Ana (also Ana Silva, Anita, Dr. Silva, and 1 more)  person  12 memories,
1 relation
Acme  organization  3 relations
Lisbon  location
40 names; of each type: person 30, organization 10
37 more: -n 40
1 pair of names may be one: mnemonctl reviews
""",
    "entity.show": """\
Ana  person
  also: Ana Silva, Anita
  not: Anna
  perhaps: A. Silva (mnemonctl resolve 7)
  as it was 2026-02-01T10:00:00
summary
  Ana works at Acme, and did at Initech.
now
  5e5e5e5e  Ana works_at Acme  since 2024-03
    said 2026-02-01 in 1a2b3c4d: Ana works at Acme
    given by user
before
  6f6f6f6f  Ana works_at Initech  until 2024-03  (past)
timeline, 2 of 3
  2024-03     ended: Ana works_at Initech
  2026-02-01  1a2b3c4d  Ana works at Acme
memories
  2026-02-01  1a2b3c4d  Ana works at Acme
""",
    "entity.merge": """\
Ana Silva is a name of Ana now
  with 2 memories, 1 relation
  6f6f6f6f  Ana works_at Initech  until 2024-03  (past)
  undo: mnemonctl undo op-9
""",
    "entity.split": "Ana and Ana Silva are two\n  undo: mnemonctl undo op-9\n",
    "entity.not-same": "Ana and Ana Silva are two, for good\n  undo: mnemonctl undo op-9\n",
    "entity.alias": "Ana Silva is another name of Ana\n  undo: mnemonctl undo op-9\n",
}
