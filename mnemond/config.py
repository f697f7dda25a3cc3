"""The configuration: `config.toml` in the data directory, typed, frozen, with every default in one place."""

from __future__ import annotations

import difflib
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from mnemond.errors import CONFIG, MnemonError

MAX_BYTES = 1 << 20
"""A larger config.toml is refused before it is read."""


class Lifecycle(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much a store keeps."""

    max_insights: Annotated[
        int,
        Meta(
            ge=0,
            le=100_000_000,
            description="Active memories a store should hold; above it `status` reports over_capacity. 0 = no cap.",
        ),
    ] = 1000


class Embedding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What turns text into vectors. A store keeps the embedder it was made with."""

    provider: Annotated[
        Literal["builtin", "none"],
        Meta(description="`builtin` is a model shipped in the package, run in process; `none` keeps keywords only."),
    ] = "builtin"
    model: Annotated[
        Literal["minilm_static_256_int8", "minilm_l6_v2_int8"] | None,
        Meta(description="The built-in model of new stores. minilm_l6_v2_int8 needs the extra `onnx`."),
    ] = None


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
    server: Server = Server()


def load(path: Path) -> Config:
    """The configuration in `path`, or every default when there is no such file.

    Raises MnemonError(CONFIG) naming the file, the line and, for an unknown key, the nearest known one.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise MnemonError(CONFIG, f"{path} is larger than {MAX_BYTES:,} bytes", hint="it should hold settings only")
        text = path.read_text("utf-8-sig")
    except FileNotFoundError:
        return Config()
    except (OSError, UnicodeDecodeError) as error:
        raise MnemonError(CONFIG, f"{path} cannot be read: {error}", hint="it must be readable UTF-8 text") from error
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise MnemonError(CONFIG, f"{path} is not valid TOML: {error}", hint="mend that line") from error
    complaints = _complaints(raw, Config, (), text)
    if complaints:
        message = "; ".join(f"{path}:{line}: {sentence}" for line, sentence in sorted(complaints))
        raise MnemonError(CONFIG, message, hint="mend these lines; docs/config.md lists every setting")
    return msgspec.convert(raw, Config)


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
        lines += [
            f"## [{section}]",
            "",
            str(kind.__doc__),
            "",
            "| setting | type | default | what |",
            "|---|---|---|---|",
        ]
        defaults = kind()
        for name, annotation in get_type_hints(kind, include_extras=True).items():
            base, meta = get_args(annotation)[0], get_args(annotation)[1]
            default = getattr(defaults, name)
            shown = "built-in" if default is None else str(default)
            lines.append(f"| `{name}` | {_type_name(base, meta)} | {shown} | {meta.description} |")
        lines.append("")
    return "\n".join(lines)


def _type_name(base: Any, meta: Meta) -> str:  # noqa: ANN401 - a type expression
    """A type as people write it, with its range."""
    if get_origin(base) is Literal:
        return " or ".join(f'"{choice}"' for choice in get_args(base))
    if choices := [part for part in get_args(base) if get_origin(part) is Literal]:
        return _type_name(choices[0], meta)
    low = f"{meta.ge:,}" if meta.ge is not None else f"above {meta.gt:,}" if meta.gt is not None else None
    return f"{base.__name__}, {low} … {meta.le:,}" if low is not None else str(base.__name__)
