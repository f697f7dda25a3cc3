"""What may be stored_metadata about a link, and that no secret is among it."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from mnemond.memory.links import maker_of, metadata_problems, stored_metadata
from mnemond.model.memory import MAX_METADATA
from tests.tables import each_row


def kept(metadata: dict[str, object], *, allow_secret: bool = False) -> tuple[object, tuple[str, ...]]:
    found, problems = stored_metadata(metadata, None, "user", allow_secret=allow_secret)
    assert problems == []
    return msgspec.json.decode(found.text), found.redacted


@each_row(
    ("metadata", "sub_type", "created_by", "field"),
    [
        ({"a": {"b": 1}}, None, None, "metadata"),
        ({"a": [[1]]}, None, None, "metadata"),
        ({"a": [{}]}, None, None, "metadata"),
        ({"a": 2**63}, None, None, "metadata"),
        ({"a": float("inf")}, None, None, "metadata"),
        ({"a": [float("nan")]}, None, None, "metadata"),
        ({"sub_type": "causes"}, "enables", None, "sub_type"),
        ({"created_by": "auto"}, None, None, "metadata"),
        ({"created_by": 7}, None, None, "metadata"),
        ({"created_by": "host"}, None, "user", "created_by"),
    ],
)
def test_each_rule(metadata: dict[str, object], sub_type: str | None, created_by: str | None, field: str) -> None:
    (problem,) = metadata_problems(metadata, sub_type, created_by)
    assert problem.field == field
    assert problem.message.isprintable()


def test_what_is_plain_is_fine() -> None:
    fine = {"a": 1, "b": -(2**63) + 1, "c": 0.5, "d": True, "e": None, "f": "x", "g": [1, "y", None, False], "h": []}
    assert metadata_problems(fine, "causes", "host") == []
    assert metadata_problems(None, None, None) == []
    assert metadata_problems({"sub_type": "causes", "created_by": "host"}, "causes", "host") == []
    assert kept(dict(fine)) == (fine | {"created_by": "user"}, ())


def test_many_bad_entries_need_few_sentences() -> None:
    problems = metadata_problems({f"key {number}" * 6: {} for number in range(50)}, None, None)
    assert len(problems) == 5
    assert all(len(problem.message) < 200 for problem in problems)


@each_row(
    ("metadata", "created_by", "maker"),
    [
        (None, None, "user"),
        ({}, "host", "host"),
        ({"created_by": "host"}, None, "host"),
        ({"created_by": "user"}, None, "user"),
        ({}, "user", "user"),
    ],
)
def test_a_person_makes_a_link_unless_it_is_said_to_be_the_host(
    metadata: dict[str, object] | None, created_by: str | None, maker: str
) -> None:
    assert maker_of(metadata, created_by) == maker


def test_the_sub_type_and_the_maker_stand_in_the_metadata() -> None:
    found, _ = stored_metadata({"a": 1}, "enables", "host", allow_secret=False)
    assert msgspec.json.decode(found.text) == {"a": 1, "sub_type": "enables", "created_by": "host"}


@each_row(
    ("metadata", "clean", "kinds"),
    [
        ({"password": "Tr0ub4dor&3"}, {"password": "[REDACTED:password]"}, ("password",)),
        ({"note": "password=Tr0ub4dor&3"}, {"note": "password=[REDACTED:password]"}, ("password",)),
        (
            {"url": ["postgres://u:pa55w0rdX@h/db", 7]},
            {"url": ["postgres://u:[REDACTED:url_password]@h/db", 7]},
            ("url_password",),
        ),
        (
            {"postgres://u:pa55w0rdX@h/db": "x"},
            {"postgres://u:[REDACTED:url_password]@h/db": "x"},
            ("url_password",),
        ),
        ({"https://ana:pa55w0rdX": "@host/db"}, {"https://ana:pa55w0rdX": "@host/db"}, ()),  # a part of one is none
        ({"reason": "the flaky mount"}, {"reason": "the flaky mount"}, ()),
        ({"cafe\u0301": "cafe\u0301"}, {"café": "café"}, ()),
    ],
)
def test_secrets_are_taken_out(metadata: dict[str, object], clean: dict[str, object], kinds: tuple[str, ...]) -> None:
    assert kept(metadata) == (clean | {"created_by": "user"}, kinds)


def test_a_name_and_a_value_that_are_both_secret() -> None:
    found, kinds = kept({"password=Tr0ub4dor&3": "postgres://u:pa55w0rdX@h/db"})
    assert "pa55w0rdX" not in str(found)
    assert "Tr0ub4dor" not in str(found)
    assert set(kinds) >= {"password", "url_password"}


def test_a_secret_is_kept_where_that_is_wanted() -> None:
    assert kept({"password": "Tr0ub4dor&3"}, allow_secret=True) == (
        {"password": "Tr0ub4dor&3", "created_by": "user"}, (),
    )  # fmt: skip


def test_the_size_is_that_of_what_is_stored_in_bytes() -> None:
    frame = len(msgspec.json.encode({"a": "", "created_by": "user"}))
    found, problems = stored_metadata({"a": "é" * ((MAX_METADATA - frame) // 2)}, None, "user", allow_secret=False)
    assert (problems, len(found.text.encode())) == ([], MAX_METADATA)
    _, problems = stored_metadata({"a": "é" * ((MAX_METADATA - frame) // 2 + 1)}, None, "user", allow_secret=False)
    assert [problem.message for problem in problems] == ["metadata is 4,098 bytes of JSON; the limit is 4,096"]


def test_what_is_too_large_is_refused_before_it_is_read() -> None:
    (problem,) = metadata_problems({"a": "x" * 1_000_000, "b": {}}, "c", "d")
    assert problem.message == "metadata is 1,000,015 bytes of JSON; the limit is 4,096"


def test_the_marks_of_secrets_count() -> None:
    metadata: dict[str, object] = {"password": ["Tr0ub4dor&3"] * 250}
    assert metadata_problems(metadata, None, None) == []
    _, (problem,) = stored_metadata(metadata, None, "user", allow_secret=False)
    assert problem.message.startswith("metadata is 5,")


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63) + 1, 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(codec="utf-8"), max_size=20),
)  # fmt: skip


@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8"), max_size=10),
        st.one_of(SCALARS, st.lists(SCALARS, max_size=3)),
        max_size=5,
    )
)
def test_whatever_is_accepted_can_be_stored(metadata: dict[str, object]) -> None:
    if metadata_problems(metadata, None, None):
        return
    found, problems = stored_metadata(metadata, None, "user", allow_secret=True)
    assert problems == []
    assert isinstance(msgspec.json.decode(found.text), dict)
