"""What somebody needs who reads an exchange for facts: what was said, in it and before, and what is known (spec 9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from mnemond.extract.exchange import latest_exchange
from mnemond.extract.fact import Message
from mnemond.extract.rules import SPEAKERS
from mnemond.index.snapshot import Snapshot
from mnemond.model.insight import Insight
from mnemond.model.recall import Filter
from mnemond.pipelines.extraction import cleaned
from mnemond.pipelines.search import search

EARLIER_LENGTH: Final = 300
"""Characters that are shown of a message before the exchange (spec 9)."""

MOST_KNOWN: Final = 10
"""Memories shown beside it (spec 9)."""

QUERY_LENGTH: Final = 2_000
"""Characters of the exchange by which they are found."""


class ExchangeContext(NamedTuple):
    """`latest` whole, `earlier` cut, both without secrets; `known`: memories that share words with it, best first."""

    earlier: tuple[Message, ...]
    latest: tuple[Message, ...]
    known: tuple[Insight, ...]


def exchange_context(
    messages: Sequence[Message], snapshot: Snapshot, wanted: Filter, *, window: int
) -> ExchangeContext:
    """The context of the latest exchange of `messages`; `window`: how many messages before it are shown."""
    earlier, latest = latest_exchange(cleaned(messages), window)
    said = " ".join(each.content for each in latest if each.role in SPEAKERS)
    found = search(snapshot, said[:QUERY_LENGTH], wanted, MOST_KNOWN)
    return ExchangeContext(tuple(map(_cut, earlier)), latest, tuple(match.insight for match in found))


def _cut(message: Message) -> Message:
    if len(message.content) <= EARLIER_LENGTH:
        return message
    return msgspec.structs.replace(message, content=message.content[: EARLIER_LENGTH - 1] + "…")
