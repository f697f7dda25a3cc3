"""Loading settings from files, the environment and the command line.

A later source overrides an earlier one: the defaults of `mnemond.config.settings`, a profile, `config.toml` of the data
directory, `config.toml` of a store, the environment, the command line of `mnemond`.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import reduce
from pathlib import Path
from typing import Any, Final, get_args, get_origin, get_type_hints

import msgspec

from mnemond.config.regular_files import read_regular
from mnemond.config.sections import Section
from mnemond.config.settings import PROFILES, Config, config_from, refusal_of
from mnemond.errors import CONFIG, MnemonError

MAX_BYTES: Final = 1 << 20
"""Maximum size of a config.toml; a larger one is refused before it is read."""

FILE: Final = "config.toml"
"""Its name, in the data directory and in the directory of a store."""

PREFIX: Final = "MNEMON_"

SHORT_NAMES: Final = {
    "MNEMON_PROFILE": "profile",
    "MNEMON_EMBED_ENDPOINT": "embedding.endpoint",
    "MNEMON_EMBED_MODEL": "embedding.model",
    "MNEMON_EMBED_DIMENSIONS": "embedding.dimensions",
}
"""Variables whose name is not the path of their setting."""

OF_A_STORE: Final = (
    "profile", "lifecycle", "pruning", "diff", "commitment", "graph", "extraction", "core_summary", "retrieval",
    "sessions",
)  # fmt: skip
"""Settings of the first level that a store may have its own values of. The others hold for the whole daemon."""

LIVE: Final = (
    "commitment",
    "core_summary",
    "diff",
    "extraction",
    "graph",
    "hooks",
    "lifecycle.immune_access",
    "lifecycle.immune_importance",
    "lifecycle.max_insights",
    "lifecycle.prune_batch",
    "log",
    "mcp",
    "pruning",
    "retrieval",
    "server",
    "sessions",
)
"""Sections and settings that a running daemon applies as soon as they are read, see `Daemon.apply_settings`. The others
wait for a restart, because something was built with them: an embedder, an index, a schedule."""

DEFAULT: Final = "default"
"""The origin of a value that no source gives."""

_DEFAULT_HINT: Final = "mend these lines; docs/config.md lists every setting"


def is_section(hint: object) -> bool:
    """Return True for the type of a table, False for that of a setting."""
    return isinstance(hint, type) and issubclass(hint, Section)


def _settings(section: type, above: str = "") -> Iterator[tuple[str, Any]]:
    for name, hint in get_type_hints(section, include_extras=True).items():
        if is_section(hint):
            yield from _settings(hint, f"{above}{name}.")
        else:
            yield f"{above}{name}", hint


SETTINGS: Final[Mapping[str, Any]] = dict(_settings(Config))
"""The type of every setting, by its path: "diff.update"."""


class Sources(msgspec.Struct, frozen=True):
    """Where a daemon's settings come from. `arguments` are settings of its command line, "diff.update=0.7"."""

    path: Path
    environment: Mapping[str, str] = {}
    arguments: tuple[str, ...] = ()


class _Given(msgspec.Struct, frozen=True):
    value: object
    origin: str


_Layer = dict[str, _Given]
"""Settings of one source, by path."""


class Layers(msgspec.Struct, frozen=True):
    """Settings read outside of stores: `below` are overridden by the file of a store, `above` override it."""

    below: _Layer
    above: _Layer


class Loaded(msgspec.Struct, frozen=True):
    """The settings a daemon was started with, or that it applied since."""

    sources: Sources
    layers: Layers
    config: Config


class Configuration(msgspec.Struct, frozen=True):
    """The settings in force, and the origins of those that are not defaults, by path."""

    config: Config
    origins: Mapping[str, str]

    def value(self, path: str) -> object:
        """Return the value of a setting."""
        return value_of(self.config, path)

    def origin(self, path: str) -> str:
        """Return the origin of a setting: DEFAULT, "profile NAME", "FILE:LINE", "$VARIABLE", "--set" or "--profile"."""
        return self.origins.get(path, DEFAULT)


