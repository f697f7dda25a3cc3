"""Settings are typed; what cannot be used is named with file, line and nearest known key."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemond.config import MAX_BYTES, Config, config_markdown, load
from mnemond.errors import CONFIG, MnemonError


def complaint(path: Path, text: str) -> str:
    path.write_text(text)
    with pytest.raises(MnemonError) as caught:
        load(path)
    assert caught.value.kind is CONFIG
    return caught.value.message.replace(str(path), "F")


def test_no_file_means_defaults(tmp_path: Path) -> None:
    assert load(tmp_path / "config.toml") == Config()


def test_values_are_read(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('\ufeff[lifecycle]\nmax_insights = 0\n[embedding]\nprovider = "none"\n[server]\ndrain_s = 1\n')
    config = load(path)
    assert config.lifecycle.max_insights == 0
    assert config.embedding.provider == "none"
    assert config.server.drain_s == 1.0
    assert config.server.max_connections == 256


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "[server]\n\nmax_conections = 3\n",
            'F:3: unknown key "server.max_conections"; did you mean "server.max_connections"?',
        ),
        ("# x\n[serve]\na = 1\n", 'F:2: unknown key "serve"; did you mean "server"?'),
        ("colour = 1\n", 'F:1: unknown key "colour"'),
        ("[lifecycle]\nmax_insights = -1\n", "F:2: lifecycle.max_insights: expected `int` >= 0"),
        ('[server]\nmax_connections = "many"\n', "F:2: server.max_connections: expected `int`, got `str`"),
        ("server = 3\n", "F:1: server is a table: write [server] and its settings below it"),
        ("lifecycle.max_insights = true\n", "F:1: lifecycle.max_insights: expected `int`, got `bool`"),
        ('\n"serv\\u0065r" = 3\n', "F:1: server is a table: write [server] and its settings below it"),
        ('[embedding]\nmodel = "gpt"\n', "F:2: embedding.model: invalid enum value 'gpt'"),
    ],
)
def test_complaints(tmp_path: Path, text: str, expected: str) -> None:
    assert complaint(tmp_path / "config.toml", text) == expected


def test_all_complaints_come_at_once_in_order(tmp_path: Path) -> None:
    message = complaint(tmp_path / "config.toml", "[server]\nzzz = 1\ndrain_s = 0\n[nope]\n")
    assert [part.split(":")[1] for part in message.split("; F")] == ["2", "3", "4"]


def test_broken_toml_has_its_line(tmp_path: Path) -> None:
    assert "line 2" in complaint(tmp_path / "config.toml", "[server]\nmax_connections = = 3\n")


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(MnemonError, match="cannot be read"):
        load(path)
    path.write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(MnemonError, match="larger than"):
        load(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(MnemonError, match="cannot be read"):
        load(path)


def test_the_documentation_has_every_setting() -> None:
    text = config_markdown()
    for section in Config.__struct_fields__:
        assert f"## [{section}]" in text
        for name in type(getattr(Config(), section)).__struct_fields__:
            assert f"| `{name}` |" in text
