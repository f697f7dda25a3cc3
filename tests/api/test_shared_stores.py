"""The methods about shared stores: what is refused, and what follows from what other daemons wrote."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mnemond.api import types_stores
from mnemond.api.events import Feed
from mnemond.api.maintenance import StoreListeners
from mnemond.api.uses import Uses
from mnemond.errors import INVALID_PARAMS, UNAVAILABLE, MnemonError
from mnemond.jobs.catch_up import Followers
from mnemond.store.connection import Connection
from mnemond.store.meta import EmbedderRecord, write_embedder
from mnemond.store.operation_log import Operation
from tests.api.factories import CALL, ToyEmbedder, ToySupply, bench
from tests.tables import each_row

SECRET = "postgresql://ada:hunter2@db.example/memory"


@each_row(
    ("backend", "dsn_env", "kind", "why"),
    [
        ("postgresql", None, INVALID_PARAMS, "belong together"),
        (None, "TEAM_DSN", INVALID_PARAMS, "belong together"),
        ("postgresql", SECRET, INVALID_PARAMS, "is not the name of an environment variable"),
        ("postgresql", "host=db password=hunter2", INVALID_PARAMS, "is not the name of an environment variable"),
        (None, None, INVALID_PARAMS, "visibility is of shared stores"),
        ("postgresql", "TEAM_DSN", UNAVAILABLE, "TEAM_DSN, which names the server, is not set"),
    ],
)
async def test_what_cannot_be_shared_is_refused(
    backend: Any, dsn_env: str | None, kind: object, why: str, tmp_path: Path
) -> None:
    async with bench(tmp_path) as over:
        params = types_stores.StoreCreateParams(name="team", backend=backend, dsn_env=dsn_env, visibility="project")
        with pytest.raises(MnemonError, match=why) as caught:
            await over.named.create(CALL, params)
        assert caught.value.kind is kind
        assert "hunter2" not in repr((caught.value.message, caught.value.hint, caught.value.problems))
        assert over.stores.names() == []


class Listener:
    """Of an embedding worker, nothing."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.embedders: list[Any] = []

    def attach(self, *_: Any) -> None: ...

    def request_backfill(self, name: str) -> None:
        self.asked.append(name)

    def set_embedder(self, _name: str, embedder: Any) -> None:
        self.embedders.append(embedder)

    def is_busy(self, _name: str) -> bool:
        return False

    def detach(self, _name: str) -> None: ...


async def test_what_others_wrote_is_an_event_and_a_purge_clears_caches(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        feed, sent, reloaded, cleared = Feed(0), list[dict[str, Any]](), list[str](), list[int]()

        def send(_connection: int, line: bytes) -> bool:
            sent.append(msgspec.json.decode(line)["params"])
            return True

        feed.send = send
        feed.subscribe(1, frozenset({"memory"}), None)
        followers = Followers(nullcontext)
        followers.start_soon = lambda work, name: reloaded.append(name)  # type: ignore[method-assign]
        jobs = Listener()
        worker = Listener()
        uses = Uses(over.identities, nullcontext)
        reload = over.open_stores.reload_embedder
        listeners = StoreListeners(worker, jobs, feed, followers, reload, uses)  # type: ignore[arg-type]
        warm = msgspec.structs.replace(await over.open_stores.open("default"), on_purged=lambda: cleared.append(1))
        listeners.attach(warm, lambda **_: None)
        written = Operation(op_id="op-1", method="remember", at="")
        warm.store.note_replayed([written, Operation(op_id="", method="", at="")])
        warm.store.note_replayed([msgspec.structs.replace(written, op_id="op-2", method="recall")])
        assert [each["data"] for each in sent] == [
            {"store": "default", "method": "remember", "op_id": "op-1", "id": None}
        ]
        assert (cleared, reloaded) == ([], [])
        warm.store.note_replayed([msgspec.structs.replace(written, op_id="op-3", method="gc", purged=["x"])])
        assert (cleared, reloaded) == ([1], [])
        assert worker.asked == []
        row = {"id": "y", "status": "active"}
        for op in ({"add": {"memory": [row]}, "vectors": {"y": ""}}, {"change": {"memory": [row]}}):
            warm.store.note_replayed([msgspec.structs.replace(written, op_id="", method="", **op)])
        assert worker.asked == ["default"]
        listeners.set_embedder("default", None)
        assert worker.embedders == [None]
        warm.store.note_replayed([])
        assert (cleared, reloaded) == ([1, 1], ["default"])
        listeners.detach("default")


async def test_an_embedder_that_another_daemon_chose_is_found(tmp_path: Path) -> None:
    supply = ToySupply(ToyEmbedder(), ToyEmbedder("toy-2"))
    async with bench(tmp_path, supply=supply) as over:
        warm = await over.open_stores.open("default")
        await over.open_stores.reload_embedder("default")
        await over.open_stores.reload_embedder("another")
        assert await over.open_stores.open("default") is warm

        def switch_to(fingerprint: str) -> Any:
            def work(connection: Connection) -> None:
                write_embedder(connection, EmbedderRecord("toy", 2, fingerprint))

            return work

        for fingerprint, error in (("toy-2", None), ("toy-3", "there is no such toy; look elsewhere")):
            await warm.store.rewrite(switch_to(fingerprint))
            await over.open_stores.reload_embedder("default")
            now = await over.open_stores.open("default")
            assert (now.embedder and now.embedder.fingerprint, now.embed_error) == (
                None if error else fingerprint, error,
            )  # fmt: skip
            assert now.lacks_embedder is (error is not None)
