"""What a told sentence names, with types that its relations know better than its words (spec 6.3, 9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from mnemond.extract.fact import Known, Relation
from mnemond.model.entity import Entity, EntityType
from mnemond.text.entities import canonical_name, extract, nothing_known

_SOURCES: Final[dict[str, EntityType]] = {
    "named": "person", "works_at": "person", "lives_in": "person", "reports_to": "person", "owns": "person",
}  # fmt: skip
_TARGETS: Final[dict[str, EntityType]] = {"named": "person", "works_at": "organization", "lives_in": "location"}
_SHORTEST: Final = 2
_MOST_WORDS: Final = 4
_NOBODY: Final = frozenset({"User", "用户", "We", "The assistant", "assistant", "we"})


def entities_of(content: str, relations: Sequence[Relation], known: Known | None) -> tuple[Entity, ...]:
    """The entities of `content`, those of its relations first."""
    guessed: dict[str, EntityType] = {}
    for relation in relations:
        for name, kinds in ((relation.source, _SOURCES), (relation.target, _TARGETS)):
            if relation.type in kinds and _is_name(name):
                guessed[name] = kinds[relation.type]
    found = extract(content, tuple(guessed), known=known or nothing_known)
    return tuple(
        msgspec.structs.replace(each, kind=guessed[each.name])
        if each.kind == "concept" and each.name in guessed
        else each
        for each in found
    )


def with_person(found: tuple[Entity, ...], name: str, content: str) -> tuple[Entity, ...]:
    """`found` and the person called `name`, if `content` is about them and they have a name."""
    canonical = canonical_name(name)
    if not _is_name(name) or name not in content or any(each.canonical == canonical for each in found):
        return found
    return (*found, Entity(name, canonical, "person"))


def named_last(text: str) -> str | None:
    """What `text` names last; None when it names nothing."""
    found = extract(text)
    return max((each.name for each in found), key=text.rfind, default=None)


def _is_name(name: str) -> bool:
    if name in _NOBODY or len(name) < _SHORTEST or len(name.split()) > _MOST_WORDS:
        return False
    return not name.isascii() or name[0].isupper()
