"""`viz -o FILE` and `viz --format`: what the client asks for and writes."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import msgspec
import pytest

import mnemonctl
from mnemond.model.graph import MADE_BY
from mnemond.wire.params import PROTOCOL, SERVER_VERSION
from tests.mnemonctl.daemons import fake_daemon
from tests.viz.graphs import hostile, town

Capture = pytest.CaptureFixture[str]


class Drawing:
    """A daemon that has one picture."""

    def __init__(self) -> None:
        self.params: list[dict[str, object]] = []
        self.graph = town(5)

    def __call__(self, message: bytes) -> bytes:
        request = json.loads(message)
        if request["method"] == "hello":
            result: object = {"pid": 1, "version": SERVER_VERSION, "protocol": PROTOCOL}
        else:
            assert request["method"] == "viz"
            self.params.append(request["params"])
            result = self.graph
        return msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "result": result}) + b"\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A data directory."""
    found = tmp_path / "data"
    found.mkdir(mode=0o700)
    return found


def run(directory: Path, *argv: str) -> int:
    return mnemonctl.run(["viz", *argv, "--data-dir", str(directory)])


def test_a_page_is_written_for_the_user_alone(root: Path, tmp_path: Path, capfd: Capture) -> None:
    drawing, target = Drawing(), tmp_path / "graph.html"
    with fake_daemon(root, drawing):
        assert run(root, "-o", str(target), "--store", "shop", "--entity", "keel", "--depth", "3", "--json") == 0
        said = json.loads(capfd.readouterr().out)
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
        assert said == {
            "file": str(target), "format": "html", "bytes": target.stat().st_size, "memories": 5, "total": 5,
            "links": 6, "total_links": 6,
        }  # fmt: skip
        assert run(root, "-o", str(target), "--text") == 0
        assert capfd.readouterr().out == (
            f"Drew 5 memories, 6 links: {target} ({target.stat().st_size:,} bytes)\n"
            "  open it in a browser; it asks for nothing\n"
        )
        assert run(root, "-o", str(target), "-q") == 0
        assert capfd.readouterr().out == f"{target}\n"
    [first, *_] = drawing.params
    assert {name: first[name] for name in first if name != "directory"} == {
        "store": "shop", "entity": "keel", "depth": 3
    }  # fmt: skip
    assert [path.name for path in tmp_path.iterdir()] == ["data", "graph.html"] or len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("name", "options", "start"),
    [
        ("a.html", (), "<!doctype html>"),
        ("a.HTM", (), "<!doctype html>"),
        ("a.dot", (), f"// {MADE_BY}"),
        ("a.gv", (), f"// {MADE_BY}"),
        ("a.json", (), f'{{"made_by":"{MADE_BY}"'),
        ("a", (), "<!doctype html>"),
        ("a.html", ("--format", "dot"), f"// {MADE_BY}"),
    ],
)
def test_the_format_is_that_of_the_name_unless_given(
    root: Path, tmp_path: Path, name: str, options: tuple[str, ...], start: str
) -> None:
    with fake_daemon(root, Drawing()):
        assert run(root, "-o", str(tmp_path / name), *options) == 0
        assert run(root, "-o", str(tmp_path / name), *options) == 0  # a file of our own is replaced
    assert (tmp_path / name).read_text().startswith(start)


def test_nothing_else_is_replaced(root: Path, tmp_path: Path, capfd: Capture) -> None:
    precious = tmp_path / "notes.html"
    precious.write_text("<!doctype html>my notes")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.html").symlink_to(tmp_path / "elsewhere.html")
    os.mkfifo(tmp_path / "pipe")
    drawing = Drawing()
    with fake_daemon(root, drawing):
        for name in ("notes.html", "folder", "link.html", "pipe"):
            assert run(root, "-o", str(tmp_path / name), "--text") == 5
            assert "is no file that viz wrote, so it is not replaced" in capfd.readouterr().err
        assert run(root, "-o", str(root / "config.toml"), "--text") == 2
        assert "lies in the data directory" in capfd.readouterr().err
        assert run(root, "-o", str(tmp_path / "no" / "such.html"), "--text") != 0
        assert "cannot be used" in capfd.readouterr().err
    assert precious.read_text() == "<!doctype html>my notes"
    assert not (tmp_path / "elsewhere.html").exists()
    assert len(drawing.params) == 1  # only the one that could not be foreseen


def test_it_goes_to_standard_output_without_a_file(root: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = Drawing()
    drawing.graph = hostile()
    monkeypatch.setenv("MNEMON_STORE", "home")
    with fake_daemon(root, drawing):
        assert run(root, "--format", "json") == 0
        assert msgspec.json.decode(capfd.readouterr().out, type=type(drawing.graph)) == drawing.graph
        assert run(root, "--format", "dot", "--redact") == 0
        assert capfd.readouterr().out.startswith("// ")
        assert run(root, "--format", "html") == 0
        assert capfd.readouterr().out.endswith("</html>\n")
    assert [each["store"] for each in drawing.params] == ["home"] * 3
    assert drawing.params[1]["redact"] is True


def test_a_degraded_store_is_drawn_and_said(root: Path, tmp_path: Path, capfd: Capture) -> None:
    drawing = Drawing()
    drawing.graph = msgspec.structs.replace(drawing.graph, degraded=True, degraded_reason="the disk is full", total=9)
    with fake_daemon(root, drawing):
        assert run(root, "-o", str(tmp_path / "a.dot"), "--text") == 0
        shown = capfd.readouterr()
        assert shown.out.startswith("Drew 5 of 9 memories, 6 links: ")
        assert "the store is degraded: the disk is full" in shown.err
        assert run(root, "-o", str(tmp_path / "a.dot"), "--json") == 0
        assert json.loads(capfd.readouterr().out)["degraded_reason"] == "the disk is full"
