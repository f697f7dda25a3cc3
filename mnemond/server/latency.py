"""How long each method takes, as counts in buckets: noting one costs a few tenths of a microsecond and no memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from mnemond.clock import monotonic_s
from mnemond.protocol.envelope import Request
from mnemond.protocol.registry import Method
from mnemond.server.call import Call
from mnemond.server.deferred import Deferred
from mnemond.server.dispatch import Dispatcher, Foreigner, Handler, OnDefect, Problems, Reply, Spawn

BUCKETS: Final = 72
"""The last one holds whatever took 2³⁵·⁵ µs, nine hours, or longer."""

UNKNOWN: Final = "(unknown)"
"""Requests for methods that there are not: their names are the caller's, and must not pile up."""


def bucket_of(seconds: float) -> int:
    """Bucket b holds what took from 2^((b-1)/2) to 2^(b/2) µs; 0 what took less than one."""
    us = int(seconds * 1e6)
    return min((us * us).bit_length(), BUCKETS - 1)


def quantile_ms(counts: Sequence[int], share: float) -> float | None:
    """The middle of the bucket that this share of all lies not above, in milliseconds: off by a fifth at most.

    None when nothing was counted.
    """
    wanted = share * sum(counts)
    seen = 0
    for bucket, count in enumerate(counts):
        seen += count
        if count and seen >= wanted:
            return float(2.0 ** ((bucket - 0.5) / 2) / 1e3) if bucket else 0.0005
    return None


class Latencies:
    """Counts by method and bucket since the daemon started."""

    def __init__(self, methods: Iterable[str]) -> None:
        """For these methods, and one more for whatever is none of them."""
        self._counts = {method: [0] * BUCKETS for method in (*methods, UNKNOWN)}
        self._unknown = self._counts[UNKNOWN]

    def follow(self, methods: Iterable[str]) -> None:
        """Count these by their own names as well."""
        for method in methods:
            self._counts.setdefault(method, [0] * BUCKETS)

    def note(self, method: str, begun_s: float) -> None:
        """A request that began then (`monotonic_s`) has its reply."""
        us = int((monotonic_s() - begun_s) * 1e6)
        try:
            self._counts.get(method, self._unknown)[(us * us).bit_length()] += 1  # `bucket_of`, without a call
        except IndexError:
            self._counts.get(method, self._unknown)[-1] += 1

    def counts(self) -> Mapping[str, list[int]]:
        """A copy, of the methods that were asked for."""
        return {method: list(counts) for method, counts in self._counts.items() if any(counts)}


class TimedDispatcher(Dispatcher):
    """Notes how long requests take, from the parsed message to the encoded reply: below a microsecond of work each."""

    def __init__(
        self,
        methods: Mapping[str, Method],
        handlers: Mapping[str, Handler],
        *,
        problems: Mapping[str, Problems] | None = None,
        foreigners: Mapping[str, Foreigner] | None = None,
        on_defect: OnDefect,
        latencies: Latencies,
    ) -> None:
        """As a Dispatcher; `latencies` is where it notes them."""
        super().__init__(methods, handlers, problems=problems, foreigners=foreigners, on_defect=on_defect)
        self._latencies = latencies
        latencies.follow(foreigners or ())
        self._note = latencies.note

    def note(self, name: str, begun_s: float) -> None:
        """Counted among the methods."""
        self._latencies.follow((name,))
        self._note(name, begun_s)

    def answer(self, request: Request, call: Call, spawn: Spawn) -> Reply | Deferred[Reply]:
        """The same reply."""
        begun_s = monotonic_s()
        reply = Dispatcher.answer(self, request, call, spawn)
        if isinstance(reply, Deferred):
            reply.subscribe(partial(self._note, request.method, begun_s))
        else:
            self._note(request.method, begun_s)
        return reply
