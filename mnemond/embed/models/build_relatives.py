"""Compute the most similar words of a table model: `relatives.npy` from `table.npy` and `vocab.txt`.

    python -m mnemond.embed.models.build_relatives [DIR]

`DIR` is the model's directory, the default model's if left out. The result is the same to the bit on every machine:
products of int8 rows are whole numbers that float32 holds exactly, and every step after them is rounded as IEEE 754
says. It has to be rebuilt when a rule of `mnemond.text.tokens` changes the index terms of English words, since words
that share a term count as one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mnemond.embed.static_model import FILE, FULL_COSINE, MAX_RELATIVES, MIN_COSINE, RELATIVE
from mnemond.embed.wordpiece import read_vocabulary
from mnemond.text.tokens import index_term

DEFAULT_DIRECTORY = Path(__file__).parent / "minilm_static_256_int8"

WORD = re.compile(r"[a-z]{3,}")
"""Pieces that are words by themselves: no part of a word, no number, no other script."""

AT_ONCE = 512
"""Words compared with all others in one product (a few tens of megabytes)."""


def index_terms_of(vocabulary: Sequence[str]) -> dict[int, str]:
    """Return the index term of every row that is a word and has one; other rows are never relatives."""
    terms = {row: index_term(piece) for row, piece in enumerate(vocabulary) if WORD.fullmatch(piece)}
    return {row: term for row, term in terms.items() if term}


def relatives(
    table: npt.NDArray[np.int8], vocabulary: Sequence[str], wanted: Sequence[int] | None = None
) -> npt.NDArray[np.void]:
    """Compute the relatives of the rows `wanted` (default: all) of an int8 table: shape (rows, 8), dtype `RELATIVE`.

    Best first, equally good ones in the order of the vocabulary; one word for an index term, none with the word's own.
    """
    terms = index_terms_of(vocabulary)
    rows = range(len(vocabulary)) if wanted is None else wanted
    found = np.zeros((len(rows), MAX_RELATIVES), dtype=RELATIVE)
    places = [place for place, row in enumerate(rows) if row in terms]
    near = _near(table, np.array(list(terms), dtype=np.intp), [rows[place] for place in places])
    for place, (numbers, cosines) in zip(places, near, strict=True):
        seen = {terms[rows[place]]}
        kept = []
        for number, cosine in zip(numbers.tolist(), cosines.tolist(), strict=True):
            if terms[number] not in seen:
                seen.add(terms[number])
                kept.append((number, round(cosine * FULL_COSINE)))
                if len(kept) == MAX_RELATIVES:
                    break
        found[place, : len(kept)] = kept
    return found


def _near(
    table: npt.NDArray[np.int8], words: npt.NDArray[np.intp], wanted: Sequence[int]
) -> Iterator[tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]]]:
    """Yield, for each row of `wanted`, the words of at least MIN_COSINE, best first, and their cosines."""
    others = table[words].astype(np.float32)
    lengths = _lengths(others)
    for start in range(0, len(wanted), AT_ONCE):
        own = table[list(wanted[start : start + AT_ONCE])].astype(np.float32)
        cosines = (own @ others.T).astype(np.float64) / (_lengths(own)[:, None] * lengths)
        for row in cosines:
            (near,) = np.nonzero(row >= MIN_COSINE)
            near = near[np.argsort(-row[near], kind="stable")]
            yield words[near], row[near]


def _lengths(rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """Compute the length of each row, 1 for a row of zeros; exact up to the root for up to 1024 components of int8."""
    lengths: npt.NDArray[np.float64] = np.sqrt(np.maximum((rows * rows).sum(axis=1), 1).astype(np.float64))
    return lengths


def build(directory: Path) -> Path:
    """Write the relatives of the model in `directory`, and return the file's path."""
    target = directory / FILE
    np.save(target, relatives(np.load(directory / "table.npy"), read_vocabulary(directory / "vocab.txt")))
    return target


def main(argv: Sequence[str] | None = None) -> int:
    """Build for the directory given, or for the default model."""
    given = sys.argv[1:] if argv is None else argv
    written = build(Path(given[0]) if given else DEFAULT_DIRECTORY)
    sys.stdout.write(f"{written}: {written.stat().st_size:,} bytes\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
