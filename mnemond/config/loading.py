"""Where settings come from, and which of them counts.

A later source overrides an earlier one: the defaults of `mnemond.config.settings`, a profile, `config.toml` of the data
directory,
`config.toml` of a store, the environment, the command line of `mnemond` (spec 5).
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import reduce
from pathlib import Path
from typing import Any, Final, get_type_hints

import msgspec

from mnemond.config.settings import PROFILES, Config, contradictions
from mnemond.errors import CONFIG, MnemonError

MAX_BYTES = 1 << 20
"""A larger config.toml is refused before it is read."""

FILE: Final = "config.toml"
"""Its name, in the data directory and in the directory of a store."""

PREFIX: Final = "MNEMON_"

SHORT_NAMES: Final = {
    "MNEMON_PROFILE": "profile",
    "MNEMON_EMBED_ENDPOINT": "embedding.endpoint",
    "MNEMON_EMBED_MODEL": "embedding.model",
    "MNEMON_EMBED_DIMENSIONS": "embedding.dimensions",
}
"""Variables that stand for a setting without spelling its path."""

OF_A_STORE: Final = ("profile", "lifecycle", "pruning", "diff", "commitment", "graph", "extraction", "retrieval")
"""What a store may have its own values of. The rest is one for the whole daemon."""

DEFAULT: Final = "default"
"""The origin of a value that nobody gave."""


def _settings(section: type, above: str = "") -> Iterator[tuple[str, Any]]:
    for name, kind in get_type_hints(section, include_extras=True).items():
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            yield from _settings(kind, f"{above}{name}.")
        else:
            yield f"{above}{name}", kind


SETTINGS: Final[Mapping[str, Any]] = dict(_settings(Config))
"""The type of every setting, by its path: "diff.update"."""


class Sources(msgspec.Struct, frozen=True):
    """What a daemon is configured by. `arguments` are settings of its command line, "diff.update=0.7"."""

    path: Path
    environment: Mapping[str, str] = {}
    arguments: tuple[str, ...] = ()


class Loaded(msgspec.Struct, frozen=True):
    """What a daemon was started with, or goes by since it was told to read it anew."""

    sources: Sources
    layers: Layers
    config: Config


class Configuration(msgspec.Struct, frozen=True):
    """The settings that count, and where those came from that are not defaults: a path of SETTINGS → words."""

    config: Config
    origins: Mapping[str, str]

    def value(self, path: str) -> object:
        """The value of a setting."""
        return value_of(self.config, path)

    def origin(self, path: str) -> str:
        """Where it came from: DEFAULT, "profile NAME", "FILE:LINE", "$VARIABLE", "--set" or "--profile"."""
        return self.origins.get(path, DEFAULT)


class _Given(msgspec.Struct, frozen=True):
    value: object
    origin: str


_Layer = dict[str, _Given]


class Layers(msgspec.Struct, frozen=True):
    """What was read once and stays: `below` and `above` are what the file of a store goes before, and what goes before
    it."""

    below: _Layer
    above: _Layer


def read(sources: Sources) -> Layers:
    """What is said outside of stores. A file that is not there says nothing.

    Raises MnemonError(CONFIG) naming the file and line, the variable or the option, and the nearest known name.
    """
    below = _from_file(sources.path, None)
    return Layers(below, _from_environment(sources.environment) | _from_arguments(sources.arguments))


def loaded(sources: Sources) -> Loaded:
    """Everything that is said outside of stores. Raises MnemonError(CONFIG) as `read` does."""
    layers = read(sources)
    return Loaded(sources, layers, resolve(layers).config)


def loaded_from(config: Config, path: Path) -> Loaded:
    """A configuration that was not read anywhere, as if the file at `path` said it."""
    given = {name: _Given(value_of(config, name), str(path)) for name in differing(config, Config())}
    return Loaded(Sources(path), Layers(given, {}), config)


def resolve(layers: Layers, store_file: Path | None = None) -> Configuration:
    """What counts: for the daemon, or for one store with its own file. Raises MnemonError(CONFIG) as `read` does."""
    own = {} if store_file is None else _from_file(store_file, OF_A_STORE)
    given = layers.below | own | layers.above
    profile = str(given["profile"].value) if "profile" in given else "balanced"
    given = {path: _Given(value, f"profile {profile}") for path, value in PROFILES[profile].items()} | given
    config = msgspec.convert(_nested(given), Config)
    origins = {path: each.origin for path, each in given.items()}
    if apart := contradictions(config.diff, config.commitment, config.graph):
        _refuse([f"{_origin_near(origins, '.'.join(where))}: {sentence}" for where, sentence in apart])
    return Configuration(config, origins)


def load(path: Path, environment: Mapping[str, str] | None = None) -> Config:
    """The configuration in `path` with what `environment` overrides. Raises MnemonError(CONFIG)."""
    return resolve(read(Sources(path, environment or {}))).config


def value_of(config: Config, path: str) -> object:
    """The value of a setting."""
    return reduce(getattr, path.split("."), config)


def variable_of(path: str) -> str:
    """The variable that stands for a setting."""
    return PREFIX + path.upper().replace(".", "__")


def differing(one: Config, other: Config) -> list[str]:
    """Paths of the settings in which two configurations differ."""
    return [path for path in SETTINGS if value_of(one, path) != value_of(other, path)]


def _nested(given: _Layer) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for path, each in given.items():
        *tables, name = path.split(".")
        reduce(lambda table, key: table.setdefault(key, {}), tables, tree)[name] = each.value
    return tree


def _origin_near(origins: Mapping[str, str], path: str) -> str:
    """Where the setting came from; of one that nobody gave, where another of its table did."""
    table = path.rpartition(".")[0] + "."
    beside = (origin for name, origin in origins.items() if name.startswith(table))
    return origins.get(path) or next(beside, path)


def _refuse(complaints: list[str], hint: str = "mend these lines; docs/config.md lists every setting") -> None:
    if complaints:
        raise MnemonError(CONFIG, "; ".join(complaints), hint=hint)


# ------------------------------------------------------------------ words typed somewhere


def _from_environment(environment: Mapping[str, str]) -> _Layer:
    """Settings given by variables; an empty one counts as unset. Short names go before spelt-out ones."""
    found: _Layer = {}
    for variable in sorted(environment, key=lambda name: (name in SHORT_NAMES, name)):
        text = environment[variable].strip()
        if not text or not (variable in SHORT_NAMES or (variable.startswith(PREFIX) and "__" in variable)):
            continue
        path = SHORT_NAMES.get(variable) or variable.removeprefix(PREFIX).lower().replace("__", ".")
        if path not in SETTINGS:
            near = _nearest(path, SETTINGS)
            meant = f"; did you mean {variable_of(near)}?" if near else ""
            _refuse([f"the variable {variable} stands for no setting{meant}"], hint="mend or unset it")
        found[path] = _Given(
            _typed(path, text, f"the variable {variable}, which stands for {path}", "mend or unset it"), f"${variable}"
        )
    return found


def _from_arguments(arguments: tuple[str, ...]) -> _Layer:
    found: _Layer = {}
    for argument in arguments:
        path, equals, text = argument.partition("=")
        path = path.strip()
        option = "--profile" if path == "profile" else "--set"
        if not equals or path not in SETTINGS:
            near = _nearest(path, SETTINGS)
            meant = f"; did you mean {near}?" if near and near != path else ""
            _refuse([f"--set {argument[:80]!a} is not SETTING=VALUE with a setting that exists{meant}"], hint="mend it")
        found[path] = _Given(_typed(path, text.strip(), f"{option}: {path}", "mend it"), option)
    return found


def _typed(path: str, text: str, what: str, hint: str) -> object:
    """A value given as text. Raises MnemonError(CONFIG)."""
    try:
        return msgspec.convert(text, SETTINGS[path], strict=False)
    except msgspec.ValidationError as error:
        if (number := _number(text)) is not None:  # a duration is a number or text: msgspec looks no further than text
            with suppress(msgspec.ValidationError):
                return msgspec.convert(number, SETTINGS[path])
        raise MnemonError(CONFIG, f"{what}: {_sentence(str(error))}", hint=hint) from error


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _nearest(name: str, known: Mapping[str, Any]) -> str | None:
    close = difflib.get_close_matches(name[:200], known, n=1)
    return close[0] if close else None


def _sentence(message: str) -> str:
    return message[:1].lower() + message[1:]


# ------------------------------------------------------------------ files


def _from_file(path: Path, sections: tuple[str, ...] | None) -> _Layer:
    """What a file sets; only in `sections`, if they are given."""
    text = _read(path)
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise MnemonError(CONFIG, f"{path} is not valid TOML: {error}", hint="mend that line") from error
    except RecursionError as error:
        raise MnemonError(CONFIG, f"{path} is nested too deeply", hint="it should hold settings only") from error
    complaints = _complaints(raw, Config, (), text)
    if sections is not None:
        complaints += [
            (_line_of(text, (key,)), f'"{key}" is one for all stores: it belongs in {FILE} of the data directory')
            for key in raw
            if key not in sections and key in Config.__struct_fields__
        ]
    _refuse([f"{path}:{line}: {sentence}" for line, sentence in sorted(complaints)])
    return {
        ".".join(where): _Given(value, f"{path}:{_line_of(text, where)}") for where, value in _leaves(raw, Config, ())
    }


def _leaves(raw: dict[str, Any], section: type, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], object]]:
    hints = get_type_hints(section)
    for key, value in raw.items():
        if isinstance(value, dict):
            yield from _leaves(value, hints[key], (*above, key))
        else:
            yield (*above, key), value


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


def _complaints(raw: dict[str, Any], section: type, path: tuple[str, ...], text: str) -> list[tuple[int, str]]:
    """(line, sentence) for every unknown key and every value of the wrong kind."""
    hints = get_type_hints(section, include_extras=True)
    found: list[tuple[int, str]] = []
    for key, value in raw.items():
        where = (*path, key)
        line, name = _line_of(text, where), ".".join(where)
        if key not in hints:
            near = _nearest(key, hints)
            suggestion = f'; did you mean "{".".join((*path, near))}"?' if near else ""
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


# Which settings a running daemon can take up.


LIVE: Final = (
    "commitment",
    "diff",
    "extraction",
    "graph",
    "hooks",
    "lifecycle.immune_access",
    "lifecycle.immune_importance",
    "lifecycle.max_insights",
    "lifecycle.prune_batch",
    "log",
    "pruning",
    "retrieval",
    "server",
)
"""Sections and settings that are taken up as soon as they are read: `Daemon.go_by` hands them on. What is not listed
here waits for a restart, because something was built with it: an embedder, an index, a schedule."""


def is_live(setting: str) -> bool:
    """Whether the setting with this path, such as "server.drain_s", needs no restart."""
    return any(setting == live or setting.startswith(f"{live}.") for live in LIVE)
