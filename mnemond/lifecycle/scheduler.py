"""Every open store has an attendant; this starts them, and is asked about them."""

from __future__ import annotations

from collections.abc import Sequence

import trio

from mnemond.errors import STOPPING, MnemonError
from mnemond.lifecycle.attendant import Attendant, Means
from mnemond.lifecycle.job import Job
from mnemond.store.store import Store


class Scheduler:
    """For the event loop's thread; `run` owns the tasks."""

    def __init__(self, jobs: Sequence[Job], means: Means) -> None:
        self.jobs = tuple(jobs)
        self._means = means
        self._attendants: dict[str, Attendant] = {}
        self._nursery: trio.Nursery | None = None
        self._ended = False

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run jobs until cancelled or `end`."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            task_status.started()
            for attendant in self._attendants.values():
                nursery.start_soon(attendant.attend)
            if self._ended:
                nursery.cancel_scope.cancel()
            await trio.sleep_forever()

    def end(self) -> None:
        """The daemon stops: begin nothing any more; whoever waits for a run is told."""
        self._ended = True
        if self._nursery is not None:
            self._nursery.cancel_scope.cancel()

    def attach(self, store: Store) -> None:
        """Look after a store that was opened."""
        attendant = self._attendants[store.name] = Attendant(store, self.jobs, self._means)
        if self._nursery is not None and not self._ended:
            self._nursery.start_soon(attendant.attend)

    def detach(self, name: str) -> None:
        """A store is being closed while the daemon goes on: leave it alone."""
        attendant = self._attendants.pop(name, None)
        if attendant is not None:
            attendant.leave()

    def used(self, name: str) -> None:
        """Somebody asked something of a store, which may not be open yet."""
        attendant = self._attendants.get(name)
        if attendant is not None:
            attendant.used()

    def hurry(self, store: str, job: str) -> None:
        """There is something to do for this job of a store, which may be closed by now: then it is done once it is open
        again."""
        attendant = self._attendants.get(store)
        if attendant is not None:
            attendant.hurry(job)

    def of(self, name: str) -> Attendant:
        """Who looks after an open store. Raises MnemonError(STOPPING) when nobody does yet, or any more."""
        attendant = self._attendants.get(name)
        if self._nursery is None or self._ended or attendant is None:
            raise MnemonError(STOPPING, "no jobs are run: the daemon starts or stops", hint="repeat in a moment")
        return attendant

    def questions(self, name: str) -> list[str]:
        """What jobs of a store ask before they go on, each by its name."""
        attendant = self._attendants.get(name)
        entries = () if attendant is None else attendant.agenda.entries
        return [f"{entry.job.name}: {entry.question}" for entry in entries if entry.question is not None]
