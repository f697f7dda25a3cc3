"""People, organisations and places found in the notes of benchmarks/data/names.jsonl."""

from __future__ import annotations

import json
from pathlib import Path

from mnemond.text.entities import extract

NOTES = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "benchmarks/data/names.jsonl").read_text(encoding="utf-8").splitlines()
]
KINDS = {"person": "person", "organization": "organization", "location": "place"}


def test_names_are_found_with_their_types() -> None:
    """Precision goes before recall: at least .9 and .75 (docs/decisions/0032)."""
    right = found = expected = 0
    for note in NOTES:
        wanted = {(each["text"], each["type"]) for each in note["names"]}
        names = {(each.name, KINDS[each.kind]) for each in extract(note["text"]) if each.kind in KINDS}
        right += len(wanted & names)
        found += len(names)
        expected += len(wanted)
    assert right >= 0.9 * found, f"{right} of {found}"
    assert right >= 0.75 * expected, f"{right} of {expected}"
