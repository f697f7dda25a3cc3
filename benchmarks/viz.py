"""The page that `mnemonctl viz` writes: its size, its first paint in Chromium, and frames while a memory is dragged.

    python -m benchmarks.viz [--memories N ...] [--rounds N] [--keep DIR] [--json FILE]

A daemon remembers notes that name things of their topic, and answers `viz`; the client's renderer makes the page of it.
The browser is headless and draws without a graphics processor, so a desktop is hardly slower. A frame of the drag moves
a memory near the middle by some pixels, lets those that it is linked to follow, and draws the picture anew.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.chromium import Page, browser, program
from benchmarks.daemon_process import DaemonProcess, temporary_data_dir
from benchmarks.report import Cell, median, say, table, write_json
from benchmarks.synthetic import Notes
from benchmarks.wire import Json
from mnemonctl.viz.page import render_page
from mnemond.model.graph import Graph

SIZES: Final = (1_000, 5_000)
SEED: Final = 23
NAMES: Final = 200
"""Different names in a store."""

KINDS: Final = ("Service", "Host", "Team", "Person")

TOPICS: Final = 40
"""Groups of names that occur together."""

DRAG_FRAMES: Final = 120

DRAG: Final = """
((x, y, frames) => new Promise((done) => {
  const canvas = document.querySelector("#graph"), times = [];
  let before = performance.now();
  const step = (now) => {
    times.push(performance.now() - before);
    before = performance.now();
    if (times.length > frames) return done(times.slice(1));
    const at = times.length / 8;
    canvas.dispatchEvent(new PointerEvent("pointermove", { pointerId: 1, bubbles: true,
      clientX: x + 90 * Math.sin(at), clientY: y + 90 * Math.cos(at) }));
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}))
"""

PAINTED: Final = """
(() => { const paint = performance.getEntriesByType("paint").find((it) => it.name === "first-contentful-paint");
  return [paint ? paint.startTime : null, performance.getEntriesByType("navigation")[0].loadEventEnd]; })()
"""

SETTLED: Final = "new Promise((done) => setTimeout(() => requestAnimationFrame(done), 400))"


def notes(memories: int) -> Iterator[Json]:
    """Parameters of `remember`: a note of every hour, with names of one topic."""
    chance = random.Random(SEED)
    names = [f"{KINDS[at % len(KINDS)]}{at}" for at in range(NAMES)]
    for at, text in enumerate(Notes(SEED).take(memories)):
        topic = chance.randrange(TOPICS)
        entities = chance.sample(names[topic::TOPICS], 2)
        day, hour = divmod(at, 24)
        yield {
            "content": f"{text} {' and '.join(entities)}", "entities": entities, "no_diff": True,
            "category": chance.choice(["decision", "fact", "insight", "preference", "context", "general"]),
            "created_at": f"20{25 + day // 360:02d}-{day % 360 // 30 + 1:02d}-{day % 28 + 1:02d}T{hour:02d}:00:00Z",
        }  # fmt: skip


def measure(memories: int, rounds: int, path: str, folder: Path) -> Json:
    """The figures of one size."""
    with temporary_data_dir() as data_dir, DaemonProcess(data_dir) as daemon, daemon.connect() as wire:
        for _ in wire.pipeline("remember", notes(memories)):
            pass
        begin = time.perf_counter()
        graph = msgspec.convert(wire.call("viz"), Graph)
        asked_s = time.perf_counter() - begin
    begin = time.perf_counter()
    content = render_page(graph).encode()
    rendered_s = time.perf_counter() - begin
    file = folder / f"viz-{memories}.html"
    file.write_bytes(content)
    paints, loads, frames = [], [], []
    with browser(path) as page:
        for _ in range(rounds):
            page.show(1280, 800, "light")
            page.open(file)
            page.evaluate(SETTLED)
            painted, loaded = page.evaluate(PAINTED)
            paints.append(painted)
            loads.append(loaded)
            frames += dragged(page, graph)
    return {
        "memories": len(graph.nodes), "links": len(graph.edges), "all_links": graph.total_edges, "viz_s": asked_s,
        "render_s": rendered_s, "bytes": len(content), "first_paint_ms": median(paints), "load_ms": median(loads),
        "frame_ms": median(frames), "frames_per_s": 1000 * len(frames) / sum(frames),
        "slowest_frame_ms": max(frames),
    }  # fmt: skip


def dragged(page: Page, graph: Graph) -> list[float]:
    """Milliseconds of each frame while a memory near the middle is dragged."""
    x, y = (float(each) for each in page.evaluate(
        "(() => { const box = document.querySelector('#graph').getBoundingClientRect();"
        " return [box.x + box.width / 2, box.y + box.height / 2]; })()"
    ))  # fmt: skip
    for _ in range(40):  # away from the middle until the pointer is over a memory
        page.mouse("mouseMoved", x, y)
        if page.evaluate("document.querySelector('#graph').className") == "over":
            break
        x, y = x + 5, y + 3
    else:
        raise SystemExit(f"no memory of {len(graph.nodes)} was found under the pointer")
    page.mouse("mousePressed", x, y, button="left", clickCount=1)
    times = page.evaluate(f"{DRAG}({x}, {y}, {DRAG_FRAMES})")
    if page.evaluate("document.querySelector('#graph').className") != "over moving":
        raise SystemExit("the memory did not follow the pointer")
    page.mouse("mouseReleased", x, y, button="left", clickCount=1)
    return [float(each) for each in times]


def render(figures: list[Json]) -> str:
    """A table."""
    rows: list[list[Cell]] = [
        [
            f"{it['memories']:,}", f"{it['links']:,}", it["viz_s"], it["render_s"], f"{it['bytes'] / 1e6:.2f} MB",
            it["first_paint_ms"], it["load_ms"], it["frames_per_s"], it["frame_ms"], it["slowest_frame_ms"],
        ]
        for it in figures
    ]  # fmt: skip
    heads = (
        "memories", "links", "viz s", "page s", "file", "first paint ms", "loaded ms", "frames/s", "frame ms", "slowest"
    )  # fmt: skip
    return table("the page of viz, 1280 x 800, while one memory is dragged", heads, rows)


def main(argv: list[str] | None = None) -> int:
    """0 when everything was measured, 2 without a browser."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.viz", description=__doc__.splitlines()[0])
    parser.add_argument("--memories", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="directory for the pages")
    parser.add_argument("--json", type=Path, help="file for the figures")
    options = parser.parse_args(argv)
    path = program()
    if path is None:
        say("there is no Chromium (Debian: chromium)")
        return 2
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        figures = [measure(each, options.rounds, path, folder) for each in options.memories]
    say(render(figures))
    write_json(options.json, {"pages": figures})
    return 0


if __name__ == "__main__":
    sys.exit(main())
