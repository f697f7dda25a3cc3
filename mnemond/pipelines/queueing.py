"""Queueing what was said in a turn: cut to a bound, without secrets, once."""

from __future__ import annotations

import hashlib
import unicodedata
from functools import partial
from typing import Final

import msgspec

from mnemond.model.changes import ChangeSet, QueueExchange
from mnemond.model.outcomes import Queued
from mnemond.model.queued_exchange import LONGEST_NAME, LONGEST_PROMPT, LONGEST_REPLY, QueuedExchange
from mnemond.pipelines.identity import Identity
from mnemond.store.exchanges import is_known
from mnemond.store.proposal import Proposal, View
from mnemond.text.marks import capped
from mnemond.text.secrets import find_secrets, redact

METHOD: Final = "queue"
"""What operations are called that put something into the queue."""

MARGIN: Final = 4_096
"""Characters on either side of a cut that are looked through for secrets before they go: what the first cut took a part
of, the second one takes all of. A private key of 4,096 bits has 3,300."""

GAP: Final = "\n…\n"
"""Where the middle of a text was."""


class Tidied(msgspec.Struct, frozen=True):
    """An exchange as it may be stored, and the kinds of secrets that it had."""

    exchange: QueuedExchange
    redacted: tuple[str, ...]


def shortened(text: str, most: int) -> str:
    """`text`, or, where it is longer than `most` characters, its beginning and its end with `GAP` between them: what a
    message is about stands at its ends. Each end stops between two words where there are any."""
    if len(text) <= most:
        return text
    half = (most - len(GAP)) // 2
    head, tail = text[:half], text[-half:]
    words_end = max(head.rfind(" "), head.rfind("\n"))
    words_begin = min((at for at in (tail.find(" "), tail.find("\n")) if at >= 0), default=-1)
    return (head[:words_end] if words_end > 0 else head) + GAP + tail[words_begin + 1 :]


def tidied(exchange: QueuedExchange) -> Tidied:
    """`exchange` within its bounds and without secrets, its key hashed. Takes up to 7 ms."""
    kinds: dict[str, None] = {}
    prompt = _clean(exchange.prompt, LONGEST_PROMPT, kinds)
    reply = _clean(exchange.reply, LONGEST_REPLY, kinds)
    conversation, project = _name(exchange.conversation_id), _name(exchange.project)
    said = (exchange.key,) if exchange.key else (exchange.kind, conversation, prompt, reply)
    tidy = msgspec.structs.replace(
        exchange, host=_name(exchange.host), conversation_id=conversation, project=project, prompt=prompt, reply=reply,
        key=_hash(exchange.host, *said),
    )  # fmt: skip
    return Tidied(tidy, tuple(sorted(kinds)))


def _clean(text: str, most: int, kinds: dict[str, None]) -> str:
    rough = shortened(text, most + 2 * MARGIN)
    found = redact(unicodedata.normalize("NFC", capped(rough.replace("\0", " "))))
    kinds.update(dict.fromkeys(found.kinds))
    return shortened(found.text, most)


def _name(name: str) -> str:
    """A name as it may be stored: none where it is a secret, since redacted ones of different people are the same."""
    kept = name[:LONGEST_NAME].replace("\0", " ").strip()
    return "" if find_secrets(kept) else kept


def _hash(*parts: str) -> str:
    """A key that tells nothing of what it was made from."""
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=16).hexdigest()


def propose(exchange: QueuedExchange, identity: Identity) -> Proposal:
    """The write. It is tidied up in the writer's thread, so that the event loop need not wait for it."""
    return identity.proposal(METHOD, partial(_decide, exchange, identity))


def _decide(exchange: QueuedExchange, identity: Identity, view: View) -> ChangeSet:
    tidy = tidied(exchange)
    known = is_known(view.connection, tidy.exchange.key)
    empty = not (tidy.exchange.prompt.strip() or tidy.exchange.reply.strip())
    kept = not (known or empty)
    outcome = Queued(identity.op_id, kept, tidy.redacted)
    queue = (QueueExchange(identity.id, tidy.exchange),) if kept else ()
    return msgspec.structs.replace(identity.change_set(METHOD, (), outcome, operation=""), queue=queue)
