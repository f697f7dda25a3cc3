"""The answer of a hook and of recall while a language model reads conversations, beside those without, interleaved.

    python -m benchmarks.reading_latency [--size N] [--blocks N] [--rounds N] [--endpoint URL]

A real daemon with that many memories. In every second block a thread keeps `extract` busy with sentences that the
rules leave out. Without `--endpoint` a server in a process of its own answers after `SLOW_S`, as one on another machine
would: what is measured then is the daemon. A model on this machine takes processors from everything else.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import socketserver
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from benchmarks.daemon_process import NO_CAP, DaemonProcess, temporary_data_dir
from benchmarks.report import Cell, percentile, say, table
from benchmarks.synthetic import Notes
from benchmarks.wire import Json, Wire, request

SLOW_S = 0.5
"""Seconds of an answer of the scripted server."""

ANSWER = {"facts": [{"text": "The heating on floor 3 has been broken since Monday", "kind": "fact", "importance": 5}]}
SAID = "the heating on floor {} has been broken since Monday."
SEED = 7
TIMEOUT_S = 900.0


class _Server(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        time.sleep(SLOW_S)
        message = {"role": "assistant", "content": json.dumps(ANSWER)}
        body = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], "usage": {}}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        pass


@contextmanager
def _scripted() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Server)
    process = multiprocessing.get_context("fork").Process(target=_serve, args=(server,), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        process.terminate()
        process.join()
        server.server_close()


def _serve(server: socketserver.BaseServer) -> None:
    server.serve_forever()


@contextmanager
def _reading(daemon: DaemonProcess, read: list[int]) -> Iterator[None]:
    """Keep the model busy during the block; `read` counts the conversations."""
    over = threading.Event()

    def work() -> None:
        with Wire(daemon.socket_path, TIMEOUT_S) as wire:
            while not over.is_set():
                read[0] += 1
                wire.call("extract", messages=SAID.format(read[0]), dry_run=True)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def measure(size: int, blocks: int, rounds: int, endpoint: str) -> tuple[Json, int]:
    """Milliseconds by what is asked and whether the model reads; and the conversations that it read."""
    config = NO_CAP + (
        f'[extraction]\nengine = "auto"\n[llm]\nprovider = "openai"\nendpoint = "{endpoint}"\nmodel = "measured"\n'
        "timeout_s = 600\nmax_calls_per_day = 0\nmax_tokens_per_day = 0\n"
    )
    notes, read = Notes(SEED), [0]
    texts = notes.take(size)
    times: dict[tuple[str, bool], list[float]] = {}
    with temporary_data_dir(config) as data_dir, DaemonProcess(data_dir) as daemon:
        with Wire(daemon.socket_path, TIMEOUT_S) as wire:
            for _ in wire.pipeline("remember", ({"content": text, "no_diff": True} for text in texts)):
                pass
        for block in range(-2, 2 * blocks):
            questions = [notes.question(texts[(block * rounds + at) % size]) for at in range(rounds)]
            if block % 2:
                with _reading(daemon, read):
                    found = _block(daemon, questions, block)
            else:
                found = _block(daemon, questions, block)
            for name, took in found if block >= 0 else ():
                times.setdefault((name, bool(block % 2)), []).append(took)
    return {"times": times}, read[0]


def _block(daemon: DaemonProcess, questions: Sequence[str], block: int) -> list[tuple[str, float]]:
    found = []
    for at, question in enumerate(questions):
        event = {
            "session_id": f"s{block}-{at}", "cwd": "/home/ada/apollo", "hook_event_name": "UserPromptSubmit",
            "prompt": question, "prompt_id": "1",
        }  # fmt: skip
        asked = {"query": question, "limit": 10, "touch": False}
        for name, message in (
            ("hook", json.dumps(event).encode() + b"\n"),
            ("recall", request(1, "recall", asked)),
        ):
            begin = time.perf_counter()
            with daemon.connect() as wire:
                wire.round_trip(message)
            found.append((name, (time.perf_counter() - begin) * 1e3))
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reading_latency", description=__doc__)
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--blocks", type=int, default=10, help="blocks with and without")
    parser.add_argument("--rounds", type=int, default=40, help="hooks and recalls of a block")
    parser.add_argument("--endpoint", help="an OpenAI-compatible server instead of the scripted one")
    options = parser.parse_args(arguments)
    if options.endpoint:
        found, read = measure(options.size, options.blocks, options.rounds, options.endpoint)
    else:
        with _scripted() as endpoint:
            found, read = measure(options.size, options.blocks, options.rounds, endpoint)
    rows: list[list[Cell]] = [
        [
            name,
            "reads" if reads else "-",
            len(took),
            *(round(percentile(took, share), 2) for share in (0.5, 0.95, 0.99)),
        ]
        for (name, reads), took in sorted(found["times"].items())
    ]
    say(table(f"{options.size:,} memories, {read} conversations read", ("", "model", "n", "p50", "p95", "p99"), rows))


if __name__ == "__main__":
    main(sys.argv[1:])
