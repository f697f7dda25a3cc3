"""Export and import: parameters and results of the methods that read a store as lines of text (docs/export.md), and
that write memories from lines."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from mnemond.api.types_memories import FilterParams
from mnemond.model.outcomes import ImportConflict, ImportContradiction, Result, WriteResult
from mnemond.wire.params import MAX_EXACT, Access, Name, ShowProgress, SpoolName, StoreParams, Tty, about, method


class ExportParams(FilterParams, frozen=True, kw_only=True):
    """Without any filter the whole store is exported, with the memories that are out of recall and everything that
    belongs to none. With one, the active memories that it admits, with their history, their entities, and the links
    among them; `as_of`, `known_at`, `include_invalid` and the other states are not for an export.

    The lines are written into the file `spool`, which the client has open.
    """

    spool: SpoolName
    progress: ShowProgress = False
    redact: Annotated[bool, about("without keys and passwords that are known by their form, in any text")] = False
    share: Annotated[bool, about("for pages of a project, which name their store", by_client=True)] = False


class ExportResult(Result, frozen=True, kw_only=True):
    """The store as it was when the export began. With `share`: `store_id`, sixteen hexadecimal digits, the ids of the
    `project` that is named, and of the one that the directory is in (`here`), "" for none."""

    store: str
    whole: bool
    lines: int
    store_id: str | None = None
    project: str | None = None
    here: str | None = None


EXPORT = method("export", ExportParams, ExportResult, Access.READ, "Export a store as lines of text.")


# import.

Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class ImportParams(StoreParams, frozen=True, kw_only=True):
    """`kind` is "mnemond" for lines of an export, else the name of the program whose memories they are. `digest`: the
    SHA-256 of the whole content, by which an import that was interrupted is recognised. The file `spool` has the
    lines."""

    spool: SpoolName
    progress: ShowProgress = False
    kind: Annotated[str, Meta(pattern="^[a-z0-9-]{1,32}$"), about("what the lines are from")]
    digest: Annotated[Digest, about("SHA-256 of the content, in hex")]
    memories: Annotated[
        Annotated[int, Meta(ge=0, le=MAX_EXACT)],
        about("how many there are; lines of an export are counted by themselves"),
    ] = 0
    dry_run: Annotated[bool, about("write nothing; say what would be imported")] = False
    raise_cap: Annotated[
        bool, about("raise lifecycle.max_insights of the store if it is too low for what is imported")
    ] = False
    no_diff: Annotated[
        bool, about("import what a memory here says already, too; not for lines of an export, which are restored")
    ] = False
    tty: Tty = False


class ImportResult(WriteResult, frozen=True, kw_only=True):
    """What was imported, or would be (`dry_run`). `added` and `known`: by kind of line. `memories`: how many more are
    in recall; `over_cap`: by how many the store would exceed its maximum. `conflicts`: the first of `conflicts_found`;
    `secrets`: texts with a key or password; `samples`: the beginnings of a few. Until `waits_until` they stay out of
    what sessions begin with, unless they are accepted. `raised_cap`: the store's new maximum.
    `contradictions`: of a dry run over memories of another program, the first of `contradictions_found` that are at
    odds with one in the store.
    """

    kind: str
    store: str
    dry_run: bool
    memories: int
    added: dict[str, int]
    known: dict[str, int]
    ignored: int
    conflicts: list[ImportConflict]
    conflicts_found: int
    secrets: int
    samples: list[str]
    over_cap: int = 0
    raised_cap: int | None = None
    waits_until: str | None = None
    contradictions: list[ImportContradiction] = field(default_factory=list)
    contradictions_found: int = 0


IMPORT = method("import.run", ImportParams, ImportResult, Access.WRITE, "Import memories into a store.")


class ImportAcceptParams(StoreParams, frozen=True, kw_only=True):
    operation: Annotated[
        Name | None, about("the op_id of the import or the beginning of it; all that wait unless given")
    ] = None


class ImportAcceptResult(Result, frozen=True, kw_only=True):
    """The imports that were accepted now, and the number of their memories."""

    accepted: list[str]
    memories: int


IMPORT_ACCEPT = method(
    "import.accept", ImportAcceptParams, ImportAcceptResult, Access.WRITE,
    "Let sessions begin with imported memories before a day is over.", positional=("operation",),
)  # fmt: skip
