"""A purge empties every cache of the daemon that may hold a word of a memory."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections import OrderedDict

import pytest

from mnemond.text import caches
from mnemond.text.caches import text_cache
from mnemond.text.similarity import LongTextCache
from tests.text.cache_walk import unregistered

WITHOUT_TEXT = {
    "mnemond.config.hosts.described": "of agent programs",
    "mnemond.config.prompt_texts.shipped": "of texts of the release",
    "mnemond.memory.write.write_rules": "of settings and embedders",
    "mnemond.model.memory.parse_rfc3339": "of times",
    "mnemond.recall.profiles._prominence": "of a snapshot, and dropped with it; a purge makes a new one",
    "mnemond.recall.published_profiles._keywords": "of a snapshot, and dropped with it; a purge makes a new one",
    "mnemond.recall.question._hypothetical": "of a snapshot, and dropped with it; a purge makes a new one",
    "mnemond.wire.deferred._ready": "no cache: results that are delivered in the same turn of the loop",
    "mnemond.wire.hook_payload._mark": "of names of fields",
    "mnemond.wire.params._decoder": "of types of parameters",
    "mnemond.wire.params._fields": "of types of parameters",
    "mnemond.wire.params._node": "of types of parameters",
}
"""Caches that are not registered, of other keys than numbers and types, and what they hold."""


def test_every_cache_is_registered_or_holds_no_text() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.text.cache_walk"], capture_output=True, text=True, check=True
    )  # fmt: skip
    assert sorted(done.stdout.split()) == sorted(WITHOUT_TEXT)


def folded(text: str) -> str:
    return text.casefold()


def squared(number: int) -> int:
    return number * number


def test_an_unregistered_cache_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caches, "_CLEAR", [])
    known: dict[str, str] = {}
    long_texts = LongTextCache(1)

    class Holder:
        folded = functools.cache(folded)

    Holder.__module__ = "example"
    names = {
        "constant": {"a": 1}, "loaded": functools.cache(lambda: "a"), "numbers": functools.cache(squared),
        "registered": text_cache(2)(folded), "function": functools.lru_cache(folded), "known": known,
        "ordered": OrderedDict(), "long_texts": long_texts, "Holder": Holder,
    }  # fmt: skip
    found = ["function", "known", "ordered", "long_texts", "Holder.folded"]
    assert list(unregistered("example", names)) == found
    caches.register(known.clear)
    caches.register(long_texts.clear)
    assert list(unregistered("example", names)) == ["function", "ordered", "Holder.folded"]


def test_clearing_empties_every_registered_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caches, "_CLEAR", [])
    cached, known = text_cache(2)(folded), {"a": "b"}
    caches.register(known.clear)
    assert cached("A") == "a"
    assert cached.cache_info().currsize == 1
    caches.clear_all()
    assert not known
    assert cached.cache_info().currsize == 0
