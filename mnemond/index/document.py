"""Which words of a memory the keyword index knows."""

from __future__ import annotations

from typing import NamedTuple

from mnemond.model.insight import Insight
from mnemond.text.tokens import index_terms


class Document(NamedTuple):
    """`terms` as they are indexed, with repeats; `breadth`: how many different ones the content alone has."""

    terms: list[str]
    breadth: int


def document_of(insight: Insight) -> Document:
    """Terms of the content, the tags and the entities, in that order and all of the same weight.

    A name or a tag found nowhere in the content must still find the memory.
    """
    terms = index_terms(insight.content)
    breadth = len(set(terms))
    if insight.tags or insight.entities:
        terms = terms + index_terms("\n".join((*insight.tags, *insight.entities)))
    return Document(terms, breadth)
