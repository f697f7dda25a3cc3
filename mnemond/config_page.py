"""docs/config.md, made of the settings themselves, so that it cannot be wrong."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from msgspec import Meta

from mnemond.config import Config
from mnemond.config_profiles import PROFILES
from mnemond.config_sources import OF_A_STORE, SHORT_NAMES, value_of

_HEAD = f"""# Configuration

`config.toml` in the data directory (`~/.mnemon` unless `--data-dir` or `MNEMON_DATA_DIR` says otherwise) is TOML; it is
read when the daemon starts, and every setting is optional. What goes before what, the first first:

1. the command line: `mnemond --set diff.update=0.7`, `mnemond --profile NAME`;
2. the environment: `MNEMON_DIFF__UPDATE=0.7`, the path of a setting in capitals with two underscores between its parts;
   an empty variable counts as unset; short names are {", ".join(f"`{name}`" for name in SHORT_NAMES)};
3. `data/NAME/config.toml`, for one store: {", ".join(f"`{name}`" for name in OF_A_STORE)}; read when it is opened;
4. `config.toml` of the data directory, or the file that `mnemond --config FILE` names;
5. the profile;
6. the defaults below.

An unknown key is refused with its file, its line and the nearest known one, and so is a variable or an option. A daemon
that runs goes on with what it has. `mnemonctl config show --origin` says what counts and where it came from,
`mnemonctl config check` whether a daemon could start with it.
"""


def config_markdown() -> str:
    """The page."""
    lines = [*_HEAD.splitlines(), "", *_section((), Config)]
    return "\n".join(lines)


def _profiles() -> list[str]:
    """What each profile says instead of the defaults."""
    paths = sorted({path for values in PROFILES.values() for path in values})
    return [
        "### Profiles", "", f"| setting | {' | '.join(PROFILES)} |", "|---|" + "---|" * len(PROFILES),
        *(f"| `{path}` | {' | '.join(_shown(_in_profile(name, path)) for name in PROFILES)} |" for path in paths),
        "",
    ]  # fmt: skip


def _in_profile(name: str, path: str) -> object:
    return PROFILES[name].get(path, value_of(Config(), path))


def _shown(value: object) -> str:
    return "unset" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _section(path: tuple[str, ...], kind: type) -> list[str]:
    """A table of settings, and those of the tables within it."""
    title = f"{'#' * (1 + len(path))} [{'.'.join(path)}]" if path else "## Settings of no table"
    lines = [title, "", " ".join(str(kind.__doc__).split()), ""]
    hints = get_type_hints(kind, include_extras=True)
    tables = {name: hint for name, hint in hints.items() if isinstance(hint, type)}
    if len(tables) < len(hints):
        lines += ["| setting | type | default | what |", "|---|---|---|---|"]
        lines += [_setting(name, hint, getattr(kind(), name)) for name, hint in hints.items() if name not in tables]
        lines.append("")
    if not path:
        lines += _profiles()
    for name, table in tables.items():
        lines += _section((*path, name), table)
    return lines


def _setting(name: str, annotation: Any, default: object) -> str:  # noqa: ANN401 - a type expression
    base, meta = get_args(annotation)[0], get_args(annotation)[1:]
    said = next(each.description for each in meta if each.description is not None)
    limits = next((each for each in meta if each.le is not None), Meta())
    return f"| `{name}` | {_type_name(base, limits)} | {_shown(default)} | {said} |"


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
