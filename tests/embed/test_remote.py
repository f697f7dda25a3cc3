"""Who may ask a server, and how long the others wait, with an API that does what it is told."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import pytest

from mnemond.config.reading import EmbeddingSettings
from mnemond.embed.remote import Endpoint, RemoteEmbedder, connect, direction, identify
from mnemond.errors import MnemonError
from mnemond.http import Deadline
from mnemond.model_servers import ModelInfo
from tests.embed.hand_clock import HandClock
from tests.tables import each_row


class ToyApi:
    """One dimension for each letter a to c. Probes wait until they may go on."""

    provider = "toy"
    model = "letters"
    service = "the toy"

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.go_on = threading.Event()
        self.go_on.set()
        self.digest = "d1"
        self.allowed: list[float] = []

    def describe(self, deadline: Deadline) -> ModelInfo:
        self.allowed.append(deadline.seconds)
        self.reached.set()
        assert self.go_on.wait(10)
        return ModelInfo(self.digest, 3)

    def embeddings(self, texts: Sequence[str], deadline: Deadline) -> list[list[float]]:
        self.allowed.append(deadline.seconds)
        return [[float(text.count(letter)) for letter in "abc"] for text in texts]


def test_who_waits_for_a_probe_waits_no_longer_than_it_may() -> None:
    api = ToyApi()
    api.go_on.clear()
    clock = HandClock()
    endpoint = Endpoint(api, EmbeddingSettings(), clock)
    first = threading.Thread(target=endpoint.probe)
    first.start()
    assert api.reached.wait(10)
    with pytest.raises(MnemonError, match=r"the toy did not answer within 0\.0 s"):
        endpoint.probe(Deadline(clock, 0.01))
    api.go_on.set()
    first.join()
    assert endpoint.probe(Deadline(clock, 10)) == ModelInfo("d1", 3)


@pytest.mark.parametrize(("query", "allowed"), [(False, [2.0, 2.0, 30.0]), (True, [2.0, 2.0, 2.0])])
def test_every_step_has_its_time(query: bool, allowed: list[float]) -> None:
    api, clock = ToyApi(), HandClock()
    embedder = connect(Endpoint(api, EmbeddingSettings(), clock))
    clock.now += 30
    embedder.embed(["a"], purpose="query" if query else "document")
    assert api.allowed == allowed


def test_a_probe_takes_no_more_than_what_asks_for_it_has() -> None:
    api, clock = ToyApi(), HandClock()
    embedder = connect(Endpoint(api, EmbeddingSettings(timeout_s=0.5, probe_timeout_s=60), clock))
    clock.now += 30
    embedder.embed(["a"])
    assert api.allowed == [60, 0.5, 0.5]


def test_an_identity_depends_on_everything_that_changes_a_vector() -> None:
    api = ToyApi()
    identity = identify(api, "d1", 3)
    assert (identity.name, identity.dimension) == ("letters", 3)
    others = [identify(api, "d2", 3), identify(api, "d1", 4)]
    api.model = "letters2"
    others.append(identify(api, "d1", 3))
    assert len({identity.fingerprint, *(other.fingerprint for other in others)}) == 4


def test_stores_of_two_builds_are_told_apart() -> None:
    api, clock = ToyApi(), HandClock()
    endpoint = Endpoint(api, EmbeddingSettings(), clock)
    old = RemoteEmbedder(endpoint, identify(api, "d0", 3))
    assert connect(endpoint).embed(["a"])[0] is not None
    with pytest.raises(MnemonError, match="another build of letters") as caught:
        old.embed(["a"])
    assert caught.value.hint == "run `mnemonctl embed --switch` to make the vectors anew"


@each_row("numbers", [[], [0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0], [1.0, float("-inf")]])
def test_no_direction(numbers: list[float]) -> None:
    assert direction(numbers) is None


def test_a_direction_is_of_length_one_in_float32() -> None:
    found = direction([3.0, -4.0])
    assert found is not None
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [0.6, -0.8], atol=1e-7)
