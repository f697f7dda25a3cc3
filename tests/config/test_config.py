"""Settings are typed; what cannot be used is named with file, line and nearest known key."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from mnemond.config.loading import MAX_BYTES, load
from mnemond.config.reading import EmbeddingSettings
from mnemond.config.settings import REFUSED, Config
from mnemond.docs_pages import config_markdown
from mnemond.errors import CONFIG, MnemonError
from tests.tables import each_row


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


@each_row(
    ("text", "expected"),
    [
        (
            "[server]\n\nmax_conections = 3\n",
            'F:3: unknown key "server.max_conections"; did you mean "server.max_connections"?',
        ),
        ("# x\n[serve]\na = 1\n", 'F:2: unknown key "serve"; did you mean "server"?'),
        (
            '[hooks]\nmin_confidence = "high"\n',
            f'F:2: unknown key "hooks.min_confidence": {REFUSED["hooks.min_confidence"]}',
        ),
        ("colour = 1\n", 'F:1: unknown key "colour"'),
        ("[lifecycle]\nmax_insights = -1\n", "F:2: lifecycle.max_insights: expected `int` >= 0"),
        ('[server]\nmax_connections = "many"\n', "F:2: server.max_connections: expected `int`, got `str`"),
        ("server = 3\n", "F:1: server is a table: write [server] and its settings below it"),
        ("lifecycle.max_insights = true\n", "F:1: lifecycle.max_insights: expected `int`, got `bool`"),
        ('\n"serv\\u0065r" = 3\n', "F:1: server is a table: write [server] and its settings below it"),
        ('[embedding]\nprovider = "gpt"\n', "F:2: embedding.provider: invalid enum value 'gpt'"),
        ("[embedding]\ndimensions = 0\n", "F:2: embedding.dimensions: expected `int` >= 1"),
        (
            '[embedding]\napi_key = "sk-1"\n',
            'F:2: unknown key "embedding.api_key"; did you mean "embedding.api_key_env"?',
        ),
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


def test_every_embedding_setting_is_read(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(
        '[embedding]\nprovider = "openai"\nmodel = "nomic-ai/nomic-embed-text-v1.5"\nendpoint = "https://host/v1"\n'
        'api_key_env = "MY_KEY"\nbatch_size = 32\ndimensions = 256\ntimeout_s = 5\nprobe_timeout_s = 0.5\n'
    )
    assert load(path).embedding == EmbeddingSettings(
        provider="openai",
        model="nomic-ai/nomic-embed-text-v1.5",
        endpoint="https://host/v1",
        api_key_env="MY_KEY",
        batch_size=32,
        dimensions=256,
        timeout_s=5.0,
        probe_timeout_s=0.5,
    )


VARIABLES = {
    "MNEMON_EMBED_ENDPOINT": "http://127.0.0.1:9",
    "MNEMON_EMBED_MODEL": " all-minilm ",
    "MNEMON_EMBED_DIMENSIONS": "64",
}


def test_variables_go_before_the_file(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('[embedding]\nprovider = "ollama"\nmodel = "nomic-embed-text"\ndimensions = 8\n')
    expected = EmbeddingSettings(provider="ollama", endpoint="http://127.0.0.1:9", model="all-minilm", dimensions=64)
    assert load(path, VARIABLES).embedding == expected
    assert load(path, dict.fromkeys(VARIABLES, " ")) == load(path)


def test_variables_need_no_file(tmp_path: Path) -> None:
    assert load(tmp_path / "config.toml", VARIABLES).embedding.dimensions == 64


@each_row("value", ["many", "0", "1.5", "99999"])
def test_a_variable_that_cannot_be_used_is_named(tmp_path: Path, value: str) -> None:
    with pytest.raises(MnemonError, match=r"MNEMON_EMBED_DIMENSIONS, which stands for embedding\.dimensions: expected"):
        load(tmp_path / "config.toml", {"MNEMON_EMBED_DIMENSIONS": value})


def test_the_documentation_has_every_setting() -> None:
    text = config_markdown()

    def look(path: str, table: object) -> None:
        assert isinstance(table, msgspec.Struct)
        part = text.split(f"# [{path}]\n")[1].split("\n#")[0]
        for name in table.__struct_fields__:
            value = getattr(table, name)
            if isinstance(value, msgspec.Struct):
                look(f"{path}.{name}", value)
            else:
                assert f"| `{name}` |" in part

    for section in Config.__struct_fields__[1:]:
        look(section, getattr(Config(), section))
    assert "| `profile` |" in text.split("## Settings of no table")[1].split("\n## ")[0]
