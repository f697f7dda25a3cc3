"""Time an import of memories beside the write path: `python -m benchmarks.importing [--memories N]`.

Both go over the socket of a daemon of their own in the same run, to a store each: `remember` calls of eight clients at
a time, and an import of the same texts. Prints memories a second, and the share of time.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from benchmarks.daemon_process import DaemonProcess
from mnemonctl.client import Client
from mnemond.interchange.items import Item

WRITERS = 8


def texts(count: int) -> list[str]:
    """Different sentences of about a hundred characters."""
    topics = ("backup", "parser", "invoice", "deploy", "cache", "login", "report", "queue", "schema", "socket")
    marks = (hashlib.sha256(str(n).encode()).hexdigest()[:8] for n in range(count))
    return [
        f"The {topics[n % 10]} of service {mark} runs on host {n * 7919 % 100003} and is looked after by team {n % 97}"
        for n, mark in enumerate(marks)
    ]


def remembered(directory: Path, contents: list[str]) -> float:
    with Client(data_dir=directory, store="written", timeout_s=300) as memory:
        memory.stores.create(name="written")
    clients = [Client(data_dir=directory, store="written", timeout_s=300) for _ in range(WRITERS)]
    begin = time.perf_counter()
    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(lambda n: [clients[n].remember(content=each) for each in contents[n::WRITERS]], range(WRITERS)))
    return time.perf_counter() - begin


def imported(directory: Path, contents: list[str]) -> float:
    items = [Item(source=str(n), content=each, origin="note") for n, each in enumerate(contents)]
    with Client(data_dir=directory, store="imported", timeout_s=300) as memory:
        memory.stores.create(name="imported")
        digest = hashlib.sha256(msgspec.json.encode(items)).hexdigest()
        begin = time.perf_counter()
        with memory.spooled(msgspec.json.encode(each) + b"\n" for each in items) as (name, _):
            result = memory.imports.run(kind="notes", digest=digest, memories=len(items), spool=name)
        taken = time.perf_counter() - begin
    assert result.memories + result.known.get("memory", 0) == len(items)
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=10_000)
    count = parser.parse_args().memories
    with tempfile.TemporaryDirectory() as home:
        Path(home, "config.toml").write_text("[lifecycle]\nmax_insights = 0\n")
        with DaemonProcess(Path(home)) as daemon:
            contents = texts(count)
            write, read = remembered(daemon.data_dir, contents), imported(daemon.data_dir, contents)
    print(f"remember, {WRITERS} clients: {count / write:,.0f} memories a second ({write:.1f} s)")
    print(f"import: {count / read:,.0f} memories a second ({read:.1f} s), {read / write:.2f} of the time")


if __name__ == "__main__":
    main()
