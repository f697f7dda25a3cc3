"""Every setting there is: typed, frozen, with its default and what it means.

Where values come from is `mnemond.config_sources`; the page docs/config.md is made by `mnemond.config_page`.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from mnemond.hook_settings import Hooks
from mnemond.log_settings import Log
from mnemond.retrieval_settings import Retrieval
from mnemond.write_settings import Commitment, Diff, Extraction, Graph, Lifecycle, Pruning

ModelName = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[\w.:/@+-]+$")]
VariableName = Annotated[str, Meta(max_length=200, pattern="^[A-Za-z_][A-Za-z0-9_]*$")]
Dimensions = Annotated[int, Meta(ge=1, le=16_384)]


class Embedding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What turns text into vectors. A store keeps the embedder it was made with."""

    provider: Annotated[
        Literal["builtin", "ollama", "openai", "auto", "none"],
        Meta(
            description="`builtin` is a model shipped in the package, run in process; `ollama` and `openai` (any"
            " compatible server) send every memory and every query to `endpoint`; `auto` is Ollama when it answers"
            " and has the model while a store is made, else built-in; `none` keeps keywords only."
        ),
    ] = "builtin"
    model: Annotated[
        ModelName | None,
        Meta(
            description="The model of new stores: minilm_static_256_int8 (built-in, default) or minilm_l6_v2_int8"
            " (built-in, needs the extra `onnx`); nomic-embed-text is what Ollama is asked for by default; `openai`"
            " needs a name. `MNEMON_EMBED_MODEL` goes before it.",
        ),
    ] = None
    endpoint: Annotated[
        str,
        Meta(
            max_length=2_000,
            description="Where `ollama` or `openai` answers. http only to this machine (127.0.0.0/8, ::1, localhost),"
            " https elsewhere. `MNEMON_EMBED_ENDPOINT` goes before it.",
        ),
    ] = "http://localhost:11434"
    api_key_env: Annotated[
        VariableName | None,
        Meta(
            description="The environment variable of the daemon that holds the key `endpoint` asks for."
            " The key itself is never stored.",
        ),
    ] = None
    batch_size: Annotated[int, Meta(ge=1, le=128, description="Texts one request to `endpoint` carries.")] = 10
    dimensions: Annotated[
        Dimensions | None,
        Meta(
            description="Keep only so many numbers of each vector `endpoint` gives, for models made for it"
            " (Matryoshka). `MNEMON_EMBED_DIMENSIONS` goes before it.",
        ),
    ] = None
    timeout_s: Annotated[
        float, Meta(gt=0, le=600, description="Seconds a request to `endpoint` may take; for a query at most 2.")
    ] = 30.0
    probe_timeout_s: Annotated[
        float,
        Meta(gt=0, le=60, description="Seconds `endpoint` may take to say that it is there; asked every 30 s at most."),
    ] = 2.0


class Hnsw(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The graph of a large store. Larger numbers find more of the nearest memories, and take longer."""

    m: Annotated[int, Meta(ge=4, le=128, description="Links of a memory; twice as many on the lowest level.")] = 16
    ef_construction: Annotated[int, Meta(ge=8, le=2_000, description="Candidates held while a memory is linked.")] = 200
    ef_search: Annotated[int, Meta(ge=8, le=2_000, description="Candidates held while a query is answered.")] = 200


class Vector(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the nearest vectors are found. Whatever finds them, the cosines of those on top are exact."""

    index: Annotated[
        Literal["auto", "exact", "int8", "hnsw"],
        Meta(
            description="`exact` reads every vector; `int8` a quarter of the bytes, then the best 100 exactly, which"
            " finds the same; `hnsw` follows a graph, which finds nearly the same (needs the extra `hnsw`, else it is"
            " `int8`); `auto` takes what is fastest for the size of a store."
        ),
    ] = "auto"
    int8_from: Annotated[
        int, Meta(ge=0, le=100_000_000, description="With `auto`: memories from which it is `int8`.")
    ] = 3_000
    exact_limit: Annotated[
        int, Meta(ge=0, le=100_000_000, description="With `auto`: memories from which it is `hnsw`.")
    ] = 100_000
    hnsw: Hnsw = Hnsw()


class Server(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of the socket. They protect the daemon and its other clients from one bad client."""

    max_connections: Annotated[int, Meta(ge=1, le=4096, description="Connections held at once.")] = 256
    max_message_bytes: Annotated[
        int, Meta(ge=65_536, le=64 << 20, description="Bytes of one message, without its newline.")
    ] = 1 << 20
    max_in_flight: Annotated[
        int, Meta(ge=1, le=4096, description="Unanswered requests of one connection; beyond it reading stops.")
    ] = 64
    first_byte_timeout_s: Annotated[
        float, Meta(gt=0, le=3600, description="Seconds a new connection may stay silent.")
    ] = 10.0
    message_timeout_s: Annotated[
        float, Meta(gt=0, le=3600, description="Seconds from the first byte of a message to its end.")
    ] = 5.0
    write_timeout_s: Annotated[
        float, Meta(gt=0, le=3600, description="Seconds a client may take no bytes of a waiting reply.")
    ] = 30.0
    hook_deadline_ms: Annotated[
        int,
        Meta(ge=1, le=10_000, description="Milliseconds a hook of a coding agent waits for what memory has to say."),
    ] = 250
    drain_s: Annotated[
        float, Meta(gt=0, le=2.5, description="Seconds a stop may spend answering what was already received.")
    ] = 2.0


class Backup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Copies of stores, in the directory `backups` of the data directory."""

    keep: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000,
            description="Backups kept of each store, of each kind: those asked for, and those made before a store was"
            " restored or removed. A new one takes the place of the oldest.",
        ),
    ] = 10


Profile = Literal["balanced", "mnemon", "classic", "mnemosyne", "mem0"]


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings outside of any table; they stand at the beginning of the file."""

    profile: Annotated[
        Profile,
        Meta(description="A named set of other defaults, see below. Whatever is set goes before it."),
    ] = "balanced"
    lifecycle: Lifecycle = Lifecycle()
    pruning: Pruning = Pruning()
    embedding: Embedding = Embedding()
    vector: Vector = Vector()
    diff: Diff = Diff()
    commitment: Commitment = Commitment()
    graph: Graph = Graph()
    extraction: Extraction = Extraction()
    retrieval: Retrieval = Retrieval()
    backup: Backup = Backup()
    server: Server = Server()
    hooks: Hooks = Hooks()
    log: Log = Log()
