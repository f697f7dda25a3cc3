"""Where a page of memories goes on: after the memory that an id, or the beginning of one, names."""

from __future__ import annotations

from mnemond.errors import FieldProblem, invalid
from mnemond.index.table import PREFIX
from mnemond.model.insight import Insight, Scope
from mnemond.pipelines.any_row import any_row
from mnemond.store.connection import Connection


def page_start(connection: Connection, named: str) -> Insight:
    """The memory, active or retired, after which a page goes on. It is named and not shown, so whom it is for does not
    matter.

    Raises MnemonError(INVALID_PARAMS) for too short a beginning, NOT_FOUND, or AMBIGUOUS with the first matches.
    """
    if len(named) < PREFIX:
        sentence = f"before has {len(named)} characters; it needs {PREFIX}, as the beginning of any id does"
        raise invalid([FieldProblem("before", sentence)])
    return any_row(connection, named, Scope())
