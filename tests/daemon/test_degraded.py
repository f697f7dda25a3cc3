"""While a store is not well, every reply of every method that is about it says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import get_args

from mnemond.api.registry import METHODS
from mnemond.model.outcomes import Result
from tests.api.factories import spooled
from tests.faults.test_cancellation import REQUESTS, Params, World
from tests.tables import each_row

REASON = "the write-ahead log cannot be copied"

ABOUT_NO_STORE = {
    "session.pause",
    "hello", "ping",  # the daemon
    "store.create", "store.list", "store.set", "store.path", "store.remove",  # which stores there are
    "backup.list", "backup.verify", "backup.restore",  # files beside them; a restored store is another one
    "subscribe", "unsubscribe",  # a connection; what has happened to a store is told as it happens
    "sync.unite", "sync.finish",  # a sync that was begun; tests/api/test_sync.py
    "config.show", "top", "daemon.stop",  # `top` says it of each store by itself
    "cli.run",  # the line on standard error: tests/cli/test_text.py
}  # fmt: skip

ALONE = {"embed.run", "embed.switch", "embed.calibrate"}
"""Those that this daemon, which has no embedder, refuses."""

MORE: dict[str, Callable[[World], Params]] = {
    "diff": lambda _: {"content": "The backup runs at noon"},
    "extract": lambda _: {"messages": [{"role": "user", "content": "Remember that we deploy on Fridays."}]},
    "context": lambda _: {"query": "text"},
    "search": lambda _: {"query": "text"},
    "unlink": lambda world: {"source_id": world.one, "target_id": world.other},
    "related": lambda world: {"id": world.one},
    "pin": lambda world: {"id": world.one},
    "merge": lambda world: {"id": world.one, "other_id": world.other, "content": "Both texts"},
    "restore": lambda world: {"id": world.one},
    "log": lambda _: {},
    "receipt": lambda _: {},
    "jobs.list": lambda _: {},
    "jobs.run": lambda _: {"name": "expire", "dry_run": True},
    "verify": lambda _: {},
    "export": lambda world: {"spool": spooled(world.path)},
    "import.run": lambda world: {"kind": "mnemond", "digest": "0" * 64, "spool": spooled(world.path)},
    "import.accept": lambda _: {},
    "sync.open": lambda _: {"target": "0" * 64, "label": "here"},
    "sync.status": lambda _: {},
    "sync.failed": lambda _: {"target": "0" * 64, "label": "here", "why": "no network"},
    "stats": lambda _: {},
    "feedback": lambda world: {"id": world.one, "verdict": "useful"},
    "today": lambda _: {},
    "hook.preview": lambda _: {"moment": "session"},
    "reviews": lambda _: {},
    "consolidate": lambda _: {},
    "communities": lambda _: {},
    "viz": lambda _: {},
    "summarize": lambda world: {"ids": [world.one, world.other]},
    "resolve": lambda _: {"id": 1, "resolution": "COEXIST"},
    "cues.missing": lambda _: {},
    "core.show": lambda _: {},
    "core.update": lambda _: {},
    "core.set": lambda _: {"text": "I like tea"},
    "core.history": lambda _: {},
    "core.diff": lambda _: {"older": 1, "newer": 1},
    "relations.list": lambda _: {},
    "relations.add": lambda _: {"source": "Ana", "type": "works_at", "target": "Acme"},
    "relations.close": lambda _: {"source": "Ana", "type": "works_at"},
    "timeline": lambda _: {"name": "Ana"},
    "entity.list": lambda _: {},
    "entity.show": lambda _: {"name": "Ana"},
    "entity.merge": lambda _: {"name": "Ana", "other": "Acme"},
    "entity.split": lambda _: {"name": "Ana", "other": "Anita"},
    "entity.not_same": lambda _: {"name": "Ana", "other": "Acme"},
    "entity.alias": lambda _: {"name": "Ana", "other": "Anita"},
    "rules.list": lambda _: {},
    "rules.set": lambda _: {"state": "off"},
    "cues.apply": lambda world: {"memories": [{"id": world.one, "cues": ["which text"]}]},
}

ARRAYS = {"log", "related"}
"""Their result is a list, which has no place for it."""

SCHEDULED = {"jobs.list", "jobs.run", "communities"}
"""Answered by a daemon that runs jobs: tests/api/test_jobs.py."""

PLACES = ("Berlin", "Munich")

BEFORE: dict[str, Callable[[World], tuple[str, Params]]] = {
    "unlink": lambda world: ("link", {"source_id": world.one, "target_id": world.other, "type": "causal"}),
    "restore": lambda world: ("forget", {"id": world.one}),
    "summarize": lambda world: ("update", {"id": world.other, "content": "The backup runs at noon"}),
    "core.diff": lambda _: ("core.set", {"text": "I like tea"}),
    "relations.close": lambda _: ("relations.add", {"source": "Ana", "type": "works_at", "target": "Acme"}),
    "timeline": lambda _: ("relations.add", {"source": "Ana", "type": "works_at", "target": "Acme"}),
    **dict.fromkeys(
        ("entity.show", "entity.merge", "entity.not_same", "entity.alias", "entity.split"),
        lambda _: ("relations.add", {"source": "Ana", "type": "works_at", "target": "Acme"}),
    ),
    "resolve": lambda _: ("extract", {"facts": [{"content": f"The office is in {each}"} for each in PLACES]}),
}
"""What has to have been done."""


ASKED = (set(REQUESTS) | set(MORE)) - ABOUT_NO_STORE - ARRAYS - SCHEDULED


def test_every_method_is_thought_of() -> None:
    assert set(METHODS) == set(REQUESTS) | set(MORE) | ABOUT_NO_STORE | ALONE
    assert {name for name in METHODS if not is_object(name)} == {*ARRAYS, "cli.run"}


def is_object(name: str) -> bool:
    """Whether its result, or one of its results, has fields."""
    result = METHODS[name].result
    return any(isinstance(each, type) and issubclass(each, Result) for each in get_args(result) or (result,))


@each_row("method", sorted(ASKED))
async def test_a_reply_says_that_the_store_is_not_well(method: str, tmp_path: Path) -> None:
    world = World(tmp_path)
    await world.prepare()
    if method in BEFORE:
        await world.call(*BEFORE[method](world))
    if method == "entity.split":
        await world.call("entity.alias", {"name": "Ana", "other": "Anita"})
    (store,) = world.daemon.stores.open_stores()
    params = {**REQUESTS, **MORE}[method](world)
    store._engine.health.behind = REASON
    result = await world.call(method, params)
    store._engine.health.behind = None
    assert (result.degraded, result.degraded_reason) == (True, REASON)
    await world.daemon.close()
