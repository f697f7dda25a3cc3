"""The generated reference says everything the types say."""

from __future__ import annotations

from types import UnionType
from typing import get_args, get_origin

import msgspec
import pytest

from mnemond.api.registry import METHODS
from mnemond.docs_pages import errors_markdown, protocol_markdown
from mnemond.errors import KINDS
from mnemond.wire.params import Access, Method, Params


def test_every_method_and_every_field_is_there() -> None:
    page = protocol_markdown(METHODS.values())
    for method in METHODS.values():
        section = page.split(f"### {method.name}\n")[1].split("\n### ")[0]
        assert method.summary in section
        results = get_args(method.result) if isinstance(method.result, UnionType) else (method.result,)
        shown = [method.params, *(each for each in results if get_origin(each) is not list)]
        for field in (field for each in shown for field in msgspec.structs.fields(each)):
            assert f"| `{field.encode_name}` |" in section


def test_every_link_leads_somewhere() -> None:
    page = protocol_markdown(METHODS.values())
    anchors = {line[4:].replace(".", "").lower() for line in page.splitlines() if line.startswith("### ")}
    links = {part.split(")")[0] for part in page.split("](#")[1:]}
    assert links <= anchors


def test_every_kind_of_error_is_a_row() -> None:
    page = errors_markdown(KINDS)
    for kind in KINDS:
        retryable = "yes" if kind.retryable else "no"
        assert f"| `{kind.name}` | {kind.rpc} | {kind.exit} | {retryable} | {kind.meaning} |" in page


def test_defaults_made_for_each_call_are_shown_and_other_types_refused() -> None:
    class Fresh(Params, frozen=True, kw_only=True):
        """A list made anew, and a fixed pair."""

        items: list[int] = msgspec.field(default_factory=list)
        pair: tuple[int, str] = (1, "a")

    page = protocol_markdown([Method("m", Fresh, Fresh, Access.READ, "Toy.")])
    assert "| `items` | a list of whole numbers |  | `[]` |" in page
    assert '| `pair` | list |  | `[1, "a"]` |' in page
    with pytest.raises(TypeError, match="no Struct"):
        protocol_markdown([Method("m", int, Fresh, Access.READ, "Toy.")])  # type: ignore[arg-type]
