"""Export: parameters and results of the methods that read a store as lines of text (docs/export.md)."""

from __future__ import annotations

from typing import Annotated

from mnemond.api.types_memories import FilterParams
from mnemond.model.outcomes import Result
from mnemond.wire.params import Access, Name, Params, about, method


class ExportOpenParams(FilterParams, frozen=True, kw_only=True):
    """Without any filter the whole store is exported, with the memories that are out of recall and everything that
    belongs to none. With one, the active memories that it admits, with their history, their entities, and the links
    among them; `as_of`, `known_at`, `include_invalid` and the other states are not for an export.
    """

    redact: Annotated[bool, about("without keys and passwords that are known by their form, in any text")] = False


class ExportOpenResult(Result, frozen=True, kw_only=True):
    """An export that was begun; `export` names it. It shows the store as it is now, whatever is written meanwhile, and
    ends when it was read to its end, was not read for a minute, or memories are purged. `expected`: about the number of
    its lines."""

    export: str
    store: str
    whole: bool
    expected: int


EXPORT_OPEN = method("export.open", ExportOpenParams, ExportOpenResult, Access.READ, "Export a store as lines of text.")


class ExportReadParams(Params, frozen=True, kw_only=True):
    """`portion` counts from 0; the last one that was read may be read again."""

    export: Name
    portion: Annotated[int, about("which portion")]


class ExportReadResult(Result, frozen=True, kw_only=True):
    """Whole lines, each with its line break, of about 128 KiB. After the last portion the text is empty, and the export
    has ended."""

    text: str
    lines: int


EXPORT_READ = method(
    "export.read", ExportReadParams, ExportReadResult, Access.READ, "Read the next portion of an export."
)
