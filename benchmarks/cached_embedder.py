"""Embedders for measurements: a model with a cache on disk, which reads each text once, and two models as one."""

from __future__ import annotations

import hashlib
import math
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from mnemond.embed import registry
from mnemond.embed.calibration import SHIPPED
from mnemond.embed.embedder import Embedder, Purpose, fingerprint, unit
from mnemond.embed.static_model import StaticModel
from mnemond.model.changes import Vector

AT_ONCE: Final = 64
"""Texts that are embedded before they are kept on disk."""


class CachedEmbedder:
    """Embeds each text once for all runs; see `Embedder`. For one thread."""

    inline = False

    def __init__(self, embedder: Embedder, directory: Path) -> None:
        """`directory`: of the caches, one file a fingerprint."""
        self._embedder = embedder
        self.name, self.dimension, self.fingerprint = embedder.name, embedder.dimension, embedder.fingerprint
        directory.mkdir(parents=True, exist_ok=True)
        self._cache = sqlite3.connect(directory / f"{embedder.fingerprint.rpartition(':')[2][:16]}.db", timeout=60.0)
        self._cache.execute("PRAGMA journal_mode = WAL")
        self._cache.execute("CREATE TABLE IF NOT EXISTS vectors (text BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")

    def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> list[Vector | None]:
        """Return one vector a text: from the cache, or from the model."""
        keys = [hashlib.blake2b(f"{purpose} {text}".encode(), digest_size=16).digest() for text in texts]
        found = {key: row for key in keys if (row := self._read(key)) is not None}
        new = list({key: place for place, key in enumerate(keys) if key not in found}.values())
        for start in range(0, len(new), AT_ONCE):
            part = new[start : start + AT_ONCE]
            vectors = self._embedder.embed([texts[place] for place in part], purpose=purpose)
            rows = {
                keys[place]: b"" if each is None else each.tobytes() for place, each in zip(part, vectors, strict=True)
            }
            with self._cache:
                self._cache.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows.items())
            found |= rows
        return [np.frombuffer(found[key], dtype=np.float32) if found[key] else None for key in keys]

    def clear_cache(self) -> None:
        """Keep everything: the cache is what this class is for."""

    def _read(self, key: bytes) -> bytes | None:
        row = self._cache.execute("SELECT vector FROM vectors WHERE text = ?", (key,)).fetchone()
        return None if row is None else bytes(row[0])


def cached(name: str, directory: Path) -> Embedder:
    """Load a built-in model; a slow one reads from `directory` what it has embedded before, and weights that come with
    another package."""
    found = registry.create(name, directory)
    return found if found.inline else CachedEmbedder(found, directory)


class JoinedEmbedder:
    """The table beside another model: its cosines are a weighted mean of theirs; see `Embedder` and `WordEmbedder`.

    A vector is the two vectors one after the other, each times the root of its share. With a share of 0 for the table,
    only the relatives of words are its.
    """

    inline = False

    def __init__(self, table: StaticModel, other: Embedder, share: float) -> None:
        """`share`: of the table in a cosine, in [0, 1]."""
        self._table, self._other = table, other
        self.name = f"{table.name}+{other.name}"
        self.dimension = table.dimension + other.dimension
        parts = (table.fingerprint.encode(), other.fingerprint.encode(), f"{share:.6f}".encode())
        self.fingerprint = fingerprint("joined-1", *parts)
        self._factors = np.float32(math.sqrt(share)), np.float32(math.sqrt(1.0 - share))

    def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> list[Vector | None]:
        """Return one vector a text; that of one model alone where the other has none."""
        pairs = zip(self._table.embed(texts, purpose=purpose), self._other.embed(texts, purpose=purpose), strict=True)
        return [self._joined(table, other) for table, other in pairs]

    def related_terms(self, word: str) -> tuple[tuple[str, float], ...]:
        """Return what the table returns."""
        return self._table.related_terms(word)

    def embed_weighed(self, text: str, weight_of: Callable[[str], float]) -> Vector | None:
        """Weigh the words of the table's part alone."""
        [other] = self._other.embed([text], purpose="query")
        return self._joined(self._table.embed_weighed(text, weight_of), other)

    def clear_cache(self) -> None:
        """Clear the caches of both."""
        self._table.clear_cache()
        self._other.clear_cache()

    def _joined(self, table: Vector | None, other: Vector | None) -> Vector | None:
        if table is None and other is None:
            return None
        parts = [
            np.zeros(model.dimension, dtype=np.float32) if vector is None else vector * factor
            for model, vector, factor in zip((self._table, self._other), (table, other), self._factors, strict=True)
        ]
        return unit(np.concatenate(parts))


def even_share(table: Embedder, other: Embedder) -> float:
    """Return the share with which both count alike: inverse to the distance of a paraphrase to what is unrelated on the
    scale of each (`calibration.SHIPPED`)."""
    spans = [SHIPPED[each.name].paraphrase - SHIPPED[each.name].unrelated for each in (table, other)]
    return spans[1] / sum(spans)
