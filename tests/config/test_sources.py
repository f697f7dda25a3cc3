"""Which of several values counts, and where it came from."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.config.loading import (
    DEFAULT,
    OF_A_STORE,
    SETTINGS,
    Configuration,
    Sources,
    differing,
    load,
    loaded_from,
    read,
    resolve,
    value_of,
    variable_of,
)
from mnemond.config.settings import PROFILES, Config
from mnemond.errors import CONFIG, MnemonError
from tests.tables import each_row

NOWHERE = Path("/nonexistent/config.toml")


def found(tmp_path: Path, base: str = "", store: str | None = None, *arguments: str, **variables: str) -> Configuration:
    path, own = tmp_path / "config.toml", tmp_path / "store.toml"
    path.write_text(base)
    if store is not None:
        own.write_text(store)
    return resolve(read(Sources(path, variables, arguments)), None if store is None else own)


def refused(tmp_path: Path, base: str = "", store: str | None = None, *arguments: str, **variables: str) -> str:
    with pytest.raises(MnemonError) as caught:
        found(tmp_path, base, store, *arguments, **variables)
    assert caught.value.kind is CONFIG
    return caught.value.message.replace(f"{tmp_path}/", "")


def test_each_layer_goes_before_those_below_it(tmp_path: Path) -> None:
    base, own = '\nprofile = "classic"\n[diff]\nupdate = 0.6\n', "[diff]\nupdate = 0.61\n"
    variable = {"MNEMON_DIFF__UPDATE": "0.62"}
    assert [
        (it.value("diff.update"), it.origin("diff.update").removeprefix(f"{tmp_path}/"))
        for it in (
            found(tmp_path),
            found(tmp_path, base.replace("update = 0.6", "")),
            found(tmp_path, base),
            found(tmp_path, base, own),
            found(tmp_path, base, own, **variable),
            found(tmp_path, base, own, "diff.update=0.63", **variable),
        )
    ] == [
        (0.65, DEFAULT), (0.5, "profile classic"), (0.6, "config.toml:4"), (0.61, "store.toml:2"),
        (0.62, "$MNEMON_DIFF__UPDATE"), (0.63, "--set"),
    ]  # fmt: skip


LAYERS = ("profile", "base", "store", "environment", "argument")


@given(st.sets(st.sampled_from(LAYERS)))
def test_the_highest_layer_that_says_anything_counts(tmp_path_factory: pytest.TempPathFactory, said: set[str]) -> None:
    tmp_path = tmp_path_factory.mktemp("layers")
    values = {"profile": False, "base": True, "store": False, "environment": True, "argument": False}
    key, table = "enabled", "[commitment.redundancy]\n"
    lines = ['profile = "classic"\n'] * ("profile" in said)
    base = "".join(lines) + (f"{table}{key} = true\n" if "base" in said else "")
    store = f"{table}{key} = false\n" if "store" in said else ""
    arguments = ["commitment.redundancy.enabled=false"] * ("argument" in said)
    variables = {"MNEMON_COMMITMENT__REDUNDANCY__ENABLED": "true"} if "environment" in said else {}
    counting = [layer for layer in LAYERS if layer in said]
    it = found(tmp_path, base, store, *arguments, **variables)
    assert it.config.commitment.redundancy.enabled is (values[counting[-1]] if counting else True)
    assert (it.origin("commitment.redundancy.enabled") == DEFAULT) == (not counting)


def test_a_profile_may_be_chosen_anywhere_and_is_only_other_defaults(tmp_path: Path) -> None:
    chosen = [
        found(tmp_path, 'profile = "mem0"\n'),
        found(tmp_path, 'profile = "mnemon"\n', 'profile = "mem0"\n'),
        found(tmp_path, MNEMON_PROFILE="mem0"),
        found(tmp_path, 'profile = "mnemon"\n', None, "profile=mem0", MNEMON_PROFILE="classic"),
    ]
    assert {(it.config.profile, it.config.diff.update) for it in chosen} == {("mem0", 0.85)}
    assert chosen[3].origin("profile") == "--profile"
    assert found(tmp_path, 'profile = "mem0"\n[diff]\nupdate = 0.7\n').config.diff.update == 0.7
    message = refused(tmp_path, 'profile = "mem1"\n')
    assert message == "config.toml:1: profile: invalid enum value 'mem1'"


@each_row("name", PROFILES)
def test_every_profile_is_made_of_settings_that_exist_and_can_be_used(tmp_path: Path, name: str) -> None:
    assert set(PROFILES[name]) <= set(SETTINGS)
    it = found(tmp_path, f'profile = "{name}"\n')
    expected = {path for path, value in PROFILES[name].items() if value_of(Config(), path) != value}
    assert set(differing(it.config, Config())) - {"profile"} == expected
    assert all(it.value(path) == value for path, value in PROFILES[name].items())


@each_row("path", SETTINGS)
def test_every_setting_has_a_variable(path: str) -> None:
    value = value_of(Config(), path)
    if value is None:
        return
    variable = variable_of(path)
    text = str(value).lower() if isinstance(value, bool) else str(value)
    text = ", ".join(value) if isinstance(value, tuple) else text
    it = resolve(read(Sources(NOWHERE, {variable: text})))
    assert (it.value(path), it.origin(path)) == (value, f"${variable}")


@each_row("value", ["90", "1.5", "90s", "15m", "12h", "30d"])
def test_a_duration_is_a_number_or_text_wherever_it_is_typed(tmp_path: Path, value: str) -> None:
    it = found(tmp_path, "", None, f"commitment.redundancy.boost_max={value}")
    written = value if value[-1].isalpha() else float(value)
    assert it.config.commitment.redundancy.boost_max == written
    toml = f'"{value}"' if value[-1].isalpha() else value
    assert found(tmp_path, f"[commitment.redundancy]\nboost_max = {toml}\n").config == it.config


@each_row(
    ("variables", "expected"),
    [
        ({"MNEMON_DIF__UPDATE": "1"}, "stands for no setting; did you mean MNEMON_DIFF__UPDATE?"),
        ({"MNEMON_X__Y": "1"}, "the variable MNEMON_X__Y stands for no setting"),
        ({"MNEMON_DIFF__UPDATE": "two"}, "MNEMON_DIFF__UPDATE, which stands for diff.update: expected `float`"),
        ({"MNEMON_DIFF__UPDATE": "nan"}, "MNEMON_DIFF__UPDATE, which stands for diff.update: expected `float`"),
        ({"MNEMON_PROFILE": "x"}, "MNEMON_PROFILE, which stands for profile: invalid enum value 'x'"),
        ({"MNEMON_DIFF__UPDATE": "0.95"}, "$MNEMON_DIFF__UPDATE: diff.update (0.95) must be below diff.duplicate"),
    ],
)
def test_a_variable_that_cannot_be_used_is_named(tmp_path: Path, variables: dict[str, str], expected: str) -> None:
    assert expected in refused(tmp_path, **variables)


def test_variables_that_are_no_settings_or_empty_do_not_matter(tmp_path: Path) -> None:
    others = {"MNEMON_STORE": "work", "MNEMON_DATA_DIR": "/x", "MNEMON_DIFF__UPDATE": " ", "OTHER__THING": "1"}
    assert found(tmp_path, **others) == found(tmp_path)


@each_row(
    ("argument", "expected"),
    [
        ("diff.updat=0.5", "is not SETTING=VALUE with a setting that exists; did you mean diff.update?"),
        ("diff.update", "--set 'diff.update' is not SETTING=VALUE"),
        ("diff.update=x", "--set: diff.update: expected `float`"),
        ("profile=x", "--profile: profile: invalid enum value"),
    ],
)
def test_an_argument_that_cannot_be_used_is_named(tmp_path: Path, argument: str, expected: str) -> None:
    assert expected in refused(tmp_path, "", None, argument)


def test_a_store_has_no_say_in_what_is_one_for_all(tmp_path: Path) -> None:
    message = refused(tmp_path, "", "[server]\ndrain_s = 1\n[diff]\nupdat = 1\n")
    assert message == (
        'store.toml:1: "server" is one for all stores: it belongs in config.toml of the data directory; '
        'store.toml:4: unknown key "diff.updat"; did you mean "diff.update"?'
    )
    assert set(OF_A_STORE) <= set(Config.__struct_fields__)


def test_contradictions_between_layers_name_the_place_that_made_them(tmp_path: Path) -> None:
    assert refused(tmp_path, "[diff]\nduplicate = 0.7\n", "[diff]\nupdate = 0.8\n").startswith("store.toml:2: diff.upd")
    assert refused(tmp_path, "[diff]\nduplicate = 0.6\n").startswith("config.toml:2: diff.update (0.65) must be below")


def test_what_was_read_once_stays(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("[diff]\nupdate = 0.6\n")
    layers = read(Sources(path))
    path.write_text("[diff]\nupdate = 0.7\n")
    assert resolve(layers, tmp_path / "none.toml").config.diff.update == 0.6


def test_a_configuration_made_by_hand_can_be_a_layer(tmp_path: Path) -> None:
    config = msgspec.structs.replace(Config(), diff=msgspec.structs.replace(Config().diff, update=0.5))
    assert resolve(loaded_from(config, tmp_path / "config.toml").layers).config == config


def outcome(path: Path) -> str:
    """How reading ends; anything but an error in words that names the file is not caught."""
    try:
        load(path)
    except MnemonError as error:
        return "refused" if error.kind is CONFIG and str(path) in error.message else error.message
    return "read"


@each_row(
    "text", ["a = " + "[" * 3000, "[" * 2000, "x = 1\n" * 3, '"a\\u0000b" = 1', "[diff]\n\tupdate\t=\t0.6\n", "\ufeff"]
)
def test_odd_files_are_read_or_refused_in_words(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    assert outcome(path) in ("read", "refused")


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_in_words(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("any") / "config.toml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    assert outcome(path) in ("read", "refused")
