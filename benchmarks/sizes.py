"""Recall against its own floors, cold start and memory, on stores of several sizes."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

from benchmarks.daemon_process import DaemonProcess, temporary_data_dir
from benchmarks.floors import EmbedFloor, EncodeFloor, KeywordFloor, VectorFloor, timed_ms
from benchmarks.report import Cell, median, percentile, say, table
from benchmarks.synthetic import Notes
from benchmarks.wire import Json, Wire, request
from mnemond.embed.embedder import Embedder
from mnemond.embed.registry import DEFAULT, create

SEED = 7
RESULTS = 10
QUESTIONS = 200
HOT_ROUNDS = 3
STARTS = 3
IDLE_S = 0.05
PARTS = ("vector", "keyword", "embed", "encode", "ping")


def measure(sizes: list[int]) -> list[Json]:
    """One entry a size."""
    embedder = create(DEFAULT)
    return [_one_size(size, embedder) for size in sizes]


def _one_size(size: int, embedder: Embedder) -> Json:
    notes = Notes(SEED)
    texts = notes.take(size)
    step = max(1, size // QUESTIONS)
    questions = [notes.question(text) for text in texts[::step][:QUESTIONS]]
    with temporary_data_dir() as data_dir:
        figures: Json = {"memories": size, "fill": fill(data_dir, texts)}
        figures["start"] = _start(data_dir, questions[0])
        with DaemonProcess(data_dir) as daemon, daemon.connect() as wire:
            figures["hot"] = _hot(daemon, wire, questions)
            figures["floors"] = _against_floors(wire, texts, questions, embedder)
            figures["idle"] = _after_a_pause(wire, questions)
            figures["rss_mib"] = daemon.usage().rss_mib
            figures["anonymous_mib"] = daemon.usage().anonymous_mib
    say(f"  {size} memories: hot p50 {figures['hot']['p50_ms']:.3f} ms, {figures['floors']['ratio']:.2f} x its floors")
    return figures


def fill(data_dir: Path, texts: list[str]) -> Json:
    """Seconds that a daemon takes to remember these texts, one by one, and its memory afterwards."""
    with DaemonProcess(data_dir) as daemon, daemon.connect() as wire:
        begin = time.perf_counter()
        for _ in wire.pipeline("remember", ({"content": text, "no_diff": True} for text in texts)):
            pass
        took = time.perf_counter() - begin
        return {"seconds": took, "per_s": len(texts) / took, "rss_mib": daemon.usage().rss_mib}


def _start(data_dir: Path, question: str) -> Json:
    """Seconds from spawning the process to its first answered recall, and to its first accepted connection."""
    answered, listening = [], []
    for _ in range(STARTS):
        daemon = DaemonProcess(data_dir)
        begin = time.perf_counter()
        daemon.spawn()
        try:
            with daemon.connect_when_ready() as wire:
                listening.append(time.perf_counter() - begin)
                wire.call("recall", query=question, limit=RESULTS, touch=False)
                answered.append(time.perf_counter() - begin)
        finally:
            daemon.stop()
    return {
        "listening_s_min": min(listening), "answered_s_min": min(answered), "answered_s_median": median(answered),
    }  # fmt: skip


def _message(question: str) -> bytes:
    return request(3, "recall", {"query": question, "limit": RESULTS, "touch": False})


def _hot(daemon: DaemonProcess, wire: Wire, questions: list[str]) -> Json:
    """Recalls back to back."""
    messages = [_message(question) for question in questions]
    for message in messages[:20]:
        wire.exchange(message)
    before = daemon.usage().cpu_s
    times = [timed_ms(partial(wire.round_trip, message)) for _ in range(HOT_ROUNDS) for message in messages]
    cpu_ms = (daemon.usage().cpu_s - before) * 1000 / len(times)
    took = [wire.exchange(message)["meta"]["took_ms"] for message in messages]
    return {
        "p50_ms": median(times), "p95_ms": percentile(times, 0.95), "min_ms": min(times), "daemon_cpu_ms": cpu_ms,
        "took_p50_ms": median(took),
    }  # fmt: skip


def _after_a_pause(wire: Wire, questions: list[str]) -> Json:
    """A recall after a moment of quiet, as a hook sends it: caches are cold and the processor sleeps."""
    times = []
    for question in questions[:40]:
        time.sleep(IDLE_S)
        times.append(timed_ms(partial(wire.round_trip, _message(question))))
    return {"p50_ms": median(times), "p95_ms": percentile(times, 0.95)}


def _against_floors(wire: Wire, texts: list[str], questions: list[str], embedder: Embedder) -> Json:
    """Each question once as a recall and once as each of its floors, in turn."""
    vector, keyword = VectorFloor(len(texts), embedder.dimension, SEED), KeywordFloor(texts, questions, SEED)
    embed, encode = EmbedFloor(embedder), EncodeFloor(wire.exchange(_message(questions[0])))
    ping = request(4, "ping", {})
    recalls: list[float] = []
    parts: dict[str, list[float]] = {name: [] for name in PARTS}
    for question in questions:
        message = _message(question)
        recalls.append(timed_ms(partial(wire.round_trip, message)))
        parts["ping"].append(timed_ms(partial(wire.round_trip, ping)))
        parts["vector"].append(vector.run_ms())
        parts["keyword"].append(keyword.run_ms(question))
        parts["embed"].append(embed.run_ms(question))
        parts["encode"].append(encode.run_ms())
    sums = [sum(values) for values in zip(*parts.values(), strict=True)]
    return {
        "recall_p50_ms": median(recalls), "sum_p50_ms": median(sums), "ratio": median(recalls) / median(sums),
        "parts_p50_ms": {name: median(values) for name, values in parts.items()},
        "postings_p50": median([keyword.touched(question) for question in questions]),
    }  # fmt: skip


def render(figures: list[Json]) -> str:
    """Three tables."""
    recall: list[list[Cell]] = [
        [f"{entry['memories']:,}", entry["hot"]["min_ms"], entry["hot"]["p50_ms"], entry["hot"]["p95_ms"],
         entry["hot"]["took_p50_ms"], entry["hot"]["daemon_cpu_ms"], entry["idle"]["p50_ms"]]
        for entry in figures
    ]  # fmt: skip
    floors: list[list[Cell]] = [
        [f"{entry['memories']:,}", entry["floors"]["recall_p50_ms"], entry["floors"]["sum_p50_ms"],
         entry["floors"]["ratio"], *(entry["floors"]["parts_p50_ms"][name] for name in PARTS)]
        for entry in figures
    ]  # fmt: skip
    starts: list[list[Cell]] = [
        [f"{entry['memories']:,}", entry["start"]["answered_s_min"], entry["start"]["answered_s_median"],
         entry["rss_mib"], entry["anonymous_mib"], round(entry["fill"]["per_s"])]
        for entry in figures
    ]  # fmt: skip
    recall_heads = ("memories", "min", "p50", "p95", "took", "cpu", "after a pause")
    start_heads = ("memories", "min", "median", "RSS", "anonymous", "fill/s")
    return "\n".join([
        table("recall over the socket (milliseconds)", recall_heads, recall),
        table("recall against the sum of its floors (p50, milliseconds)",
              ("memories", "recall", "sum", "ratio", *PARTS), floors),
        table("spawn to first answered recall (seconds), memory (MiB)", start_heads, starts),
    ])  # fmt: skip
