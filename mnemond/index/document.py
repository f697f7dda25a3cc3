"""Which words of a memory the keyword index knows."""

from __future__ import annotations

from mnemond.model.insight import Insight
from mnemond.text.tokens import index_terms


def document_terms(insight: Insight) -> list[str]:
    """Terms of the content, the tags and the entities, in that order and all of the same weight.

    A name or a tag found nowhere in the content must still find the memory.
    """
    return index_terms("\n".join((insight.content, *insight.tags, *insight.entities)))
