"""The configuration: `config.toml` in the data directory, typed, frozen, with every default in one place."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from mnemond.errors import CONFIG, MnemonError
from mnemond.write_settings import Commitment, Diff, Graph, Lifecycle, contradictions

MAX_BYTES = 1 << 20
"""A larger config.toml is refused before it is read."""

ENVIRONMENT = {
    "MNEMON_EMBED_ENDPOINT": ("embedding", "endpoint"),
    "MNEMON_EMBED_MODEL": ("embedding", "model"),
    "MNEMON_EMBED_DIMENSIONS": ("embedding", "dimensions"),
}
"""Variables that go before the file, with the setting they stand for. An empty one counts as unset."""


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
    ] = 15_000
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
    drain_s: Annotated[
        float, Meta(gt=0, le=2.5, description="Seconds a stop may spend answering what was already received.")
    ] = 2.0


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Every setting there is."""

    lifecycle: Lifecycle = Lifecycle()
    embedding: Embedding = Embedding()
    vector: Vector = Vector()
    diff: Diff = Diff()
    commitment: Commitment = Commitment()
    graph: Graph = Graph()
    server: Server = Server()


def load(path: Path, environment: Mapping[str, str] | None = None) -> Config:
    """The configuration in `path`, or every default when there is no such file, with what `environment` overrides.

    Raises MnemonError(CONFIG) naming the file, the line and, for an unknown key, the nearest known one.
    """
    text = _read(path)
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise MnemonError(CONFIG, f"{path} is not valid TOML: {error}", hint="mend that line") from error
    _refuse(path, _complaints(raw, Config, (), text))
    for (section, setting), value in _overrides(environment or {}).items():
        raw.setdefault(section, {})[setting] = value
    config = msgspec.convert(raw, Config)
    apart = contradictions(config.diff, config.commitment, config.graph)
    _refuse(path, [(_line_of(text, where), sentence) for where, sentence in apart])
    return config


def _refuse(path: Path, complaints: list[tuple[int, str]]) -> None:
    if complaints:
        message = "; ".join(f"{path}:{line}: {sentence}" for line, sentence in sorted(complaints))
        raise MnemonError(CONFIG, message, hint="mend these lines; docs/config.md lists every setting")


def _read(path: Path) -> str:
    """The text of the file, "" when there is none."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise MnemonError(CONFIG, f"{path} is larger than {MAX_BYTES:,} bytes", hint="it should hold settings only")
        return path.read_text("utf-8-sig")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise MnemonError(CONFIG, f"{path} cannot be read: {error}", hint="it must be readable UTF-8 text") from error


def _overrides(environment: Mapping[str, str]) -> dict[tuple[str, str], Any]:
    """Settings given by variables, by section and name. Raises MnemonError(CONFIG) naming the variable."""
    found: dict[tuple[str, str], Any] = {}
    for variable, (section, setting) in ENVIRONMENT.items():
        if value := environment.get(variable, "").strip():
            kind = get_type_hints(get_type_hints(Config)[section], include_extras=True)[setting]
            try:
                found[section, setting] = msgspec.convert(value, kind, strict=False)
            except msgspec.ValidationError as error:
                raise MnemonError(
                    CONFIG,
                    f"the variable {variable}, which stands for {section}.{setting}: {_sentence(str(error))}",
                    hint="mend or unset it",
                ) from error
    return found


def _complaints(raw: dict[str, Any], section: type, path: tuple[str, ...], text: str) -> list[tuple[int, str]]:
    """(line, sentence) for every unknown key and every value of the wrong kind."""
    hints = get_type_hints(section, include_extras=True)
    found: list[tuple[int, str]] = []
    for key, value in raw.items():
        where = (*path, key)
        line, name = _line_of(text, where), ".".join(where)
        if key not in hints:
            near = difflib.get_close_matches(key, hints, n=1)
            suggestion = f'; did you mean "{".".join((*path, near[0]))}"?' if near else ""
            found.append((line, f'unknown key "{name}"{suggestion}'))
        elif isinstance(hints[key], type) and issubclass(hints[key], msgspec.Struct):
            if isinstance(value, dict):
                found += _complaints(value, hints[key], where, text)
            else:
                found.append((line, f"{name} is a table: write [{name}] and its settings below it"))
        else:
            try:
                msgspec.convert(value, hints[key])
            except msgspec.ValidationError as error:
                found.append((line, f"{name}: {_sentence(str(error))}"))
    return found


def _sentence(message: str) -> str:
    return message[:1].lower() + message[1:]


def _line_of(text: str, path: tuple[str, ...]) -> int:
    """The line of a key, found by reading tables and keys the way TOML nests them; 1 when it is written unusually."""
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[+\s*([^\]#]+?)\s*\]+", line):
            table = tuple(part.strip().strip("\"'") for part in header[1].split("."))
        elif assignment := re.match(r"\s*([^=#]+?)\s*=", line):
            key = (*table, *(part.strip().strip("\"'") for part in assignment[1].split(".")))
            if key[: len(path)] == path:
                return number
        if table[: len(path)] == path:
            return number
    return 1


def config_markdown() -> str:
    """The table of settings for the documentation."""
    lines = [
        "# Configuration",
        "",
        "`config.toml` in the data directory (`~/.mnemon` unless `--data-dir` or `MNEMON_DATA_DIR` says otherwise).",
        "Read when the daemon starts. Unknown keys are refused with their line. Every setting is optional.",
        "",
    ]
    for section, kind in get_type_hints(Config).items():
        lines += _section((section,), kind)
    return "\n".join(lines)


def _section(path: tuple[str, ...], kind: type) -> list[str]:
    """A table of settings, and those of the tables within it."""
    lines = [f"{'#' * (1 + len(path))} [{'.'.join(path)}]", "", " ".join(str(kind.__doc__).split()), ""]
    hints = get_type_hints(kind, include_extras=True)
    tables = {name: hint for name, hint in hints.items() if isinstance(hint, type)}
    if len(tables) < len(hints):
        lines += ["| setting | type | default | what |", "|---|---|---|---|"]
        lines += [_setting(name, hint, getattr(kind(), name)) for name, hint in hints.items() if name not in tables]
        lines.append("")
    for name, table in tables.items():
        lines += _section((*path, name), table)
    return lines


def _setting(name: str, annotation: Any, default: object) -> str:  # noqa: ANN401 - a type expression
    base, meta = get_args(annotation)[0], get_args(annotation)[1:]
    said = next(each.description for each in meta if each.description is not None)
    shown = "unset" if default is None else str(default).lower() if isinstance(default, bool) else str(default)
    limits = next((each for each in meta if each.le is not None), Meta())
    return f"| `{name}` | {_type_name(base, limits)} | {shown} | {said} |"


def _type_name(base: Any, meta: Meta) -> str:  # noqa: ANN401 - a type expression
    """A type as people write it, with its range."""
    if get_origin(base) is Literal:
        return " or ".join(f'"{choice}"' for choice in get_args(base))
    if get_origin(base) is Annotated:
        return _type_name(*get_args(base))
    if get_args(base):
        kinds = [part for part in get_args(base) if part is not type(None)]
        return " or ".join(_type_name(kind, meta) for kind in kinds)
    low = f"{meta.ge:,}" if meta.ge is not None else f"above {meta.gt:,}" if meta.gt is not None else None
    return f"{base.__name__}, {low} … {meta.le:,}" if low is not None else str(base.__name__)
