"""Items of an answer, of which some are not what was asked for."""

from __future__ import annotations

import msgspec

from mnemond.llm.reader import MAX_ITEMS, items_of
from tests.tables import each_row


class Item(msgspec.Struct):
    text: str


@each_row(
    ("value", "texts", "dropped"),
    [
        ({"facts": [{"text": "a"}, {"text": "b", "more": 1}]}, ["a", "b"], 0),
        ([{"text": "a"}, {"txt": "b"}, 3, None], ["a"], 3),
        ({"text": "a"}, ["a"], 0),
        ({"facts": {"text": "a"}}, ["a"], 0),
        ({"type": "object", "properties": {"facts": {"type": "array"}}}, [], 1),
        ([], [], 0),
        ("none", [], 1),
    ],
)
def test_bad_items_are_dropped_and_the_others_stay(value: object, texts: list[str], dropped: int) -> None:
    found, gone = items_of(value, "facts", Item)
    assert [each.text for each in found] == texts
    assert gone == dropped


def test_of_too_many_items_the_first_are_read() -> None:
    found, gone = items_of([{"text": "a"}] * (MAX_ITEMS + 3), "facts", Item)
    assert (len(found), gone) == (MAX_ITEMS, 3)
