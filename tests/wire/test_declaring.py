"""What is derived from the declaration of a field or a method."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import UNSET, Meta, UnsetType, inspect

from mnemond.wire.params import Access, Method, Params, ScopedWriteParams, about, fields_of, method

Size = Annotated[int, Meta(ge=1, le=9, extra={"metavar": "N"})]


class Toy(ScopedWriteParams, frozen=True, kw_only=True):
    """A field of every kind."""

    size: Annotated[Size | None, about("how large", "-s", cli="how large it is")] = None
    kinds: Annotated[list[Literal["a", "b"]] | UnsetType, about("which")] = UNSET
    state: Annotated[str, about("open, or closed", choices=("open", "closed"))] = "open"
    both: Annotated[list[Size], Meta(max_length=2)] = msgspec.field(default_factory=list)
    name: Annotated[str, about("its name")]


FIELDS = {field.name: field for field in fields_of(Toy)}


def test_required_fields_come_first_and_shared_ones_last() -> None:
    assert list(FIELDS) == [
        "name", "size", "kinds", "state", "both", "op_id", "user_id", "session_id", "agent_id", "store",
    ]  # fmt: skip
    assert [name for name, field in FIELDS.items() if field.required] == ["name"]


def test_what_is_declared_of_a_type_is_found_below_and_overridden_above() -> None:
    size = FIELDS["size"]
    assert (size.text, dict(size.extra)) == (
        "how large",
        {"metavar": "N", "aliases": ("-s",), "cli": "how large it is"},
    )
    assert size.kind == inspect.UnionType((inspect.IntType(ge=1, le=9), inspect.NoneType()))
    assert FIELDS["both"].kind == inspect.ListType(inspect.IntType(ge=1, le=9), max_length=2)
    assert (FIELDS["both"].text, FIELDS["kinds"].default, FIELDS["name"].default) == ("", UNSET, UNSET)


def test_choices_are_those_of_the_type_or_declared() -> None:
    assert FIELDS["kinds"].choices == ("a", "b")
    assert FIELDS["kinds"].described() == "which: a, b"
    assert FIELDS["state"].described() == "open, or closed"
    assert FIELDS["state"].described("its state") == "its state: open, closed"
    assert FIELDS["size"].choices == ()


def test_a_method_knows_its_types() -> None:
    declared = method("toy", Toy, Toy, Access.READ, "Toy.", positional=("name",))
    assert isinstance(declared, Method)
    assert (declared.params, declared.positional) == (Toy, ("name",))


def test_only_types_with_fields_have_fields() -> None:
    with pytest.raises(TypeError, match="no Struct"):
        fields_of(int)
    assert fields_of(Params) == ()
