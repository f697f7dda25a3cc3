"""Facts on their way into a store: each a write of its own, resolved by diff, and none at the cost of another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mnemond.config.settings import Config
from mnemond.config.writing import ExtractionSettings, LifecycleSettings
from mnemond.errors import MnemonError
from mnemond.extract.facts import Context, Extraction, Fact, Message
from mnemond.memory import extraction
from mnemond.memory.extraction import Provenance
from mnemond.memory.write import write_rules
from mnemond.model.memory import Insight, Scope, format_us
from mnemond.model.outcomes import Fate, HostFact, RememberResult
from tests.memory.audit_world import AuditWorld, vector_for

CONFIG = Config(lifecycle=LifecycleSettings(max_insights=0))
NOBODY = Scope()
DAY = 86_400_000_000


class Desk(AuditWorld):
    """A store that conversations are read into."""

    def hear(self, *said: str, **provenance: Any) -> list[Fate]:
        """The user's and the assistant's turns, and what became of each fact."""
        roles = ("user", "assistant")
        messages = [Message(roles[at % 2], each) for at, each in enumerate(said)]
        found = extraction.extract_exchange(messages, self.context(), window=10)
        return [self.write(each, **provenance) for each in found.facts]

    def context(self, scope: Scope = NOBODY) -> Context:
        self.clock_us += 60_000_000
        return extraction.context_of(self.snapshot, scope, self.config.extraction, self.clock_us)

    def write(self, fact: Fact, *, as_it_is: bool = False, **provenance: Any) -> Fate:
        identity = self.identity()
        known = self.snapshot.entity_spelling
        whence = Provenance(**provenance)
        write = extraction.prepare(fact, whence, identity.now_us, known, self.config, as_it_is=as_it_is)
        ready = write.embedded(vector_for(write.content), None)
        outcome = self.commit(extraction.propose(ready, identity, write_rules(None, self.config)))
        if isinstance(outcome, MnemonError):
            raise outcome
        assert isinstance(outcome, RememberResult)
        return extraction.fate(outcome)

    def memories(self) -> list[Insight]:
        """Those that are active."""
        rows = (self.snapshot.row_of(each) for each in self.active())
        return [self.snapshot.insight(row) for row in rows if row is not None]

    def one(self, content: str) -> Insight:
        """The active memory that begins so."""
        (found,) = (each for each in self.memories() if each.content.startswith(content))
        return found


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    built = Desk(tmp_path / "a.db", CONFIG)
    yield built
    built.engine.close()


def test_a_fact_is_stored_with_all_that_is_known_of_it(desk: Desk) -> None:
    (fate,) = desk.hear("We decided to use Qdrant because the team runs it", conversation_id="chat-7")
    insight = desk.one("We decided")
    assert fate == Fate("CREATE", None, insight.id, None, "no memory is like it")
    assert (insight.category, insight.importance, insight.intent) == ("decision", 3, "fact")
    assert (insight.channel, insight.source, insight.conversation_id) == ("extract", "user", "chat-7")
    metadata = msgspec.json.decode(insight.metadata)
    assert metadata == {"importance10": 6, "confidence": 0.9, "attributed_to": "user"}


def test_messages_are_kept_beside_it(desk: Desk) -> None:
    fact = HostFact(content="Ana works at Acme", attributed_to="assistant", message_ids=("m1", "m2"))
    desk.write(extraction.host_facts([fact], desk.context()).facts[0])
    insight = desk.one("Ana")
    assert msgspec.json.decode(insight.metadata)["message_ids"] == ["m1", "m2"]
    assert (insight.entities, insight.source) == (("Ana", "Acme"), "assistant")


def test_what_is_known_is_not_stored_again(desk: Desk) -> None:
    (first,) = desk.hear("I prefer tabs over spaces")
    (again,) = desk.hear("I prefer tabs over spaces.")
    assert again == Fate("NONE", "DUPLICATE", first.memory_id, None, again.reason)
    assert len(desk.memories()) == 1


def test_what_changed_takes_the_place_of_what_it_was(desk: Desk) -> None:
    (first,) = desk.hear("Remember: the staging API limit is 100 requests per second")
    (changed,) = desk.hear("Remember: the staging API limit is 200 requests per second")
    assert (changed.action, changed.resolution, changed.previous_id) == ("UPDATE", "SUPERSEDE", first.memory_id)
    assert [each.content for each in desk.memories()] == ["the staging API limit is 200 requests per second"]


def test_an_older_statement_does_not_take_the_place_of_a_newer_one(desk: Desk) -> None:
    def works_at(where: str, said_us: int) -> Fate:
        given = HostFact(content=f"Ana works at {where}", intent="relationship", event_time=format_us(said_us))
        (fact,) = extraction.host_facts([given], desk.context()).facts
        return desk.write(fact)

    works_at("Acme", desk.clock_us)
    earlier = works_at("Universal Exports International", desk.clock_us - 400 * DAY)
    assert earlier.action == "CREATE"
    assert len(desk.memories()) == 2


def test_without_resolving_both_stay(desk: Desk) -> None:
    (first,) = desk.hear("Remember: the staging API limit is 100 requests per second")
    (beside,) = desk.hear("Remember: the staging API limit is 200 requests per second", resolves=False)
    assert (beside.action, beside.resolution) == ("CREATE", "COEXIST")
    assert first.memory_id is not None
    assert first.memory_id in beside.reason
    assert len(desk.memories()) == 2
    (again,) = desk.hear("Remember: the staging API limit is 200 requests per second", resolves=False)
    assert again.action == "NONE"


def test_a_full_store_prunes_once_what_a_fact_replaces(tmp_path: Path) -> None:
    full = Desk(tmp_path / "b.db", Config(lifecycle=LifecycleSettings(max_insights=2, prune_batch=2)))
    try:
        full.hear("I'm Ana, I work at Acme")
        full.hear("I work at Universal Exports International now")
        assert len(full.memories()) <= 2
        assert full.defects == []
    finally:
        full.engine.close()


def test_the_name_that_was_told_once_is_known_from_then_on(desk: Desk) -> None:
    desk.hear("my name is Ana")
    assert desk.context().speaker == "Ana"
    desk.hear("I prefer tabs over spaces")
    assert desk.one("[Ana] I prefer tabs over spaces").source == "user"
    assert desk.context(Scope(user_id="u1")).speaker is None
    desk.hear("我叫王芳")
    assert desk.context().speaker == "王芳"


def test_secrets_are_gone_before_anything_is_read(desk: Desk) -> None:
    secret = "AKIA" + "PIX6EA6QOM66ZJOJ"
    said = [Message("user", f"We use the key {secret} for S3. We never deploy on Fridays.")]
    found = extraction.extract_exchange(said, desk.context(), window=10)
    assert [each.content for each in found.facts] == ["We never deploy on Fridays."]
    assert secret not in str(found)


def test_messages_as_they_are(desk: Desk) -> None:
    said = [
        Message("system", "be kind"),
        Message("user", "ok"),
        Message("assistant", "hello", id="m2"),
        Message("user", " "),
    ]
    found = extraction.verbatim(said, desk.context())
    assert found.engine == "verbatim"
    fates = [desk.write(each, as_it_is=True) for each in found.facts]
    assert [each.action for each in fates] == ["CREATE", "CREATE"]
    assert {(each.content, each.source) for each in desk.memories()} == {("ok", "user"), ("hello", "assistant")}


def test_what_says_too_little_is_not_stored(desk: Desk) -> None:
    (fact,) = extraction.host_facts([HostFact(content="hi")], desk.context()).facts
    assert desk.write(fact) == Fate("NONE", None, None, None, "says too little to be kept")
    assert desk.memories() == []


def test_only_the_latest_exchange_is_read_unless_all_of_it_is_wanted(desk: Desk) -> None:
    said = [
        Message("user", "We never deploy on Fridays"), Message("assistant", "ok"),
        Message("user", "We always squash commits"),
    ]  # fmt: skip
    latest = extraction.extract_exchange(said, desk.context(), window=10)
    assert [each.content for each in latest.facts] == ["We always squash commits"]
    assert len(extraction.extract_exchange(said, desk.context(), window=10, whole=True).facts) == 2


def test_the_settings_are_heard(desk: Desk) -> None:
    config = ExtractionSettings(importance_threshold=7, max_facts=1)
    context = extraction.context_of(desk.snapshot, NOBODY, config, desk.clock_us)
    said = [Message("user", "I prefer tabs over spaces. We never deploy on Fridays. We always squash commits.")]
    found = extraction.extract_exchange(said, context, window=10)
    assert [each.content for each in found.facts] == ["We never deploy on Fridays."]
    assert extraction.context_of(desk.snapshot, NOBODY, config, 0, threshold=2).threshold == 2


def test_another_engine_can_stand_behind_the_same_interface(desk: Desk) -> None:
    class Silent:
        def extract(self, messages: object, context: Context) -> Extraction:
            return Extraction((), (), "silent")

    found = extraction.extract_exchange([Message("user", "We never deploy on Fridays")], desk.context(), window=1,
                                        engine=Silent())  # fmt: skip
    assert found.engine == "silent"
