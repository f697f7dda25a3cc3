"""A shared store beside a local one, and beside the server alone: python -m benchmarks.shared_store [--memories N]
[--start N …] [--growth N …]

One PostgreSQL server that flushes every commit, and two daemons. The same memories in a local and in the shared store:
recalls in turns; remembers, each followed by a bare commit of a row of the same size with psycopg; the time until the
other daemon has a memory; a daemon that has none of it, beside one that starts with its file; writers at once.
`--start`: that daemon alone, for stores of these sizes. `--growth`: writes a second by writers, daemons and memories,
and by a process that only appends lines, without a daemon.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import psycopg

from benchmarks.daemon_process import NO_CAP, DaemonProcess
from benchmarks.diary import Diary
from benchmarks.pg_server import NoServerError, PgServer, pg_running
from benchmarks.remember import pour
from benchmarks.report import Cell, median, percentile, say, table, write_json
from benchmarks.wire import Json, RpcError, Wire
from mnemond.store.connection import Connection
from mnemond.store.meta import read_embedder
from mnemond.store.operation_log import Operation, decode, snapshot
from mnemond.store.postgresql import PostgresqlLog

SEED = 26
VARIABLE = "TEAM_DSN"
STORE = "team"

MOST_RECALL_RATIO = 1.05
MOST_OVER_COMMIT_MS = 3.0
MOST_VISIBLE_MS = 50.0
MOST_START_RATIO = 2.0
"""Requirements: recall p50 over that of a local store, remember p50 beyond the bare commit, p95 until the other daemon
has it, and the first answer of a new daemon over that of a local start."""

START_ROUNDS = 3
WRITERS = (1, 4, 16, 64)
WRITING_S = 4.0
WAIT_S = 10.0
DAEMONS = (1, 2, 4)


class Sharing(DaemonProcess):
    """A daemon with the connection string in its environment."""

    def __init__(self, data_dir: Path, dsn: str) -> None:
        super().__init__(data_dir)
        data_dir.mkdir(mode=0o700)
        (data_dir / "config.toml").write_text(NO_CAP)
        self._dsn = dsn

    def environment(self) -> dict[str, str]:
        return super().environment() | {VARIABLE: self._dsn}

    def spawn(self) -> None:
        self.began_s = time.perf_counter()
        super().spawn()

    def share(self) -> None:
        with self.connect() as wire:
            wire.call("store.create", name=STORE, backend="postgresql", dsn_env=VARIABLE)


def measure(memories: int, rounds: int) -> Json:
    """Figures of one run."""
    diary = Diary(SEED)
    with ExitStack() as held:
        server = held.enter_context(pg_running())
        home = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="mnemond-bench-")))
        a = held.enter_context(Sharing(home / "a", server.dsn))
        texts = diary.take(memories)
        say(f"  {memories:,} memories into a local store and a shared one")
        pour(a, texts, 4)
        a.share()
        pour(a, shared(texts), 4)
        b = held.enter_context(Sharing(home / "b", server.dsn))
        b.share()
        figures: Json = {"memories": memories, "rounds": rounds}
        say("  recall")
        figures["recall"] = recall(a, diary, rounds)
        say("  remember")
        figures["remember"] = remember(a, server, diary.take(rounds))
        say("  visible on the other daemon")
        figures["visible"] = visible(a, b, diary.take(rounds))
        say("  a new daemon")
        figures["start"] = start(home, server, a)
        say("  writers")
        figures["writers"] = [writers((a, b), each, diary) for each in WRITERS]
        return figures


def shared(texts: Sequence[Json]) -> list[Json]:
    """The same for the shared store."""
    return [{**each, "store": STORE} for each in texts]


def recall(daemon: DaemonProcess, diary: Diary, rounds: int) -> Json:
    """Milliseconds of recalls, in turns."""
    times: dict[str, list[float]] = {"default": [], STORE: []}
    with daemon.connect() as wire:
        for each in diary.take(rounds):
            for store, found in times.items():
                query = " ".join(str(each["content"]).split()[:8])
                begin = time.perf_counter()
                wire.call("recall", store=store, query=query)
                found.append(1e3 * (time.perf_counter() - begin))
    local, far = times["default"], times[STORE]
    return {"local_p50_ms": median(local), "shared_p50_ms": median(far), "local_p95_ms": percentile(local, 0.95),
            "shared_p95_ms": percentile(far, 0.95)}  # fmt: skip


def remember(daemon: DaemonProcess, server: PgServer, texts: Sequence[Json]) -> Json:
    """Milliseconds of remembers in both stores, and of a bare commit of a row of the same size, in turns."""
    size = int(server.query("SELECT avg(length(line::text)) FROM mnemond.operations")[0][0])
    local, far, bare = list[float](), list[float](), list[float]()
    with daemon.connect() as wire, psycopg.connect(server.dsn) as db:
        db.execute("CREATE TABLE bare(number bigserial PRIMARY KEY, line text)")
        db.commit()
        for number, each in enumerate(texts):
            for store, found in (("default", local), (STORE, far)):
                begin = time.perf_counter()
                wire.call("remember", **{**each, "store": store})
                found.append(1e3 * (time.perf_counter() - begin))
            begin = time.perf_counter()
            db.execute("INSERT INTO bare(line) VALUES(%s)", (f"{number:0{size}}",))
            db.commit()
            bare.append(1e3 * (time.perf_counter() - begin))
    return {"local_p50_ms": median(local), "shared_p50_ms": median(far), "commit_p50_ms": median(bare),
            "shared_p95_ms": percentile(far, 0.95), "row_bytes": size}  # fmt: skip


def visible(a: DaemonProcess, b: DaemonProcess, texts: Sequence[Json]) -> Json:
    """Milliseconds from the acknowledgement of one daemon until the other one shows the memory."""
    times = []
    with a.connect() as writing, b.connect() as reading:
        for each in texts:
            made = writing.call("remember", **{**each, "store": STORE})["id"]
            begin = time.perf_counter()
            while not _has(reading, made):
                if time.perf_counter() - begin > WAIT_S:
                    raise TimeoutError(made)
            times.append(1e3 * (time.perf_counter() - begin))
    return {"p50_ms": median(times), "p95_ms": percentile(times, 0.95)}


def _has(wire: Wire, memory: str) -> bool:
    try:
        wire.call("get", store=STORE, id=memory)
    except RpcError:
        return False
    return True


def start(home: Path, server: PgServer, a: Sharing) -> Json:
    """Seconds from starting a process to its first recall: one without a file, and one with a whole one."""
    begin = time.perf_counter()
    with Sharing(home / "new", server.dsn) as new:
        new.share()
        _first(new)
        fresh = time.perf_counter() - begin
    a.stop()
    begin = time.perf_counter()
    a.start()
    _first(a, "default")
    return {"new_s": fresh, "local_s": time.perf_counter() - begin}


def starts(memories: int, rounds: int, filled: Path | None = None) -> Json:
    """Seconds until the first recall, in turns: of a daemon that has nothing of a shared store, and of one that starts
    with a local store that has the same. `filled`: the directory of a daemon that has the memories already."""
    fresh, local = list[float](), list[float]()
    with ExitStack() as held:
        server = held.enter_context(pg_running())
        home = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="mnemond-bench-")))
        base = Sharing(home / "base", server.dsn)
        if filled is None:
            say(f"  {memories:,} memories")
            with base:
                pour(base, Diary(SEED).take(memories), 4)
        else:
            shutil.copytree(filled / "data", base.data_dir / "data")
        publish(base.data_dir / "data" / "default" / "mnemon.db", server.dsn)
        for number in range(rounds):
            with Sharing(home / f"new-{number}", server.dsn) as new:
                begin = new.began_s
                new.share()
                _first(new)
                fresh.append(time.perf_counter() - begin)
                with new.connect() as wire:
                    found = wire.call("status", store=STORE)["total_insights"]
            with base:
                _first(base, "default")
                local.append(time.perf_counter() - base.began_s)
                with base.connect() as wire:
                    assert wire.call("status")["total_insights"] == found >= memories
    return {"memories": memories, "new_s": median(fresh), "local_s": median(local), "rounds": rounds}


def growth(memories: int, filled: Path | None = None) -> Json:
    """Remembers a second of a store of this size, by daemons and writers; and lines that one process appends."""
    diary = Diary(SEED + 1)
    with ExitStack() as held:
        server = held.enter_context(pg_running())
        home = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="mnemond-bench-")))
        say(f"  {memories:,} memories")
        if filled is None:
            with Sharing(home / "base", server.dsn) as base:
                pour(base, Diary(SEED).take(memories), 4)
            filled = base.data_dir
        publish(filled / "data" / "default" / "mnemon.db", server.dsn)
        running, found = list[DaemonProcess](), list[Json]()
        for daemons in DAEMONS:
            while len(running) < daemons:
                it = held.enter_context(Sharing(home / str(len(running)), server.dsn))
                it.share()
                wait_for_links(it)
                running.append(it)
            for many in WRITERS:
                if many >= daemons:
                    found.append({"daemons": daemons, **writers(running, many, diary)})
        return {"memories": memories, "writers": found, "lines_a_second": lines_a_second(server.dsn)}


def wait_for_links(daemon: DaemonProcess) -> None:
    """Wait until it has everything."""
    with daemon.connect() as wire:
        while wire.call("recall", store=STORE, query="database").get("degraded_reason"):
            time.sleep(0.05)


def lines_a_second(dsn: str) -> float:
    """Lines of the last remember that are appended to another store in turns, one after the other."""
    log = PostgresqlLog(dsn, STORE)
    log.connect()
    (line,) = log.lines(log.head().seq - 1, 1, 1)
    log.close()
    operation = decode(line.text)
    alone = PostgresqlLog(dsn, "alone")
    alone.make(None)
    begin, count = time.perf_counter(), 0
    while time.perf_counter() - begin < WRITING_S:
        alone.append(alone.take_turn(), f"{count}", [operation], None, None)
        count += 1
    alone.close()
    return count / WRITING_S


def publish(path: Path, dsn: str) -> None:
    """Give the server all rows of a store's file, as after another embedder was chosen."""
    connection = Connection(path, read_only=True)
    embedder = read_embedder(connection)
    log = PostgresqlLog(dsn, STORE)
    log.make(embedder)
    nothing = Operation(op_id="", method="", at="")
    log.append(log.take_turn(), "published", [nothing], snapshot(connection, embedder, ""), embedder)
    log.close()
    connection.close()


