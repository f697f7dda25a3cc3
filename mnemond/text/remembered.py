"""Letting go of texts that were kept to save time: after a purge nothing of them may stay in memory."""

from __future__ import annotations

from mnemond.text import cue_words, entity_kinds, entity_shapes, similarity, tokens


def forget_texts() -> None:
    """Empty every cache of this package that holds words or texts of memories."""
    for module in (cue_words, entity_kinds, entity_shapes, similarity, tokens):
        module.forget_cached()
