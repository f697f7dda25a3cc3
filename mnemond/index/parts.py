"""What a snapshot is made of."""

from __future__ import annotations

from typing import NamedTuple

from mnemond.index.arrays import PersistentList
from mnemond.index.bm25 import Corpus, Postings
from mnemond.index.columns import ColumnViews, Extent, Table
from mnemond.index.conversations import Neighbours
from mnemond.index.edges import Adjacency
from mnemond.index.passages import PassageSnapshot
from mnemond.index.vectors import Dense


class Parts(NamedTuple):
    """The containers of a snapshot. Those shared with the writer only ever grow behind the snapshot's rows.

    `embedded`: live rows with a vector. `sessions`: True if any
    row, live or dead, belongs to a session. `extent`: bounds of all rows, live or dead. `entities`: one more than the
    largest number of an entity that any row, live or dead, names. `made_by`: the embedder of the vectors. `cued`: of
    `postings`, those that rows have only because of their cues.
    """

    table: Table
    insights: PersistentList
    columns: ColumnViews
    corpus: Corpus
    postings: Postings
    cued: Postings
    dense: Dense
    adjacency: Adjacency
    neighbours: Neighbours
    embedded: int
    sessions: bool
    ordered: bool
    extent: Extent
    entities: int
    made_by: str
    passages: PassageSnapshot
