"""The page and the file for Graphviz: what a memory says stays a text in them."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemonctl.viz.dot import quoted, render_dot
from mnemonctl.viz.page import as_json, render_page
from mnemond.model.graph import MADE_BY
from tests.cli.test_terminal import unsafe_left
from tests.viz.graphs import HOSTILE, graph, hostile, node, town


class Elements(HTMLParser):
    """The elements of a page, their attributes and texts, as a browser without scripts sees them."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open = tag

    def handle_data(self, data: str) -> None:
        self.texts.setdefault(self._open, []).append(data)


def elements(page: str) -> Elements:
    found = Elements()
    found.feed(page)
    found.close()
    return found


def test_the_elements_of_a_page_do_not_depend_on_what_memories_say() -> None:
    found, plain = elements(render_page(hostile())), elements(render_page(town(len(HOSTILE))))
    names = [tag for tag, _ in found.tags]
    assert sorted(set(names)) == sorted({tag for tag, _ in plain.tags})
    assert (names.count("script"), names.count("style"), names.count("title")) == (2, 1, 1)
    for _, attributes in found.tags:
        assert not any(name.startswith("on") or name in ("style", "src", "srcdoc", "action") for name in attributes)
        assert attributes.get("href", "data:,") == "data:,"


def test_the_policy_has_the_hashes_of_what_is_there() -> None:
    page = render_page(hostile())
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    rules = dict(each.strip().split(" ", 1) for each in policy.split(";"))
    for element, rule in (("script", "script-src"), ("style", "style-src")):
        [text] = re.findall(rf"<{element}>(.*?)</{element}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
    others = {name: rules[name] for name in rules if name not in ("script-src", "style-src")}
    assert others == {
        "default-src": "'none'", "img-src": "data:", "base-uri": "'none'", "form-action": "'none'"
    }  # fmt: skip
    assert page.index("Content-Security-Policy") < page.index("<style>") < page.index("<script")


def test_the_head_says_which_store_and_when() -> None:
    head = render_page(town(9))[:1_024]
    assert MADE_BY in head
    assert "9 of 9 memories, 14 of 14 links; 2026-02-01 10:00 UTC" in render_page(town(9))
    assert "Memories of store “default”" in render_page(town(9))


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60) | st.sampled_from(HOSTILE)


@given(TEXTS, TEXTS)
def test_any_text_is_read_back_and_ends_no_element(content: str, name: str) -> None:
    found = as_json(graph([node("a", content, entities=(name,), tags=(name,))]))
    assert not set("<>&\u2028\u2029") & set(found)
    assert unsafe_left(found) == []
    document = json.loads(found)
    assert (document["nodes"][0][1], document["entities"]) == (content, [name])


@given(TEXTS)
def test_a_string_of_dot_ends_where_it_ends(text: str) -> None:
    found = quoted(text)
    assert re.fullmatch(r'"(?:[^"\\]|\\\\|\\")*"', found)
    assert found.isprintable()


def test_a_page_is_harmless_to_a_terminal() -> None:
    for text in (render_page(hostile()), render_dot(hostile())):
        assert [each for each in unsafe_left(text) if each != "\n"] == []


def test_a_picture_without_memories() -> None:
    assert "0 of 0 memories" in render_page(graph([]))
    assert render_dot(graph([])).endswith('"sans-serif"];\n}\n')


def test_what_was_left_out_is_said() -> None:
    import msgspec

    cut = msgspec.structs.replace(town(4), redacted=True, total=9, cut_at=100)
    assert "4 of 9 memories, 4 of 4 links, texts replaced by ids, texts cut at 100 characters" in render_page(cut)


def test_dot_has_every_memory_and_link() -> None:
    found = render_dot(town(9)).splitlines()
    assert found[0].startswith(f"// {MADE_BY}: 9 of 9 memories")
    assert found[1] == 'digraph "default" {'
    assert sum("label=" in line for line in found) == 9
    assert sum(" -> " in line for line in found) == 14
    assert sum(" -> " in line and "dir=none" in line for line in found) == 8


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_reads_it() -> None:
    read = subprocess.run(["dot", "-Tcanon"], input=render_dot(hostile()), text=True, capture_output=True, check=False)
    assert (read.returncode, read.stderr) == (0, "")
