"""A SQLite file system whose Nth operation that changes something fails, once or from then on."""

from __future__ import annotations

from typing import Literal, get_args

import apsw

Fault = Literal["io", "full", "torn"]
FAULTS: tuple[Fault, ...] = get_args(Fault)
NAME = "failing"
TORN_BYTES = 512


class Plan:
    """Which operation fails, and how; counts every operation."""

    def __init__(self) -> None:
        self.disarm()

    def disarm(self) -> None:
        self.at: int | None = None
        self.fault: Fault = "io"
        self.persistent = False
        self.count = 0
        self.fired = 0

    def arm(self, at: int | None, fault: Fault, *, persistent: bool) -> None:
        self.disarm()
        self.at, self.fault, self.persistent = at, fault, persistent

    def strikes(self) -> bool:
        self.count += 1
        strikes = self.at is not None and (self.count == self.at or (self.persistent and self.count > self.at))
        self.fired += strikes
        return strikes

    def error(self, code: int) -> Exception:
        return apsw.exception_for(apsw.SQLITE_FULL if self.fault == "full" else code)


PLAN = Plan()


class FailingFile(apsw.VFSFile):
    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - the name is SQLite's
        if PLAN.strikes():
            if PLAN.fault == "torn":
                super().xWrite(bytes(data)[:TORN_BYTES], offset)
            raise PLAN.error(apsw.SQLITE_IOERR_WRITE)
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        if PLAN.strikes():
            raise PLAN.error(apsw.SQLITE_IOERR_FSYNC)
        super().xSync(flags)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        if PLAN.strikes():
            raise PLAN.error(apsw.SQLITE_IOERR_TRUNCATE)
        super().xTruncate(newsize)


class FailingVfs(apsw.VFS):
    def __init__(self) -> None:
        super().__init__(NAME, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> FailingFile:  # noqa: N802
        return FailingFile("", name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        if PLAN.strikes():
            raise PLAN.error(apsw.SQLITE_IOERR_DELETE)
        super().xDelete(filename, syncdir)
