"""Export and import: parameters and results of the methods that read a store as lines of text (docs/export.md), and
that write memories from lines."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from mnemond.api.types_memories import FilterParams
from mnemond.model.outcomes import Result, WriteResult
from mnemond.wire.params import MAX_EXACT, Access, Name, Params, StoreParams, Tty, about, method


class ExportOpenParams(FilterParams, frozen=True, kw_only=True):
    """Without any filter the whole store is exported, with the memories that are out of recall and everything that
    belongs to none. With one, the active memories that it admits, with their history, their entities, and the links
    among them; `as_of`, `known_at`, `include_invalid` and the other states are not for an export.
    """

    redact: Annotated[bool, about("without keys and passwords that are known by their form, in any text")] = False
    share: Annotated[bool, about("for pages of a project, which name their store", by_client=True)] = False


class ExportOpenResult(Result, frozen=True, kw_only=True):
    """An export that was begun; `export` names it. It shows the store as it is now, whatever is written meanwhile, and
    ends when it was read to its end, was not read for a minute, or memories are purged. `expected`: about the number of
    its lines. With `share`: `store_id`, sixteen hexadecimal digits, the ids of the `project` that is named, and of the
    one that the directory is in (`here`), "" for none."""

    export: str
    store: str
    whole: bool
    expected: int
    store_id: str | None = None
    project: str | None = None
    here: str | None = None


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


# import.

Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
ImportId = Annotated[Name, about("the import, as `import.open` named it")]

MAX_PORTION: Final = 128 << 10
"""Characters of a portion of lines: with four bytes each they fit into a message of the wire."""


class ImportOpenParams(StoreParams, frozen=True, kw_only=True):
    """`kind` is "mnemond" for lines of an export, else the name of the program whose memories they are. `digest`: the
    SHA-256 of the whole content, by which an import that was interrupted is recognised."""

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


class ImportOpenResult(Result, frozen=True, kw_only=True):
    """An import that was begun, or (`continued`) is continued. `op_id` names it for undo and `import accept`."""

    import_id: str
    op_id: str
    store: str
    continued: bool


IMPORT_OPEN = method(
    "import.open", ImportOpenParams, ImportOpenResult, Access.WRITE, "Begin to import memories into a store."
)


class ImportSendParams(Params, frozen=True, kw_only=True):
    """A part of the lines, in their order; one may be cut anywhere."""

    import_id: ImportId
    text: Annotated[str, Meta(max_length=MAX_PORTION)]


class ImportSendResult(Result, frozen=True, kw_only=True):
    """The number of characters received so far."""

    received: int


IMPORT_SEND = method(
    "import.send", ImportSendParams, ImportSendResult, Access.WRITE, "Send the next lines of an import."
)


class ImportFinishParams(Params, frozen=True, kw_only=True):
    import_id: ImportId


class ImportConflict(msgspec.Struct, frozen=True):
    """What is not imported as it is, and why. `id`: the memory, or the place in the file."""

    id: str
    why: str


class ImportContradiction(msgspec.Struct, frozen=True):
    """The beginning of a memory to import, and of the memory `id` here that it contradicts or corrects. Both stay."""

    id: str
    content: str
    imported: str


class ImportFinishResult(WriteResult, frozen=True, kw_only=True):
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
    contradictions: tuple[ImportContradiction, ...] = ()
    contradictions_found: int = 0


IMPORT_FINISH = method("import.finish", ImportFinishParams, ImportFinishResult, Access.WRITE, "Complete an import.")


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