def read(sources: Sources) -> Layers:
    """Read all sources but the files of stores. A missing file gives nothing.

    Raises MnemonError(CONFIG) naming the file and line, the variable or the option, and the nearest known name.
    """
    below = _from_file(sources.path, None)
    return Layers(below, _from_environment(sources.environment) | _from_arguments(sources.arguments))


def loaded(sources: Sources) -> Loaded:
    """Read and resolve all sources but the files of stores. Raises MnemonError(CONFIG) as `read` does."""
    layers = read(sources)
    return Loaded(sources, layers, resolve(layers).config)


def loaded_from(config: Config, path: Path) -> Loaded:
    """Return `config` as if it had been read from the file at `path`."""
    given = {name: _Given(value_of(config, name), str(path)) for name in differing(config, Config())}
    return Loaded(Sources(path), Layers(given, {}), config)


def resolve(layers: Layers, store_file: Path | None = None) -> Configuration:
    """Compute the settings in force: of the daemon, or of a store with its own file.

    Raises MnemonError(CONFIG) as `read` does.
    """
    own = {} if store_file is None else _from_file(store_file, OF_A_STORE)
    given = layers.below | own | layers.above
    profile = str(given["profile"].value) if "profile" in given else "balanced"
    given = {path: _Given(value, f"profile {profile}") for path, value in PROFILES[profile].items()} | given
    config = config_from({path: each.value for path, each in given.items()})
    origins = {path: each.origin for path, each in given.items()}
    _refuse(f"{_origin_near(origins, path)}: {sentence}" for path, sentence in config.contradictions())
    return Configuration(config, origins)


def load(path: Path, environment: Mapping[str, str] | None = None) -> Config:
    """Return the configuration in `path`, overridden by `environment`. Raises MnemonError(CONFIG)."""
    return resolve(read(Sources(path, environment or {}))).config


def value_of(config: Config, path: str) -> object:
    """Return the value of a setting."""
    return reduce(getattr, path.split("."), config)


def variable_of(path: str) -> str:
    """Return the environment variable of a setting."""
    return PREFIX + path.upper().replace(".", "__")


def differing(one: Config, other: Config) -> list[str]:
    """Return the paths of the settings in which two configurations differ."""
    return [path for path in SETTINGS if value_of(one, path) != value_of(other, path)]


def is_live(path: str) -> bool:
    """Return True if a running daemon can apply the setting, such as "server.drain_s"."""
    return any(path == live or path.startswith(f"{live}.") for live in LIVE)


def _origin_near(origins: Mapping[str, str], path: str) -> str:
    """Return the origin of a setting; of one with its default, that of another setting of its table."""
    table = path.rpartition(".")[0] + "."
    beside = (origin for name, origin in origins.items() if name.startswith(table))
    return origins.get(path) or next(beside, path)


def _refuse(complaints: Iterable[str], hint: str = _DEFAULT_HINT) -> None:
    if found := list(complaints):
        raise MnemonError(CONFIG, "; ".join(found), hint=hint)


# Environment and command line


def _from_environment(environment: Mapping[str, str]) -> _Layer:
    """Read the settings given by variables; an empty one counts as unset. Short names override full ones."""
    found: _Layer = {}
    for variable in sorted(environment, key=lambda name: (name in SHORT_NAMES, name)):
        text = environment[variable].strip()
        if not text or not (variable in SHORT_NAMES or (variable.startswith(PREFIX) and "__" in variable)):
            continue
        path = SHORT_NAMES.get(variable) or variable.removeprefix(PREFIX).lower().replace("__", ".")
        if path not in SETTINGS:
            near, elsewhere = _nearest(path, SETTINGS), refusal_of(path)
            meant = f": {elsewhere}" if elsewhere else f"; did you mean {variable_of(near)}?" if near else ""
            _refuse([f"the variable {variable} stands for no setting{meant}"], hint="mend or unset it")
        what = f"the variable {variable}, which stands for {path}"
        found[path] = _Given(_converted(path, text, what, "mend or unset it"), f"${variable}")
    return found


