"""Latencies, each beside its floor, measured in the same run.

python -m benchmarks.latency [--only ping client recall write] [--sizes 1000 10000 100000] [--json FILE]
"""

from __future__ import annotations

import argparse
import platform
import sys
from pathlib import Path

from benchmarks import client, ping, sizes, writers
from benchmarks.report import say, write_json
from benchmarks.wire import Json

PARTS = ("ping", "client", "recall", "write")
ALL_SIZES = [1_000, 10_000, 100_000]


def parse(argv: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="parts to measure")
    parser.add_argument("--sizes", nargs="+", type=int, default=ALL_SIZES, help="memories of the recall part's stores")
    parser.add_argument("--rounds", type=int, default=60, help="rounds of the client part")
    parser.add_argument("--ping-rounds", type=int, default=20)
    parser.add_argument("--write-rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="file for the figures")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """0 when every part was measured."""
    options = parse(argv)
    figures: Json = {"python": platform.python_version(), "machine": platform.machine()}
    if "ping" in options.only:
        figures["ping"] = ping.measure(options.ping_rounds)
        say(ping.render(figures["ping"]))
    if "client" in options.only:
        figures["client"] = client.measure(options.rounds)
        say(client.render(figures["client"]))
    if "recall" in options.only:
        figures["recall"] = sizes.measure(options.sizes)
        say(sizes.render(figures["recall"]))
    if "write" in options.only:
        figures["write"] = writers.measure(options.write_rounds)
        say(writers.render(figures["write"]))
    write_json(options.json, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
