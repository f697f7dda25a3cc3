"""What somebody wants noted about a link: checked, without secrets, as the text that is stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from mnemond.errors import FieldProblem
from mnemond.pipelines.plain_metadata import FIELD, as_text, plain_problems, size_problems, without_secrets

MADE_BY = ("host", "user")
"""Who may say that a link was made by them (spec 8): an agent's host, or a person."""


class Noted(NamedTuple):
    """The text of a JSON object, and the kinds of secrets that were taken out of it."""

    text: str
    redacted: tuple[str, ...]


def metadata_problems(
    metadata: Mapping[str, object] | None, sub_type: str | None, created_by: str | None
) -> list[FieldProblem]:
    """Everything wrong with the metadata of a link. Of what is too large nothing else is looked at."""
    given = dict(metadata or {})
    if too_large := size_problems(given):
        return too_large
    found = plain_problems(given)
    if sub_type is not None and given.get("sub_type", sub_type) != sub_type:
        found.append(FieldProblem("sub_type", "sub_type and metadata.sub_type differ; give one of them"))
    maker = given.get("created_by", created_by)
    if maker is not None and maker not in MADE_BY:
        found.append(FieldProblem(FIELD, "metadata.created_by says who makes the link; it must be host or user"))
    elif created_by is not None and maker != created_by:
        found.append(FieldProblem("created_by", "created_by and metadata.created_by differ; give one of them"))
    return found


def maker_of(metadata: Mapping[str, object] | None, created_by: str | None) -> Literal["host", "user"]:
    """Who makes a link whose metadata have no problems: a person, unless it is said to be the host."""
    return "host" if "host" in (created_by, (metadata or {}).get("created_by")) else "user"


def noted(
    metadata: Mapping[str, object] | None, sub_type: str | None, created_by: str, *, allow_secret: bool
) -> tuple[Noted, list[FieldProblem]]:
    """Metadata without problems as they are stored, every text in NFC and without secrets; and what is wrong then:
    the mark of a secret may be longer than the secret."""
    wanted = dict(metadata or {})
    if sub_type is not None:
        wanted["sub_type"] = sub_type
    clean, kinds = without_secrets(wanted, allow_secret=allow_secret)
    whole = clean | {"created_by": created_by}
    return Noted(as_text(whole), kinds), size_problems(whole)
