"""Devices, each with a store on disk, that exchange files of records in every order."""

from __future__ import annotations

import random
from contextlib import suppress
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from mnemond.api.requests import one_active
from mnemond.api.uses import propose as counted
from mnemond.errors import MnemonError
from mnemond.interchange import export
from mnemond.interchange.export import Selection
from mnemond.memory.entities import Decision, NameDecision, propose_names
from mnemond.memory.feedback import Judgement, propose_judgement
from mnemond.memory.questions.relation_claims import Claim
from mnemond.memory.relations import (
    RelationToAdd,
    RelationToClose,
    claimed_in,
    propose_addition,
    propose_closing,
)
from mnemond.memory.sync import kinds, knowledge, memories, passages, uses
from mnemond.memory.sync.groups import GROUPS, RecordError
from mnemond.memory.sync.records import decode, encode
from mnemond.memory.sync.union import Report
from mnemond.model.outcomes import Maintained, Outcome
from mnemond.store import relations, reviews, sync_state
from mnemond.store.connection import Connection
from tests.memory.audit_world import UNBOUNDED, AuditWorld, assert_sound

SHARED: Final = frozenset(name for names in GROUPS.values() for name in names) - {
    "entities", "keywords", "trigger", "trigger_type", "event_start", "event_end", "intent", "scope",
} | {"user_id", "session_id", "agent_id", "project", "id", "when"}  # fmt: skip


USED: Final = frozenset({"access_count", "last_accessed_at", "useful", "misled"})

STATED: Final = (
    "type",
    "slot",
    "value",
    "evidence_kind",
    "at",
    "granularity",
    "memory_id",
    "quote",
    "origin",
)


def _ends(line: dict[str, Any], names: dict[str, tuple[str, str]]) -> list[tuple[str, str] | None]:
    return [names[line["source_id"]], names.get(line.get("target_id") or "")]