def _from_arguments(arguments: tuple[str, ...]) -> _Layer:
    found: _Layer = {}
    for argument in arguments:
        path, equals, text = argument.partition("=")
        path = path.strip()
        option = "--profile" if path == "profile" else "--set"
        if not equals or path not in SETTINGS:
            near, elsewhere = _nearest(path, SETTINGS), refusal_of(path)
            meant = f": {elsewhere}" if elsewhere else f"; did you mean {near}?" if near and near != path else ""
            _refuse([f"--set {argument[:80]!a} is not SETTING=VALUE with a setting that exists{meant}"], hint="mend it")
        found[path] = _Given(_converted(path, text.strip(), f"{option}: {path}", "mend it"), option)
    return found


def _converted(path: str, text: str, what: str, hint: str) -> object:
    """Convert text to a value of a setting; a list is written with commas. Raises MnemonError(CONFIG)."""
    is_list = get_origin(get_args(SETTINGS[path])[0]) is tuple
    given = [part.strip() for part in text.split(",") if part.strip()] if is_list else text
    try:
        return msgspec.convert(given, SETTINGS[path], strict=False)
    except msgspec.ValidationError as error:
        with suppress(
            ValueError, msgspec.ValidationError
        ):  # a duration is a number or text: msgspec tries no number if text is allowed
            return msgspec.convert(float(text), SETTINGS[path])
        sentence = _sentence(str(error)).removesuffix(", got `str`")  # it is always text here, whatever it says
        raise MnemonError(CONFIG, f"{what}: {sentence}", hint=hint) from error


def _nearest(name: str, known: Mapping[str, Any]) -> str | None:
    close = difflib.get_close_matches(name[:200], known, n=1)
    return close[0] if close else None


def _sentence(message: str) -> str:
    return message[:1].lower() + message[1:]


# Files


def _from_file(path: Path, allowed: tuple[str, ...] | None) -> _Layer:
    """Read the settings of a file; `allowed`: those of the first level that it may have."""
    text = _read(path)
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise MnemonError(CONFIG, f"{path} is not valid TOML: {error}", hint="mend that line") from error
    except RecursionError as error:
        raise MnemonError(CONFIG, f"{path} is nested too deeply", hint="it should hold settings only") from error
    complaints = _complaints(raw, Config, (), text)
    if allowed is not None:
        complaints += [
            (_line_of(text, (key,)), f'"{key}" is one for all stores: it belongs in {FILE} of the data directory')
            for key in raw
            if key not in allowed and key in Config.__struct_fields__
        ]
    _refuse(f"{path}:{line}: {sentence}" for line, sentence in sorted(complaints))
    return {".".join(where): _Given(value, f"{path}:{_line_of(text, where)}") for where, value in _leaves(raw, ())}


def _read(path: Path) -> str:
    """Return the text of the file, "" if there is none."""
    try:
        content = read_regular(path, MAX_BYTES)
        if len(content) > MAX_BYTES:
            raise MnemonError(CONFIG, f"{path} is larger than {MAX_BYTES:,} bytes", hint="it should hold settings only")
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise MnemonError(CONFIG, f"{path} cannot be read: {why}", hint="it must be readable UTF-8 text") from error


def _leaves(raw: dict[str, Any], above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], object]]:
    for key, value in raw.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*above, key))
        else:
            yield (*above, key), value


def _complaints(raw: dict[str, Any], section: type, path: tuple[str, ...], text: str) -> list[tuple[int, str]]:
    """Return (line, sentence) for every unknown key and every value that is not valid."""
    hints = get_type_hints(section, include_extras=True)
    found: list[tuple[int, str]] = []
    for key, value in raw.items():
        where = (*path, key)
        line, name = _line_of(text, where), ".".join(where)
        if key not in hints:
            found.append((line, _unknown(name, key, path, hints)))
        elif is_section(hints[key]):
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


def _unknown(name: str, key: str, path: tuple[str, ...], hints: Mapping[str, Any]) -> str:
    """Return the complaint about a key that is no setting: where it is here, or the nearest known key."""
    if elsewhere := refusal_of(name):
        return f'unknown key "{name}": {elsewhere}'
    near = _nearest(key, hints)
    suggestion = f'; did you mean "{".".join((*path, near))}"?' if near else ""
    return f'unknown key "{name}"{suggestion}'


def _line_of(text: str, path: tuple[str, ...]) -> int:
    """Return the line of a key, found by nesting tables and keys as TOML does; 1 if it is written unusually."""
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
