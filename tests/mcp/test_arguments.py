"""Arguments as clients send them: each is read as what alone it can mean, and the schema stays strict."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.errors import MnemonError
from mnemond.mcp.arguments import decode_arguments
from mnemond.mcp.tools import (
    ExtractArguments,
    LinkArguments,
    ListArguments,
    RecallArguments,
    RememberArguments,
    ResolveArguments,
    SummarizeArguments,
)
from mnemond.wire.params import Params, decode_params
from tests.tables import each_row

REMEMBER = {"content": "Redis runs on port 6380"}
IDS = ["0123456789abcdef", "fedcba9876543210"]


@each_row(
    ("kind", "sent", "meant"),
    [
        (RememberArguments, REMEMBER | {"tags": '["ops","redis"]'}, REMEMBER | {"tags": ["ops", "redis"]}),
        (RememberArguments, REMEMBER | {"tags": "ops"}, REMEMBER | {"tags": ["ops"]}),
        (RememberArguments, REMEMBER | {"tags": {}}, REMEMBER),
        (RememberArguments, REMEMBER | {"tags": [1, 2]}, REMEMBER | {"tags": ["1", "2"]}),
        (RememberArguments, REMEMBER | {"importance": "4"}, REMEMBER | {"importance": 4}),
        (RememberArguments, REMEMBER | {"importance": " 4.0 "}, REMEMBER | {"importance": 4}),
        (RememberArguments, REMEMBER | {"importance": 4.0}, REMEMBER | {"importance": 4}),
        (RememberArguments, REMEMBER | {"importance": 0}, REMEMBER),
        (RememberArguments, REMEMBER | {"importance": "null"}, REMEMBER),
        (RememberArguments, REMEMBER | {"category": "Preference"}, REMEMBER | {"category": "preference"}),
        (RememberArguments, REMEMBER | {"category": "", "source": "", "entities": "", "cues": None}, REMEMBER),
        (RememberArguments, REMEMBER | {"relations": "Ana leads billing"},
         REMEMBER | {"relations": ["Ana leads billing"]}),
        (RememberArguments, {"content": 42}, {"content": "42"}),
        (RecallArguments, {"query": "redis", "limit": "3", "since": "", "entity": " "}, {"query": "redis", "limit": 3}),
        (RecallArguments, {"query": "redis", "limit": 3e0, "category": "none"}, {"query": "redis", "limit": 3}),
        (LinkArguments, {"source_id": IDS[0], "target_id": IDS[1], "type": "CAUSAL", "weight": "0.5"},
         {"source_id": IDS[0], "target_id": IDS[1], "type": "causal", "weight": 0.5}),
        (ListArguments, {"limit": 0, "tags": [], "before": ""}, {"tags": []}),
        (SummarizeArguments, {"ids": json.dumps(IDS)}, {"ids": IDS}),
        (ResolveArguments, {"id": "7", "resolution": "supersede"}, {"id": 7, "resolution": "SUPERSEDE"}),
        (ExtractArguments, {"messages": '[{"role": "user", "content": "I use vim"}]', "auto_resolve_conflicts": "True"},
         {"messages": [{"role": "user", "content": "I use vim"}], "auto_resolve_conflicts": True}),
        (ExtractArguments, {"messages": ['{"content": "I use vim"}'], "user_id": None},
         {"messages": [{"content": "I use vim"}]}),
        (ExtractArguments, {"messages": {"content": "I use vim"}}, {"messages": [{"content": "I use vim"}]}),
    ],
)  # fmt: skip
def test_what_can_mean_one_thing_is_read(kind: type[Params], sent: dict[str, object], meant: dict[str, object]) -> None:
    with pytest.raises(MnemonError):
        decode_params(kind, json.dumps(sent).encode())
    assert decode_arguments(kind, json.dumps(sent).encode()) == decode_params(kind, json.dumps(meant).encode())


@each_row(
    ("kind", "sent", "problem"),
    [
        (RememberArguments, REMEMBER | {"tags": "ops, redis"}, "tags must be a list"),
        (RememberArguments, REMEMBER | {"importance": "four"}, "importance must be a whole number"),
        (RememberArguments, REMEMBER | {"importance": 4.5}, "importance must be a whole number"),
        (RememberArguments, REMEMBER | {"importance": "9"}, "importance must be a whole number"),
        (RememberArguments, REMEMBER | {"importance": True}, "importance must be a whole number"),
        (RememberArguments, {"content": ""}, "content has 0 characters"),
        (RememberArguments, {"content": ["a"]}, "content must be a string"),
        (RememberArguments, REMEMBER | {"tagz": "[]"}, "there is no parameter 'tagz'"),
        (RecallArguments, {"query": "redis", "limit": "3 results"}, "limit must be a whole number"),
        (ExtractArguments, {"messages": "[{"}, "messages must be a list"),
        (ExtractArguments, {"messages": "null"}, "messages must be a list"),
    ],
)
def test_what_can_mean_more_is_refused_as_the_schema_says(
    kind: type[Params], sent: dict[str, object], problem: str
) -> None:
    with pytest.raises(MnemonError) as refused:
        decode_arguments(kind, json.dumps(sent).encode())
    assert problem in str(refused.value)


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3), max_leaves=8,
))  # fmt: skip
def test_a_text_is_never_changed(value: object) -> None:
    """Whatever stands beside it, and also if it looks like JSON."""
    text = json.dumps(value) or "x"
    sent = {"content": text, "importance": "4", "tags": value}
    try:
        found = decode_arguments(RememberArguments, msgspec.json.encode(sent))
    except MnemonError:
        return
    assert found.content == text
