"""rolling_summary: keep a summary of each conversation, renewed after every ten messages.

The model makes it where `extraction.engine` names one; without an answer that can be used the rules make it, and the
summary has the reason. Each is written in one transaction with the deletion of the messages it covers, and not at all
if something of them was purged or forgotten meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from mnemond.config.settings import Config
from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.jobs.job import Done, Work
from mnemond.jobs.resolve import Asks
from mnemond.memory.rolling_summary import MAX_TOKENS, SUMMARY_SCHEMA, accepted, asked, extracted
from mnemond.store import conversations
from mnemond.store.conversations import RULES, Conversation, RollingSummary, Spoken

NAME: Final = "rolling_summary"

PORTION: Final = 8
"""Conversations of one run; with a model of 3 billion parameters on two cores some minutes."""


class SummaryDeps(msgspec.Struct, frozen=True):
    """The dependencies of the job: the settings of a store, by its name; how a model is asked, and the prompt about a
    summary, messages and a number of characters. Without `asks` the rules sum up."""

    config: Callable[[str], Config]
    asks: Asks | None = None
    prompt: Callable[[str, str, str], str] = "{}\n{}\n{}".format


class RollingSummaries:
    """Runs soon after a message was kept. Runs that find no conversation to sum up are not recorded."""

    name = NAME
    summary = "conversations are summed up, each after ten messages"
    first_s = 0.0

    def __init__(self, interval_s: float, means: SummaryDeps) -> None:
        self.interval_s = interval_s
        self._means = means

    async def run(self, work: Work) -> Done:
        """Sum up the conversations with ten new messages."""
        config = self._means.config(work.store.name)
        if not config.extraction.rolling_summary:
            return Done("nothing", detail="extraction.rolling_summary is false")
        found = await work.store.read(conversations.due)
        if work.dry_run:
            return work.done(len(found), "conversations would be summed up")
        asks = self._means.asks if config.extraction.asks_model else None
        written, why = 0, ""
        for conversation in found[:PORTION]:
            summary = await self._renewed(work, conversation, asks)
            written += summary is not None
            why = why or ("" if summary is None else summary.reason)
        if await work.store.read(lambda it: conversations.count_expired(it, work.now_us)):
            await work.store.rewrite(lambda it: conversations.expire(it, work.now_us))
        if not written:
            return work.done(0)
        done = await work.note(work.done(written, f"by the rules: {why}" if why else ""))
        return msgspec.structs.replace(done, again=len(found) > PORTION)

    async def _renewed(self, work: Work, conversation: Conversation, asks: Asks | None) -> RollingSummary | None:
        """Write the new summary of a conversation and return it; None if what it was made of has gone meanwhile."""
        before = await work.store.read(lambda it: conversations.rolling_summary(it, conversation))
        messages = await work.store.read(lambda it: conversations.waiting(it, conversation))
        if not messages:
            return None
        text, generator, reason = await self._summed_up(work, before, messages, asks)
        summary = RollingSummary(
            conversation, text, messages[-1].number, work.identity.now, messages[-1].project, generator, reason
        )
        is_put = await work.store.rewrite(lambda it: conversations.put(it, before, messages, summary))
        return summary if is_put else None

    async def _summed_up(
        self, work: Work, before: RollingSummary | None, messages: list[Spoken], asks: Asks | None
    ) -> tuple[str, str, str]:
        """Return the text of a summary, what made it, and why it was not the model."""
        earlier, reason = "" if before is None else before.text, ""
        if asks is not None:
            values = await work.think(asked, earlier, messages)
            try:
                reply = await asks(await work.think(self._means.prompt, *values), SUMMARY_SCHEMA, max_tokens=MAX_TOKENS)
                text, reason = await work.think(accepted, reply.value, earlier, messages)
                if text:
                    return text, reply.model, ""
            except MnemonError as error:
                if error.kind is not UNAVAILABLE:
                    raise
                reason = error.message
        return await work.think(extracted, earlier, messages), RULES, reason