class Device(AuditWorld):
    """A store of one device. `published`: its files, each a list of lines."""

    def __init__(self, path: Path, number: int) -> None:
        super().__init__(path, UNBOUNDED)
        self.path = path
        self.name = f"{number:016x}"
        self.number = number
        self.published: list[list[bytes]] = []
        self.seq = self.purges = 0
        self.since = ""
        """What was said before is too old here."""
        self.partial: set[str] = set()
        """Sessions of which some was not to be kept."""
        self.latest_us = self.clock_us
        """What the clock showed at most."""

    def identity(self) -> Any:
        it = super().identity()
        self.latest_us = max(self.latest_us, self.clock_us)
        return msgspec.structs.replace(
            it, id=f"{self.number:02x}{it.id[2:]}", op_id=f"{self.number}-{it.op_id}", by_person=True
        )

    def scan(self) -> int:
        """Note what changed; return how many records have stamps ahead of the clock."""
        after: str | None = ""
        now_us, device = self.clock_us, self.name
        while after is not None:
            after = self.engine.rewrite(partial(memories.scan, after=after, now_us=now_us, device=device))
        for scan in (memories.scan_gone, knowledge.scan, uses.scan):
            self.engine.rewrite(partial(scan, now_us=now_us, device=device))
        said = partial(passages.scan, now_us=now_us, device=device, is_partial=self.partial.__contains__)
        while self.engine.rewrite(said):
            pass
        return int(self.read(partial(kinds.count_ahead, now_us=now_us, device=device)))

    def restamp(self) -> None:
        """Set right what a clock that was ahead stamped."""
        while self.engine.rewrite(partial(kinds.restamp, now_us=self.clock_us, device=self.name)):
            pass

    def publish(self) -> None:
        """Write what changed into a file of its own; after a purge write all files anew."""

        def look(connection: Connection) -> tuple[list[bytes], int, int]:
            device = sync_state.device(connection)
            purges = 0 if device is None else device.purges
            rows = sync_state.keys_after(connection, self.seq if purges == self.purges else -1)
            found = [kinds.record_of(connection, kind, key) for kind, key in rows]
            return [encode(each) for each in found if each is not None], sync_state.last_seq(connection), purges

        lines, self.seq, purges = self.read(look)
        if purges != self.purges:
            self.published, self.purges = [], purges
        if lines:
            self.published.append(lines)

    def unite(self, lines: list[bytes]) -> Report:
        records = []
        for line in lines:
            with suppress(RecordError):  # one that was cut
                records.append(decode(line, self.clock_us))
        total = Report()
        records.sort(key=lambda it: (kinds.step_of(it), it.key))
        reports: list[Report] = []
        parts: dict[int, list[Any]] = {step: list(part) for step, part in groupby(records, kinds.step_of)}
        for step, (_, _, is_due) in kinds.STEPS.items():
            if is_due or step in parts:
                self._write(kinds.propose(step, parts.get(step, []), self._by(), self.name, reports, self.since))
        for each in reports:
            total.add(each)
        return total

    def _write(self, proposal: Any) -> None:
        result = self.engine.commit([proposal])[0]
        assert not isinstance(result, MnemonError), result

    # ------------------------------------------------------------ uses, relations and names

    def use(self, insight_id: str, times: int) -> None:
        self.commit(counted({insight_id: times}, self.identity()))

    def judge(self, insight_id: str, verdict: Literal["useful", "misled"]) -> Outcome | MnemonError:
        wanted = Judgement(id=insight_id, verdict=verdict)
        return self.commit(propose_judgement(wanted, self.identity(), one_active))

    def relate(self, source: str, kind: str, target: str, **fields: Any) -> Outcome | MnemonError:
        wanted = RelationToAdd(source=source, type=kind, target=target, **fields)
        return self.commit(propose_addition(wanted, self.identity()))

    def end(self, source: str, kind: str, **fields: Any) -> Outcome | MnemonError:
        wanted = RelationToClose(source=source, type=kind, **fields)
        return self.commit(propose_closing(wanted, self.identity()))

    def decide(self, decision: Decision, name: str, other: str) -> Outcome | MnemonError:
        wanted = NameDecision(decision=decision, name=name, other=other)
        return self.commit(propose_names(wanted, self.identity()))

    def claim(self, insight_id: str, source: str, kind: str, target: str) -> str:
        """Note that a model read this relation in a memory."""
        it, identity = self.insight(insight_id), self.identity()
        claim = Claim(source, kind, target, "seen", it.created_at, "exact", it.content)
        made = identity.change_set("gates", (), Maintained(op_id=identity.op_id))
        noted = self.read(lambda connection: claimed_in(it, [claim], connection))
        self._write(msgspec.structs.replace(made, knowledge=noted) if noted else made)
        return str(identity.op_id)

    def _by(self) -> Any:
        return msgspec.structs.replace(self.identity(), triggered_by=sync_state.BY)

    def prepare(self) -> None:
        def note(connection: Connection) -> None:
            sync_state.note_device(connection, sync_state.Device(self.name, passages=True))

        self.engine.rewrite(note)

    def stated(self) -> dict[bytes, str | None]:
        """Statements that count, with their memory."""
        found = self.read(lambda connection: relations.all_evidence(connection))
        called = self.read(lambda connection: {it.id: it.canonical for it in relations.entities(connection)})
        return {
            msgspec.json.encode(
                [called[it.source_id], it.type, called.get(it.target_id or ""), it.kind, it.at, it.origin, it.memory_id]
            ): it.memory_id
            for it in found
        }

    def shared(self, *, with_last_use: bool = True) -> list[bytes]:
        """The export of the store, without what every device has for itself. A last use by a clock that was ahead stays
        on its device."""
        found = self.read(lambda connection: list(export.lines(connection, Selection())))
        kept: list[dict[str, Any]] = []
        active, gone = set(), set()
        believed: dict[str, bool] = {}
        stated: dict[bytes, str] = {}
        names: dict[str, tuple[str, str]] = {}
        for line in map(msgspec.json.decode, found):
            match line["kind"]:
                case "entity":
                    names[line["id"]] = (line["canonical_name"], line.get("sense") or "")
                case "evidence" if line.get("expired_at") is None:
                    if line["origin"] in ("user", "host") and believed.get(line.get("memory_id"), True):
                        about = [*_ends(line, names), *(line.get(each) for each in STATED)]
                        # What one device says twice in the same words counts twice there only.
                        stated.setdefault(msgspec.json.encode(about), line["created_at"])
                case "relationship" if line.get("expired_at") is None:
                    about = [line.get(each) for each in ("type", "slot", "value", "valid_from", "invalid_at")]
                    kept.append({"relation": [*_ends(line, names), *about]})
                case "name" if line.get("expired_at") is None:
                    pair = [names[line["entity_id"]], names.get(line["other"], line["other"])]
                    pair = sorted(pair) if line["name_kind"] == "not_same" else pair
                    kept.append({"decision": line["name_kind"], "pair": pair})
                case "memory":
                    used = USED if with_last_use else USED - {"last_accessed_at"}
                    names_of = SHARED | used if line["status"] == "active" else SHARED
                    kept.append({name: line[name] for name in sorted(line.keys() & names_of)})
                    believed[line["id"]] = line["status"] != "forgotten"
                    if line["status"] == "active":
                        active.add(line["id"])
                case "edge" if line["created_by"] != "auto":
                    ends = [line[name] for name in ("source_id", "target_id", "edge_type", "weight", "created_by")]
                    kept.append({"edge": ends, "metadata": line.get("metadata")})
                case "tombstone":
                    gone.add(line["id"])
        kept = [each for each in kept if "edge" not in each or active.issuperset(each["edge"][:2])]
        kept += [{"statement": msgspec.json.decode(about), "created_at": at} for about, at in stated.items()]
        return sorted(msgspec.json.encode(each) for each in kept)

    def conflicts(self) -> set[frozenset[str]]:
        """Pairs of a memory and the one that keeps its other text."""

        def look(connection: Connection) -> set[frozenset[str]]:
            known = {key: it.value for key, it in sync_state.all_of(connection, "memory").items()}
            return {frozenset((key, it.of)) for key, it in known.items() if it is not None and it.of is not None}

        found: set[frozenset[str]] = self.read(look)
        return found

    def close(self, latest_us: int = 0) -> None:
        """Close the store; a full examination finds nothing wrong, with a clock that shows at least `latest_us`: a time
        of creation by a clock that was ahead stays."""
        self.engine.close()
        assert_sound(self.path, max(latest_us, self.clock_us))

    def waiting(self) -> set[frozenset[str]]:
        """Pairs of memories that a review asks about."""
        found = self.read(lambda connection: reviews.pending(connection, 1_000))
        return {frozenset((each.asked.older, each.asked.newer)) for each in found}


def exchange(device: Device, others: list[Device], chance: random.Random | None) -> None:
    """One sync of a device: with `chance` it sees files in any order, some cut, some twice, some not at all."""
    device.scan()
    files = [lines for other in others for lines in other.published]
    if chance is not None:
        chance.shuffle(files)
        files = [lines for lines in files for _ in range(chance.choice((0, 1, 1, 1, 2)))]
        files = [lines[: chance.randint(0, len(lines))] if chance.random() < 0.2 else lines for lines in files]
        files = [[*lines[:-1], lines[-1][: len(lines[-1]) // 2]] if lines and chance.random() < 0.1 else lines
                 for lines in files]  # fmt: skip
        lines = [line for part in files for line in part]
        if chance.random() < 0.5:
            chance.shuffle(lines)
        start = 0
        while start < len(lines):  # several syncs, none of which has everything
            size = chance.randint(1, len(lines))
            device.unite(lines[start : start + size])
            start += size
    else:
        device.unite([line for part in files for line in part])
    device.publish()


def settle(devices: list[Device]) -> None:
    """Sync in turn until nothing is new; two rounds are enough, and a third one shows it."""
    for _ in range(3):
        for each in devices:
            exchange(each, [other for other in devices if other is not each], None)
