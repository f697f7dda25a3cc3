"""Opening a store in a thread that nobody may be waiting for any more when it is done."""

from __future__ import annotations

import threading
from collections.abc import Callable

from mnemond.store.store import Store


class Attempt:
    """Exactly one side ends up with the store: whoever waits for it, or nobody, and then it is closed again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._given_up = False
        self._opened: Store | None = None

    def run(self, open_it: Callable[[], Store]) -> Store:
        """In the thread: open it, and close it at once where nobody waits."""
        store = open_it()
        with self._lock:
            self._opened = store
            unwanted = self._given_up
        if unwanted:
            store.discard()
        return store

    def give_up(self) -> Store | None:
        """On the other side: nobody waits. The store, where it was opened already; it must be discarded."""
        with self._lock:
            self._given_up = True
            return self._opened