def _first(daemon: DaemonProcess, store: str = STORE) -> None:
    with daemon.connect() as wire:
        wire.call("recall", store=store, query="what did we decide about the database")


def writers(daemons: Sequence[DaemonProcess], many: int, diary: Diary) -> Json:
    """Remembers a second by so many writers, half of them at each daemon."""
    done, times = [0] * many, list[float]()
    texts = [iter(diary.take(int(WRITING_S * 400))) for _ in range(many)]
    end = time.perf_counter() + WRITING_S

    def write(number: int) -> None:
        with daemons[number % len(daemons)].connect() as wire:
            while (begin := time.perf_counter()) < end:
                wire.call("remember", **{**next(texts[number]), "store": STORE, "no_diff": True})
                times.append(1e3 * (time.perf_counter() - begin))
                done[number] += 1

    threads = [threading.Thread(target=write, args=(number,)) for number in range(many)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return {"writers": many, "a_second": sum(done) / WRITING_S, "p50_ms": median(times)}


def report(figures: Json) -> None:
    """Tables."""
    it = figures
    rows: list[tuple[str, float, str]] = [
        ("recall p50, shared over local", it["recall"]["shared_p50_ms"] / it["recall"]["local_p50_ms"],
         f"<= {MOST_RECALL_RATIO}"),
        ("remember p50 beyond a bare commit, ms", it["remember"]["shared_p50_ms"] - it["remember"]["commit_p50_ms"],
         f"<= {MOST_OVER_COMMIT_MS}"),
        ("visible on the other daemon p95, ms", it["visible"]["p95_ms"], f"<= {MOST_VISIBLE_MS}"),
        ("new daemon over local start", it["start"]["new_s"] / it["start"]["local_s"], f"<= {MOST_START_RATIO}"),
    ]  # fmt: skip
    cells: list[list[Cell]] = [[name, value, wanted] for name, value, wanted in rows]
    say(table(f"{it['memories']:,} memories", ["", "measured", "wanted"], cells))
    names = ("recall", "remember", "visible", "start")
    parts = [[f"{part} {name}", value] for part in names for name, value in it[part].items()]
    say(table("parts", ["", "ms or s"], parts))
    many = [[str(each["writers"]), each["a_second"], each["p50_ms"]] for each in it["writers"]]
    say(table("writers", ["writers", "a second", "p50 ms"], many))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and report; 0 unless no server can be started."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--start", type=int, nargs="+", default=[], help="memories of stores that are only started")
    parser.add_argument("--growth", type=int, nargs="+", default=[], help="memories of stores that are written to")
    parser.add_argument("--filled", type=Path, help="data directory of a daemon that has them in its default store")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    try:
        if given.start:
            found = [starts(each, START_ROUNDS, given.filled) for each in given.start]
            cells: list[list[Cell]] = [
                [f"{it['memories']:,}", it["new_s"], it["local_s"], it["new_s"] / it["local_s"]] for it in found
            ]
            say(table(f"first recall, s (<= {MOST_START_RATIO} times)", ["memories", "new", "local", "times"], cells))
            figures: Json = {"starts": found}
        elif given.growth:
            found = [growth(each, given.filled) for each in given.growth]
            grown: list[list[Cell]] = [
                [f"{it['memories']:,}", each["daemons"], each["writers"], each["a_second"], each["p50_ms"]]
                for it in found for each in it["writers"]
            ]  # fmt: skip
            say(table("remembers", ["memories", "daemons", "writers", "a second", "p50 ms"], grown))
            alone: list[list[Cell]] = [[f"{it['memories']:,}", it["lines_a_second"]] for it in found]
            say(table("lines appended without a daemon", ["memories", "a second"], alone))
            figures = {"growth": found}
        else:
            figures = measure(given.memories, given.rounds)
            report(figures)
    except NoServerError as error:
        say(f"not measured: {error}")
        return 2
    write_json(given.json, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
