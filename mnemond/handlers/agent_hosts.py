"""When each host was heard of last, as long as the daemon runs."""

from __future__ import annotations

from collections.abc import Callable

from mnemond.model.agent_event import Host
from mnemond.model.timestamp import format_us
from mnemond.protocol.daemon import HostSeen


class LastSeen:
    """Counts events. For the event loop's thread."""

    def __init__(self, now_us: Callable[[], int]) -> None:
        self._now_us = now_us
        self._seen: dict[Host, tuple[int, int]] = {}

    def note(self, host: Host) -> None:
        """A hook of this host called."""
        _, events = self._seen.get(host, (0, 0))
        self._seen[host] = (self._now_us(), events + 1)

    def views(self) -> dict[str, HostSeen]:
        """By host, the last one first."""
        latest_first = sorted(self._seen.items(), key=lambda item: (-item[1][0], item[0]))
        return {host.value: HostSeen(format_us(last_us), events) for host, (last_us, events) in latest_first}
