"""The page in a real browser: it runs nothing but its own script, asks for nothing, and can be used."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.chromium import Page, browser, program
from mnemonctl.viz.page import render_page
from mnemond.model.graph import Graph
from tests.viz.graphs import HOSTILE, hostile, town

CHROMIUM = program()

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (Debian: chromium)")

USE_EVERYTHING = """
(async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const rows = () => [...document.querySelectorAll("#list > li > button")];
  document.querySelector("#filters").open = true;
  const all = rows().length;
  for (let at = 0; at < all; at++) {
    rows()[at].focus();
    rows()[at].click();
    await frame();
    for (const each of document.querySelectorAll("#detail .chips button")) {
      each.click();
      await frame();
      document.querySelector("#chosen button").click();
    }
  }
  for (const each of document.querySelectorAll("#groups button")) {
    each.click();
    each.click();
    await frame();
  }
  for (const each of document.querySelectorAll("#tools button")) each.click();
  document.querySelector("#query").value = "script";
  document.querySelector("#query").dispatchEvent(new Event("input"));
  await frame();
  document.querySelector("#reset").click();
  await frame();
  return all;
})()
"""


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    """A tab of a browser."""
    assert CHROMIUM is not None
    with browser(CHROMIUM) as found:
        yield found


def opened(page: Page, graph: Graph, folder: Path, *, scripts: bool = True) -> Path:
    """Write a picture and open it, 1280 by 800 pixels, light."""
    file = folder / "graph.html"
    file.write_text(render_page(graph), encoding="utf-8")
    page.requests.clear()
    page.problems.clear()
    page.show(1280, 800, "light")
    page.open(file, scripts=scripts)
    return file


def asked(page: Page, file: Path) -> list[str]:
    """What was asked for besides the page: not the icons that the browser itself draws in its controls."""
    return [
        each for each in page.requests if each != file.as_uri() and not each.startswith("data:image/svg+xml;base64,")
    ]


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.check_all)])
def test_hostile_texts_run_nothing_and_ask_for_nothing(page: Page, tmp_path: Path, scheme: Any) -> None:
    file = opened(page, hostile(), tmp_path)
    page.show(1280, 800, scheme)
    scripts = page.evaluate("document.scripts.length")
    assert scripts == 2
    assert page.evaluate(USE_EVERYTHING) == len(HOSTILE)
    assert page.evaluate("document.scripts.length") == scripts
    assert page.evaluate("typeof window.ran") == "undefined"
    assert page.evaluate("document.querySelectorAll('img, iframe, form, a, base, object, embed').length") == 0
    assert page.evaluate("location.href") == file.as_uri()
    assert page.problems == []
    assert asked(page, file) == []


def test_the_test_would_see_a_script_that_runs_and_a_request(page: Page, tmp_path: Path) -> None:
    """What the tests above look for is found in a page that has it."""
    file = tmp_path / "bad.html"
    file.write_text("<script>window.ran = 1; console.error('ran')</script><img src='http://127.0.0.1:9/x.png'>")
    page.requests.clear()
    page.problems.clear()
    page.open(file)
    assert page.evaluate("window.ran") == 1
    assert asked(page, file) == ["http://127.0.0.1:9/x.png"]
    assert any("ran" in each for each in page.problems)


def test_the_policy_stops_what_gets_into_the_page(page: Page, tmp_path: Path) -> None:
    """A second line: if a text became markup, it still would not run, and nothing would be fetched."""
    opened(page, town(3), tmp_path)
    page.evaluate(
        "document.body.insertAdjacentHTML('beforeend',"
        ' \'<img src="http://127.0.0.1:9/x.png" onerror="window.ran = 1">\');'
        " const it = document.createElement('script'); it.textContent = 'window.ran = 1'; document.body.append(it)"
    )
    assert page.evaluate("new Promise((done) => setTimeout(() => done(typeof window.ran), 50))") == "undefined"
    assert len([each for each in page.problems if "Content Security Policy" in each]) >= 2


def test_without_scripts_it_says_what_it_needs(page: Page, tmp_path: Path) -> None:
    file = opened(page, hostile(), tmp_path, scripts=False)
    document = page.call("DOM.getDocument", depth=0)["root"]["nodeId"]
    assert len(page.call("DOM.querySelectorAll", nodeId=document, selector="noscript p")["nodeIds"]) == 1
    assert page.call("DOM.querySelectorAll", nodeId=document, selector="main:not([hidden])")["nodeIds"] == []
    assert (page.problems, asked(page, file)) == ([], [])


def spots(page: Page) -> list[tuple[int, int]]:
    """Return where the pointer is over a memory, of a grid over the graph, once nothing moves any more."""
    found: list[tuple[int, int]] = [tuple(each) for each in page.evaluate(SPOTS)]
    return found


SPOTS = """
(async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const data = () => graph.toDataURL();
  for (let before = ""; before !== data();) { before = data(); for (let at = 0; at < 12; at++) await frame(); }
  const box = graph.getBoundingClientRect(), found = [];
  for (let x = 4; x < box.width; x += 8) for (let y = 4; y < box.height; y += 8) {
    graph.dispatchEvent(new PointerEvent("pointermove", { pointerId: 1, clientX: box.left + x, clientY: box.top + y }));
    if (graph.classList.contains("over")) found.push([x, y]);
  }
  return found;
})()
"""


def test_memories_lie_apart_and_fill_the_stage_and_do_so_each_time(page: Page, tmp_path: Path) -> None:
    opened(page, town(90), tmp_path)
    first = spots(page)
    width, height = page.evaluate("[graph.clientWidth, graph.clientHeight]")
    columns, lines = {x for x, _ in first}, {y for _, y in first}
    assert max(max(columns) - min(columns) - 0.6 * width, max(lines) - min(lines) - 0.6 * height) > 0
    assert len(first) > 90  # 90 memories of 7 pixels and more, of which hardly one lies on another
    opened(page, town(90), tmp_path)
    assert spots(page) == first
    assert page.problems == []


def count(page: Page) -> str:
    return str(page.evaluate("document.querySelector('#count').textContent"))


def set_field(page: Page, field: str, value: str, event: str) -> None:
    page.evaluate(
        f"(() => {{ const it = document.querySelector('{field}'); it.value = '{value}';"
        f" it.dispatchEvent(new Event('{event}')); }})()"
    )


def test_search_and_filters(page: Page, tmp_path: Path) -> None:
    opened(page, town(90), tmp_path)
    assert count(page) == "90 of 90 memories, 176 links"
    set_field(page, "#query", "HULL note", "input")
    assert count(page).startswith("13 of 90 memories")
    set_field(page, "#query", "", "input")
    page.evaluate("[...document.querySelectorAll('#categories input')][0].click()")
    assert count(page).startswith("60 of 90 memories")
    page.evaluate("document.querySelector('#reset').click()")
    page.evaluate("[...document.querySelectorAll('#types input')][0].click()")
    assert count(page) == "90 of 90 memories, 87 links"
    page.evaluate("document.querySelector('#reset').click()")
    set_field(page, "#since", "2026-02-10", "change")
    set_field(page, "#until", "2026-02-10", "change")
    assert count(page).startswith("3 of 90 memories")
    page.evaluate("document.querySelector('#reset').click()")
    page.evaluate("document.querySelectorAll('#groups button')[1].click()")
    assert count(page).startswith("30 of 90 memories")
    assert page.evaluate("document.querySelectorAll('#groups [aria-pressed=true]').length") == 1
    assert page.problems == []


def test_keys_alone_reach_search_list_and_text(page: Page, tmp_path: Path) -> None:
    opened(page, town(9), tmp_path)
    page.evaluate("document.querySelector('#graph').focus()")
    page.key("/")
    assert page.evaluate("document.activeElement.id") == "query"
    assert page.evaluate("document.querySelector('#query').value") == ""
    seen: list[str] = []
    while "row" not in seen and len(seen) < 20:
        page.key("Tab")
        seen.append(str(page.evaluate("document.activeElement.id || document.activeElement.className")))
    assert seen[-1] == "row"
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.key("Enter")
    assert page.evaluate("document.activeElement.id") == "detail"
    assert str(page.evaluate("document.querySelector('#detail .text').textContent")).startswith("Note ")
    page.key("Escape")
    assert page.evaluate("document.querySelector('#detail').hidden") is True
    assert page.evaluate("document.activeElement.id") == "graph"
    assert page.problems == []


SETTLED = "new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 250))"


def test_a_memory_is_found_under_the_pointer_and_can_be_dragged(page: Page, tmp_path: Path) -> None:
    opened(page, town(1), tmp_path)
    box = page.evaluate("(({x, y, width, height}) => [x, y, width, height])(graph.getBoundingClientRect())")
    x, y = box[0] + box[2] / 2, box[1] + box[3] / 2  # the only memory is in the middle
    page.evaluate(SETTLED)
    page.screenshot(tmp_path / "before.png")
    page.mouse("mouseMoved", x, y)
    assert page.evaluate("graph.className") == "over"
    page.mouse("mousePressed", x, y, button="left", clickCount=1)
    page.mouse("mouseReleased", x, y, button="left", clickCount=1)
    assert page.evaluate("document.querySelector('#detail .text').textContent") == "Note 0 about the mast"
    assert page.evaluate("document.querySelector('#detail').textContent").count("Ana · owns · mast") == 1
    page.key("Escape")
    page.mouse("mouseMoved", x, y)
    page.mouse("mousePressed", x, y, button="left", clickCount=1)
    page.mouse("mouseMoved", x + 150, y + 90, button="left", buttons=1)
    page.mouse("mouseReleased", x + 150, y + 90, button="left", clickCount=1)
    page.mouse("mouseMoved", x, y)
    assert page.evaluate("graph.className") == ""
    page.mouse("mouseMoved", x + 150, y + 90)
    assert page.evaluate("graph.className") == "over"
    page.mouse("mouseMoved", 2, 2)
    page.evaluate(SETTLED)
    page.screenshot(tmp_path / "after.png")
    assert (tmp_path / "before.png").read_bytes() != (tmp_path / "after.png").read_bytes()
    assert page.problems == []


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (420, 800)])
def test_nothing_sticks_out_to_the_side(page: Page, tmp_path: Path, width: int, height: int) -> None:
    opened(page, hostile(), tmp_path)
    page.show(width, height, "dark")
    page.evaluate("document.querySelector('#filters').open = true")
    for at in range(len(HOSTILE)):
        page.evaluate(f"document.querySelectorAll('#list .row')[{at}].click()")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, HOSTILE[at][:40]
        assert page.evaluate("detail.scrollWidth - detail.clientWidth") <= 0, HOSTILE[at][:40]
