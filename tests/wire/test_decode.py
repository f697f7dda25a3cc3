"""Parameters: every bad field is named at once, none at length."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond import errors
from mnemond.api.types_memories import RecallParams, RememberParams
from mnemond.errors import MnemonError
from mnemond.wire.params import (
    MAX_PROBLEMS,
    SHOWN,
    Params,
    bounds,
    decode_params,
    described,
    expected,
    explain,
    nearest,
    short,
)
from tests.tables import each_row


class Toy(Params, frozen=True, kw_only=True):
    """One field of every kind."""

    text: Annotated[str, msgspec.Meta(min_length=2, max_length=5)]
    count: Annotated[int, msgspec.Meta(ge=1, le=10)] = 1
    ratio: Annotated[float, msgspec.Meta(ge=0)] = 0.5
    flag: bool = False
    kind: Literal["a", "b"] = "a"
    tags: Annotated[tuple[str, ...], msgspec.Meta(max_length=3)] = ()
    maybe: Annotated[int, msgspec.Meta(le=5)] | None = None
    extra: dict[str, object] = msgspec.field(default_factory=dict)
    code: Annotated[str, msgspec.Meta(pattern="^x")] = "x"
    few: Annotated[list[object], msgspec.Meta(max_length=2)] = msgspec.field(default_factory=list)


def problems(raw: bytes) -> dict[str, str]:
    with pytest.raises(MnemonError) as caught:
        decode_params(Toy, raw)
    assert caught.value.kind is errors.INVALID_PARAMS
    assert caught.value.outcome == "rejected"
    return {problem.field: problem.message for problem in caught.value.problems}


def test_good_parameters_by_name_and_by_position() -> None:
    assert decode_params(Toy, b'{"text":"abc","tags":["x"]}') == Toy(text="abc", tags=("x",))
    assert decode_params(Toy, b'["abc", 2]', ("text", "count")) == Toy(text="abc", count=2)
    assert decode_params(Toy, msgspec.Raw(b'["abc"]'), ("text", "count")) == Toy(text="abc")


def test_none_means_no_parameters() -> None:
    assert decode_params(RecallParams, b'{"query":""}').query == ""
    with pytest.raises(MnemonError, match="text is missing; it must be a string"):
        decode_params(Toy, None)


@each_row(("positional", "words"), [((), "takes none"), (("text",), "takes 1 \\(text\\)")])
def test_too_many_by_position(positional: tuple[str, ...], words: str) -> None:
    with pytest.raises(MnemonError, match=words) as caught:
        decode_params(Toy, b'["a",1]', positional)
    assert caught.value.kind is errors.INVALID_PARAMS


@each_row(
    ("field", "value", "sentence"),
    [
        ("text", "5", "text must be a string; it is the number 5"),
        ("text", '"a"', "text has 1 characters; allowed are 2 to 5 characters"),
        ("text", '"abcdef"', "text has 6 characters; allowed are 2 to 5 characters"),
        ("count", "true", "count must be a whole number; it is true"),
        ("count", "false", "count must be a whole number; it is false"),
        ("count", "1.5", "count must be a whole number; it is the number 1.5"),
        ("count", "11", "count is 11; allowed are 1 to 10"),
        ("count", "0", "count is 0; allowed are 1 to 10"),
        ("count", "9" * 5000, "count is a number out of range (5000 characters long)"),
        ("ratio", '"x"', "ratio must be a number; it is a string of 1 characters"),
        ("ratio", "-0.5", "ratio is -0.5; allowed are at least 0"),
        ("ratio", "true", "ratio must be a number; it is true"),
        ("flag", "1", "flag must be true or false; it is the number 1"),
        ("kind", '"c"', "kind must be one of a, b; it is 'c'"),
        ("kind", "[1,2]", "kind must be one of a, b; it is a list of 2"),
        ("tags", "{}", "tags must be a list of strings; it is an object"),
        ("tags", '["a","b","c","d"]', "tags has 4 items; allowed are at most 3 items"),
        ("maybe", "6", "maybe is 6; allowed are at most 5"),
        ("maybe", '"6"', "maybe must be a whole number or null; it is a string of 1 characters"),
        ("extra", "null", "extra must be an object; it is null"),
        ("few", "[1,2,3]", "few has 3 items; allowed are at most 2 items"),
        ("code", '"y"', "code: Expected `str` matching regex '^x'"),
    ],
)
def test_one_bad_field(field: str, value: str, sentence: str) -> None:
    text = "" if field == "text" else '"text":"abc",'
    assert problems(f'{{{text}"{field}":{value}}}'.encode()) == {field: sentence}


def test_every_bad_field_is_told_at_once() -> None:
    found = problems(b'{"txt":1,"count":0,"tags":["a",1,null],"zzzzzz":0}')
    assert list(found) == ["txt", "zzzzzz", "text", "count", "tags[1]", "tags[2]"]
    assert found["txt"] == "there is no parameter 'txt'; did you mean \"text\"?"
    assert "known are text, count" in found["zzzzzz"]
    assert found["tags[2]"] == "tags[2] must be a string; it is null"


def test_the_good_fields_are_returned_for_further_checks() -> None:
    good, bad = explain(Toy, b'{"text":"abc","count":0,"flag":true}')
    assert good == {"text": "abc", "flag": True}
    assert [problem.field for problem in bad] == ["count"]


def test_a_thousand_bad_parts_need_no_thousand_sentences() -> None:
    items = ",".join("1" for _ in range(100_000))
    assert len(problems(f'{{"text":"abc","tags":[{items}]}}'.encode())) == MAX_PROBLEMS
    strangers = ",".join(f'"q{at}":1' for at in range(10_000))
    assert len(problems(f'{{"text":"abc",{strangers}}}'.encode())) == MAX_PROBLEMS


@given(st.text(min_size=50), st.text(min_size=50))
def test_long_values_and_names_are_never_repeated(name: str, value: str) -> None:
    raw = msgspec.json.encode({"text": value, "kind": value, name: value})
    for field, sentence in problems(raw).items():
        assert len(field) <= SHOWN
        assert value not in sentence
        assert name not in sentence
        assert sentence.isprintable()


@each_row(
    "raw", [b"{", b'{"text":"\xff"}', b'{"count":"\xff"}', b'{"\xff":1}', b'{"text":"abc"} x', b"[1", b'["\\ud800"]']
)
def test_what_is_not_json_is_a_parse_error(raw: bytes) -> None:
    with pytest.raises(MnemonError) as caught:
        decode_params(Toy, raw, ("text",))
    assert caught.value.kind is errors.PARSE


def test_a_scalar_is_no_parameters() -> None:
    assert problems(b"1") == {"params": "params must be an object or an array"}


def test_real_parameters_are_explained() -> None:
    with pytest.raises(MnemonError) as caught:
        decode_params(RememberParams, b'{"content":1,"op_id":"","store":"%s"}' % (b"x" * 65))
    assert [problem.field for problem in caught.value.problems] == ["content", "op_id", "store"]


@each_row(
    ("value", "words"),
    [(None, "null"), (True, "true"), (False, "false"), ("ab", "a string of 2 characters"), (1.5, "the number 1.5"),
     ([1], "a list of 1"), ({}, "an object")],
)  # fmt: skip
def test_values_in_words(value: object, words: str) -> None:
    assert described(value) == words


@each_row(
    ("kind", "words", "limits"),
    [
        (Annotated[list[str], msgspec.Meta(min_length=1)], "a list of strings", "at least 1 items"),
        (list[list[bool]], "a list of a list of true or false", ""),
        (Toy, "an object", ""),
        (object, "any value", ""),
        (str | None, "a string or null", ""),
    ],
)
def test_types_in_words(kind: object, words: str, limits: str) -> None:
    node = msgspec.inspect.type_info(kind)
    assert (expected(node), bounds(node)) == (words, limits)


def test_short_values_are_printable() -> None:
    assert short("a\x1b]52;c\x07\u202e") == "'a\\x1b]52;c\\x07\\u202e'"
    assert len(short("é" * 10_000)) == SHOWN
    assert nearest("zzz", ("alpha", "beta")) is None


class Listed(Params, frozen=True, kw_only=True):
    argv: list[str]


def test_a_bad_item_far_down_a_long_list_is_still_refused() -> None:
    raw = b'{"argv":[' + b'"x",' * 2000 + b"7]}"
    good, problems = explain(Listed, raw)
    assert good == {}
    assert [problem.field for problem in problems] == ["argv"]
