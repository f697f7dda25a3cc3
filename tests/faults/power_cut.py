"""What a disk may hold after a power cut: what was synced is there; of the rest anything from nothing to everything is,
sector by sector and in any order."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.faults.recording_vfs import Deleted, Opened, Operation, Synced, Truncated, Written

SECTOR = 512
"""Bytes that reach the disk together (reliability section 10)."""

Image = dict[str, bytes]
"""Files by name."""

SURVIVING = (0.1, 0.5, 0.9)
"""Shares of unsynced sectors that survive a cut."""


LOGS = ("-wal", "-journal")
"""With the first sync of a file that ends so SQLite flushes the entries of the directory, and so those of all files."""


class _File:
    def __init__(self) -> None:
        self.now = bytearray()
        self.synced: bytes | None = None
        self.pending: list[Written | Truncated] = []
        self.flushes_directory = False


class Disk:
    """Follows the operations of a file system; at any moment it can tell what a power cut could leave."""

    def __init__(self) -> None:
        self._files: dict[str, _File] = {}
        self._ghosts: dict[str, bytes] = {}
        """Deleted files whose deletion may not be on the disk yet."""

    def follow(self, operation: Operation) -> None:
        name = operation.file
        match operation:
            case Opened():
                self._files.setdefault(name, _File()).flushes_directory = name.endswith(LOGS)
            case Written() | Truncated():
                file = self._files[name]
                _carry_out(file.now, operation)
                file.pending.append(operation)
            case Synced():
                file = self._files[name]
                file.synced = bytes(file.now)
                file.pending.clear()
                if file.flushes_directory:
                    file.flushes_directory = False
                    self._ghosts.clear()
            case Deleted(flushed=flushed):
                gone = self._files.pop(name, None)
                if gone is not None and gone.synced is not None and not flushed:
                    self._ghosts[name] = gone.synced

    def images(self, chance: random.Random, torn: int) -> Iterator[Image]:
        """Everything as written, as after a kill; only what was synced; cut off in the middle of one write after the
        other; and `torn` times what chance lets through."""
        yield {name: bytes(file.now) for name, file in self._files.items()}
        yield self._ghosts | {name: file.synced for name, file in self._files.items() if file.synced is not None}
        yield self._cut_off(chance)
        for _ in range(torn):
            yield self._torn(chance)

    def _cut_off(self, chance: random.Random) -> Image:
        """Writes reached the disk in their order; the last one in part."""
        image: Image = {}
        for name, file in self._files.items():
            data = bytearray(file.synced or b"")
            kept = chance.randint(0, len(file.pending))
            for operation in file.pending[:kept]:
                _carry_out(data, operation)
            if kept < len(file.pending) and isinstance(last := file.pending[kept], Written):
                part = SECTOR * chance.randint(0, len(last.data) // SECTOR)
                _carry_out(data, last._replace(data=last.data[:part]))
            if file.synced is not None or kept:
                image[name] = bytes(data)
        return image

    def _torn(self, chance: random.Random) -> Image:
        image = {name: data for name, data in self._ghosts.items() if chance.random() < 0.5}
        for name, file in self._files.items():
            if file.synced is None and chance.random() < 0.5:
                image.pop(name, None)
                continue
            data, share = bytearray(file.synced or b""), chance.choice(SURVIVING)
            whole = chance.random() < 0.5
            for operation in file.pending:
                if isinstance(operation, Truncated) or whole:
                    if chance.random() < share:
                        _carry_out(data, operation)
                    continue
                for begin in range(0, len(operation.data), SECTOR):
                    if chance.random() < share:
                        sector = operation.data[begin : begin + SECTOR]
                        _carry_out(data, Written(name, operation.offset + begin, sector))
            image[name] = bytes(data)
        return image


def _carry_out(data: bytearray, operation: Written | Truncated) -> None:
    if isinstance(operation, Truncated):
        del data[operation.size :]
        return
    if len(data) < operation.offset:
        data.extend(bytes(operation.offset - len(data)))
    data[operation.offset : operation.offset + len(operation.data)] = operation.data
