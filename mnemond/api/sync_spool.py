"""The lines that other devices wrote, in parts of bounded size. They are in the order in which they were sent, but for
those of one memory, which are together."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterator, Sequence
from hashlib import blake2b
from typing import IO, Any, Final, NamedTuple

import numpy as np

from mnemond.api.types_sync import SyncSent
from mnemond.memory.sync.code import StrangerError
from mnemond.memory.sync.groups import RecordError
from mnemond.memory.sync.kinds import PURGES, STEPS, is_purge, step_of
from mnemond.memory.sync.records import MAX_LINE, UnknownKindError
from mnemond.memory.sync.union import MAX_NAMED
from mnemond.model.sync import Kind, Record, State

MAX_REFUSED: Final = 1_000
"""Lines of one file that are refused, after which the rest of it is not looked at: it is no file of mnemond's."""

BYTES_AT_ONCE: Final = 4 << 20
"""Bytes of the lines of one part, after which it ends: its records take some five times as much memory."""

Decode = Callable[[bytes], Record[Any]]


class Part(NamedTuple):
    """Records to be united in one operation, all of one step; `files`: of each the position of its file."""

    step: int
    records: list[Record[Any]]
    files: list[int]


class SyncSpool:
    """The files that a client sends. `look`, then read the `parts`. About 25 bytes of memory a line, and the lines of
    one part."""

    def __init__(self, content: IO[bytes], sent: Sequence[SyncSent]) -> None:
        self._content = content
        self._sent = sent
        self.good = {each.file for each in sent}
        """Positions of files of which every line could be used."""
        self.refused: list[tuple[int, int, str]] = []
        """Of the first lines that cannot be used, the position of the file, the number in it and the reason."""
        self.refused_found = 0
        self.strangers: set[int] = set()
        """Positions of files with lines that are signed with another code."""
        self.purges: dict[tuple[Kind, State], set[str]] = {}
        """Memories and exchanges that are purged by a line, by kind and the state that it gives them."""
        self._steps, self._files, self._lengths = array("B"), array("H"), array("I")
        self._keys, self._starts = array("Q"), array("Q")

    def look(self, decode: Decode) -> None:
        """Check every line that has not been looked at, and note where those are that can be used (blocking). Lines of
        kinds that a later version writes do not make the rest of a file useless: one of each file is refused."""
        numbers: dict[int, int] = {}
        bad: dict[int, int] = {}
        newer: set[int] = set()
        for file, start, line in self._lines():
            numbers[file] = numbers.get(file, 0) + 1
            if bad.get(file, 0) >= MAX_REFUSED:
                continue
            try:
                record = decode(line)
            except RecordError as error:
                if file in newer and isinstance(error, UnknownKindError):
                    continue
                if isinstance(error, UnknownKindError):
                    newer.add(file)
                else:
                    bad[file] = bad.get(file, 0) + 1
                if isinstance(error, StrangerError):
                    self.strangers.add(file)
                    continue
                self.refused_found += 1
                if len(self.refused) < MAX_NAMED:
                    self.refused.append((file, numbers[file], str(error)))
                continue
            if is_purge(record):
                self.purges.setdefault((record.kind, record.state), set()).add(record.key)
            self._steps.append(step_of(record))
            self._files.append(file)
            self._lengths.append(len(line))
            self._keys.append(int.from_bytes(blake2b(record.key.encode(), digest_size=8).digest(), "big"))
            self._starts.append(start)
        self.good -= bad.keys() | newer

    def _lines(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield the lines that are complete, each with the position of its file and where it begins; a line that is too
        long as a part."""
        start = 0
        for each in self._sent:
            end = start + each.size
            while start < end:
                self._content.seek(start)
                if not (line := self._content.readline(min(end - start, MAX_LINE + 1))):
                    return
                yield each.file, start, line.removesuffix(b"\n")
                start += len(line)

    def parts(self, decode: Decode, held: Collection[str]) -> Iterator[Part]:
        """Yield the records, but for purges of memories that are `held` (blocking): first purges, then memories, links,
        relations and names, and uses, those of one memory together. Decisions about names that went with a purge wait
        with those, as the names may be those of memories that stay here. The files of both are not good then."""
        part = Part(PURGES, [], [])
        size = last = 0
        _, first, keys = np.unique(self._keys, return_index=True, return_inverse=True)
        for at in map(int, np.lexsort((np.asarray(self._starts), first[keys], np.asarray(self._steps)))):
            step, key, length = self._steps[at], self._keys[at], self._lengths[at]
            is_many = len(part.records) >= STEPS[step].at_once
            full = size >= BYTES_AT_ONCE or (is_many and key != last)
            if part.records and (full or step != part.step):
                yield part
                part, size = Part(step, [], []), 0
            record = decode(self._read(self._starts[at], length))
            is_name = bool(held) and record.kind == "name" and record.state == "purged"
            if is_name or (step == PURGES and record.key in held):
                self.good.discard(self._files[at])
                continue
            part = part._replace(step=step)
            part.records.append(record)
            part.files.append(self._files[at])
            size, last = size + length, key
        if part.records:
            yield part

    def wait_for(self, records: Sequence[Record[Any]], files: Sequence[int], keys: Collection[str]) -> None:
        """Let the files of records of some things be read again at the next sync."""
        self.good.difference_update(file for file, each in zip(files, records, strict=True) if each.key in keys)

    def without_purges(
        self, records: Sequence[Record[Any]], files: Sequence[int], held: Collection[str], *, exchanged: bool
    ) -> list[Record[Any]]:
        """Return records of exchanges without purges that are `held`, which are read again at the next sync; where they
        are not `exchanged` only purges."""
        waiting = {each.key for each in records if is_purge(each)}.intersection(held)
        self.wait_for(records, files, waiting)
        return [each for each in records if (each.key not in waiting if is_purge(each) else exchanged)]

    def _read(self, start: int, length: int) -> bytes:
        self._content.seek(start)
        return self._content.read(length)
