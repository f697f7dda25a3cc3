"""What a model adds to a memory after it was written: names, its reason, questions, cues, relations, and doubt about
its use.

The rules read a memory while it is written, which waits for no model. Later a job asks the model of `[llm]`, where a
setting `engine = "llm"` of `commitment` allows it, one question a purpose. Every answer passes checks here, and what is
left of it is one change of the memory: audited, undoable, with a note that says what came of each question. Nothing is
ever removed by an answer (docs/decisions/0051).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, get_args

import msgspec

from mnemond.config.settings import Config
from mnemond.config.writing import CommitmentSettings, Gate
from mnemond.extract.acceptance import adds_nothing, names_in, no_name, unfit
from mnemond.extract.coverage import stems
from mnemond.extract.orders import is_order
from mnemond.index.snapshot import Snapshot
from mnemond.llm.reader import Schema, items_of
from mnemond.memory.cues import joined_cues
from mnemond.memory.draft import ENFORCED, as_text, keywords_of, new_memory, reanalyse
from mnemond.memory.edge_builders import Relinking, relinked
from mnemond.memory.questions import relation_claims
from mnemond.memory.questions.asking import Question, object_schema
from mnemond.memory.questions.relation_claims import Claim
from mnemond.memory.relations import claimed_in, outdated
from mnemond.memory.write import WriteContext, WriteRules
from mnemond.model.changes import Change, ChangeSet, PutInsight
from mnemond.model.memory import MAX_CUE, MAX_ENTITIES, MAX_ENTITY, NOTE, Cue, EdgeType, Entity, Insight
from mnemond.model.outcomes import Maintained
from mnemond.store import edges, meta
from mnemond.store.connection import Connection
from mnemond.store.operations import Proposal, View
from mnemond.text.contrast import numbers
from mnemond.text.cues import CueKind, causal_cue, reading
from mnemond.text.entities import canonical_name, extract
from mnemond.text.frame_lists import TIMES
from mnemond.text.frames import frames
from mnemond.text.hypothetical import TriggerType, begins_question, hypothetical_queries, trigger_text
from mnemond.text.languages import is_han, language_of
from mnemond.text.prompt_escape import inert
from mnemond.text.quality import only_questions, substance
from mnemond.text.resources import regex
from mnemond.text.similarity import normalised

COUNTS: Final = "gates"
"""Key of the store's `meta` table with the totals."""

METHOD: Final = "gates"

BY: Final = "system:gates:"
"""Prefix of the model's name in `triggered_by`."""

MAX_READ: Final = 2_000
"""Characters of a memory that a model reads."""

MIN_STEMS: Final = 3
"""Content words of a text that is worth a question."""

SURE: Final = 0.65
"""Substance score from which on no model is asked whether a text is worth keeping: it names something, has a number or
says why. A model of 1.5 billion parameters finds nothing lasting in anything (docs/decisions/0055)."""

MAX_NAMES: Final = 10
"""Names that an answer may add."""

ABOUT: Final = 0.5
"""Share of the content words of a question that must be in the text."""

MAX_WORDED: Final = 160
"""Characters of a question or a cue that a model writes; longer ones are no questions that a person asks."""

MAX_WORD_TOKENS: Final = 60
"""Tokens of an answer of one word: some twelve, and the line breaks and spaces with which a server may indent the JSON.
With 20 an indented "nothing_lasting" was cut off."""

ENTITY: Final[frozenset[EdgeType]] = frozenset({"entity"})
"""Links that depend on names."""

LEFT: Final = "left to the rules: "
"""Beginning of the reason of a question that gave nothing."""


SHOWN_BY: Final[Mapping[TriggerType, tuple[CueKind, ...]]] = {
    "problem-solution": ("error", "fix"),
    "positive-feedback": ("praise", "preference"),
    "corrective-feedback": ("correction", "preference"),
    "learning-success": ("works", "fix", "realised"),
    "learning-failure": ("failed", "error"),
}
"""Cues of which a text needs one for a trigger that a model names; the rules demand more. A model of 1.5 billion
parameters names "problem-solution" for nearly every text."""


ORDERS: Final = f"{LEFT}the text gives orders to a program"


class Note(msgspec.Struct, frozen=True):
    """What a model was asked about a memory: `of` is the hash of the text, `gates` the purposes that were switched on,
    `told` what came of each, `names` the names it added, `prompts` the hashes of the prompts."""

    of: str
    gates: str
    model: str
    at: str
    told: dict[str, str] = {}
    names: tuple[str, ...] = ()
    prompts: dict[str, str] = {}


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What was accepted of a model's answers about one text so far. None: nothing was, so the rules' stays."""

    told: Mapping[Gate, str] = {}
    prompts: Mapping[Gate, str] = {}
    is_lasting: bool = True
    names: tuple[Entity, ...] = ()
    trigger_type: TriggerType | None = None
    questions: tuple[str, ...] | None = None
    cues: tuple[str, ...] = ()
    relations: tuple[Claim, ...] = ()

    def left(self, gate: Gate, why: str) -> Found:
        """Return the same, with a reason why the rules alone decide for a gate."""
        return msgspec.structs.replace(self, told={**self.told, gate: f"{LEFT}{why}"})

    def by(self, gate: Gate, prompt: str) -> Found:
        """Return the same, with the hash of the prompt of a gate."""
        return msgspec.structs.replace(self, prompts={**self.prompts, gate: prompt})


# ---------------------------------------------------------------- which memories


def digest(text: str) -> str:
    """Return a short hash of the text of a memory."""
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


def note_of(it: Insight) -> Note | None:
    """Return the note of a memory; None if no model was asked, or about another text."""
    if NOTE not in it.metadata:
        return None
    try:
        note = msgspec.convert(msgspec.json.decode(it.metadata).get(NOTE), Note)
    except (msgspec.MsgspecError, AttributeError):
        return None
    return note if note.of == digest(it.content) else None


def added_names(it: Insight) -> frozenset[str]:
    """Return the canonical names that a model added to a memory, whatever its text is now."""
    if NOTE not in it.metadata:
        return frozenset()
    note = msgspec.json.decode(it.metadata, type=dict[str, Any]).get(NOTE)
    names = note.get("names", ()) if isinstance(note, dict) else ()
    return frozenset(canonical_name(each) for each in names if isinstance(each, str))


def unread(
    snapshot: Snapshot, settings: CommitmentSettings, most: int, apart_from: Mapping[str, str | None]
) -> list[Insight]:
    """Return the memories, the last stored first, that a model was not asked about for all that is switched on, except
    those of `apart_from` by id: with any text, or with that of this hash."""
    wanted = settings.read_by_model()
    names, found = " ".join(wanted), list[Insight]()
    for row in snapshot.alive().nonzero()[0][::-1].tolist() if wanted else ():
        it, of = snapshot.insight(row), digest(snapshot.insight(row).content)
        if it.quarantined or apart_from.get(it.id, "") in (None, of):
            continue
        if f'"of":"{of}","gates":"{names}"' in it.metadata:
            continue
        found.append(it)
        if len(found) == most:
            break
    return found


# ---------------------------------------------------------------- questions


def begun(it: Insight, settings: CommitmentSettings) -> Found:
    """Return what is known before the first question: what was asked about the same text before is not asked again. A
    text that gives orders to a program is not shown to a model; that is noted as well."""
    note = note_of(it)
    if is_order(it.content):
        return Found(told=dict.fromkeys(settings.read_by_model(), ORDERS))
    return Found() if note is None else Found(told={gate: note.told[gate] for gate in GATES if gate in note.told})


GATES: Final[tuple[Gate, ...]] = get_args(Gate)


def next_question(it: Insight, found: Found, config: Config, known: str) -> tuple[Gate, Question[Found]] | None:
    """Return the next question about a memory, with its purpose; None after the last. `known`: what is known about its
    user in summary.

    The rules decide whether a model is asked: not where they are sure, nor where its answer could change nothing.
    """
    settings = config.commitment
    if len(stems([it.content])) < MIN_STEMS:
        return None
    for gate in settings.read_by_model():
        described = QUESTIONS[gate]
        if gate not in found.told and (asked := described.asked(it, found, config, known)) is not None:
            check = partial(described.check, it, found, config)
            return gate, Question(described.prompt, *asked, described.max_tokens, check)
    return None


_Asked = tuple[tuple[str, ...], Schema]
"""Values of a prompt, and the schema of the answer."""


def _text(it: Insight) -> str:
    return inert(it.content[:MAX_READ])


def _about_substance(it: Insight, found: Found, config: Config, known: str) -> _Asked | None:
    if it.channel not in ENFORCED or _weight_kept(it, config) is not None:
        return None
    weighed = substance(
        it.content,
        has_reference=bool(it.entities or it.event_start or numbers(it.content)),
        causal=causal_cue(it.content) is not None,
    )
    if weighed.score >= SURE:
        return None
    return (_text(it), inert(known) or "(nothing)"), _SUBSTANCE


def _weight_kept(it: Insight, config: Config) -> str | None:
    """Return why the importance of a memory is not lowered, whatever a model says."""
    if it.pinned or it.is_enforced:
        return "a person chose it"
    if it.useful or it.corroboration_count or it.access_count >= config.lifecycle.immune_access:
        return "it was of use"
    if it.importance >= config.lifecycle.immune_importance:
        return f"the rules weigh it {it.importance}"
    return "it has the least importance" if it.importance == 1 else None


def _about_entities(it: Insight, found: Found, config: Config, known: str) -> _Asked | None:
    kinds = _kinds(config.commitment)
    if not kinds or len(it.entities) >= MAX_ENTITIES:
        return None
    return (_text(it), ", ".join(kinds)), _entity_schema(kinds)


def _kinds(settings: CommitmentSettings) -> list[str]:
    return [kind for kind in settings.entity_extraction.types if kind not in ("user", "other")]


def _about_trigger(it: Insight, found: Found, config: Config, known: str) -> _Asked | None:
    if it.trigger_type is not None or not any(_is_shown(each, it.content) for each in SHOWN_BY):
        return None
    return (_text(it),), _TRIGGER


def _is_shown(trigger: TriggerType, text: str) -> bool:
    """Return True if a word of a text may stand for a trigger."""
    read = reading(text)
    return any(read.has(kind) for kind in SHOWN_BY[trigger])


def _about_questions(it: Insight, found: Found, config: Config, known: str) -> _Asked | None:
    most = config.commitment.hypothetical_queries.count(found.trigger_type or it.trigger_type)
    if not most:
        return None
    return (_text(it), str(most)), _listed("questions", most)


def _about_cues(it: Insight, found: Found, config: Config, known: str) -> _Asked | None:
    if any(cue.source == "given" for cue in it.cues):
        return None
    most = config.commitment.cues.max_cues
    return (_text(it), str(most)), _listed("cues", most)


def _about_relations(it: Insight, found: Found, config: Config, known: str) -> _Asked | None:
    if not (it.entities or found.names or relation_claims.speaks(it.content)):
        return None
    return (_text(it), ", ".join(relation_claims.TYPES)), relation_claims.SCHEMA


_SUBSTANCE: Final = object_schema({"verdict": {"type": "string", "enum": ["lasting", "nothing_lasting"]}})
_TRIGGER: Final = object_schema({"trigger": {"type": "string", "enum": [*get_args(TriggerType), "none"]}})


def _entity_schema(kinds: Sequence[str]) -> Schema:
    name = {"type": "string", "maxLength": MAX_ENTITY}
    item = object_schema({"name": name, "kind": {"type": "string", "enum": list(kinds)}})
    return object_schema({"names": {"type": "array", "maxItems": MAX_NAMES, "items": item}})


def _listed(name: str, most: int) -> Schema:
    return object_schema({
        name: {"type": "array", "maxItems": most, "items": {"type": "string", "maxLength": MAX_WORDED}}
    })  # fmt: skip


# ---------------------------------------------------------------- answers


def _told(found: Found, gate: Gate, sentence: str, **fields: object) -> Found:
    return msgspec.structs.replace(found, told={**found.told, gate: sentence}, **fields)


def _word_in(value: object, key: str) -> str:
    answer = value.get(key) if isinstance(value, dict) else value
    return str(answer).strip().lower() if isinstance(answer, str | int) else ""


_VERDICTS: Final = {"lasting": True, "1": True, "true": True, "nothing_lasting": False, "0": False, "false": False}


def _substance(it: Insight, found: Found, config: Config, value: object) -> Found:
    verdict = _VERDICTS.get(_word_in(value, "verdict"))
    if verdict is None:
        return found.left("substance", "the answer names no verdict")
    sentence = "lasting" if verdict else f"nothing lasting: importance {it.importance} → {it.importance - 1}"
    return _told(found, "substance", sentence, is_lasting=verdict)


class _Named(msgspec.Struct, frozen=True):
    name: str
    kind: str = ""


def _entities(it: Insight, found: Found, config: Config, value: object) -> Found:
    kinds, plain = _kinds(config.commitment), it.content.lower()
    named, bad = items_of(value, "names", _Named)
    had = {canonical_name(name) for name in it.entities}
    added: dict[str, Entity] = {}
    refused: dict[str, None] = dict.fromkeys(["not readable"] if bad else [])
    for each in named:
        name = " ".join(each.name.split())
        canonical = canonical_name(name)
        if canonical in had or canonical in added:
            continue
        if why := no_name(name, plain) or _no_entity(name, it.content) or (None if each.kind in kinds else "kind"):
            refused[why] = None
        elif len(added) < min(MAX_NAMES, MAX_ENTITIES - len(had)):
            added[canonical] = Entity(name, canonical, each.kind)  # type: ignore[arg-type]  # one of `kinds`
    return _told(
        found, "entities", _summed([each.name for each in added.values()], refused), names=tuple(added.values())
    )


_LOWER_FIRST: Final = regex(r"[a-zà-öø-ÿ]+\s")
_LOWER_REST: Final = regex(r"\S+(?:\s[a-zà-öø-ÿ'’-]+)+")
_AMOUNT: Final = regex(r"[\d.,]+\s[a-zà-öø-ÿ]+|[一二三四五六七八九十百千万两半]+\S{1,2}")
_GERMAN_NOUN: Final = regex(r"[A-ZÄÖÜ][a-zäöüß]+")
_ARTICLE: Final = (
    r"(?:d(?:as|er|ie|en|em|es)|eine?[rnms]?|meine?[rnms]?|unsere?[rnms]?|jede[rnms]?|im|am|ins|vom|zum|zur|beim)\s"
)
"""Words before a German noun that is no name, in most texts."""
_BEGINS_WITH_ARTICLE: Final = regex(rf"{_ARTICLE}|(?:the|an?|our|my)\s", re.IGNORECASE)
_GERMAN_PRONOUN: Final = regex(r"Sie|Ihr|Ihnen|Ihre[rnms]?|Du|Wir|Ich|Er|Es")


def _no_entity(name: str, content: str) -> str | None:
    """Return why a name of a text is no person or thing; None if it may be.

    A capital is no mark of a name at the beginning of a text before words in small letters, nor in German, where every
    noun has one; Chinese has none, so only names that the rules read as such, or with other characters, are taken.
    """
    if _LOWER_FIRST.match(name) or _BEGINS_WITH_ARTICLE.match(name) or _AMOUNT.fullmatch(name):
        return "no name"
    units = [unit for frame in frames(name) for unit in frame.units]
    if units and all(unit.kind in TIMES for unit in units):
        return "a time"
    if name in names_in(content):
        return None
    if content.startswith(name) and _LOWER_REST.fullmatch(name):
        return "no name"
    if is_han(content):
        return "no name" if is_han(name) else None
    if language_of(content) == "de" and _GERMAN_NOUN.fullmatch(name):
        behind = re.search(rf"\b{_ARTICLE}{re.escape(name)}\b", content, re.IGNORECASE)
        return "no name" if behind or content.startswith(name) or _GERMAN_PRONOUN.fullmatch(name) else None
    return None


def _trigger(it: Insight, found: Found, config: Config, value: object) -> Found:
    word = _word_in(value, "trigger")
    kind = next((each for each in get_args(TriggerType) if each == word), None)
    if kind is None and word == "none":
        return _told(found, "trigger", "none")
    if kind is None:
        return found.left("trigger", "the answer names no trigger")
    if not _is_shown(kind, it.content):
        return found.left("trigger", f"no word of the text says {kind}")
    if kind in ("corrective-feedback", "positive-feedback") and it.source != "user":
        return found.left("trigger", f"{kind} comes from a person")
    return _told(found, "trigger", kind, trigger_type=kind)


def _questions(it: Insight, found: Found, config: Config, value: object) -> Found:
    most = config.commitment.hypothetical_queries.count(found.trigger_type or it.trigger_type)
    kept, refused = _worded(value, "questions", lambda text: no_question(text, it.content))
    if not kept:
        return found.left("questions", ", ".join(refused) or "no question")
    return _told(found, "questions", _summed(kept[:most], refused), questions=tuple(kept[:most]))


def _cues(it: Insight, found: Found, config: Config, value: object) -> Found:
    kept, refused = _worded(value, "cues", lambda text: _no_cue(text, it.content))
    kept = kept[: config.commitment.cues.max_cues]
    if not kept:
        return found.left("cues", ", ".join(refused) or "no cue")
    return _told(found, "cues", _summed(kept, refused), cues=tuple(kept))


def _relations(it: Insight, found: Found, config: Config, value: object) -> Found:
    kept, refused = relation_claims.accepted(value, it)
    read = [f"{each.source} {each.type} {each.target}" for each in kept]
    return _told(found, "relations", _summed(read, refused), relations=tuple(kept))


class Description(NamedTuple):
    """A question about a memory. `asked` returns the values of the prompt and the schema of the answer, None where the
    rules are sure; `check` what is known with the answer: what it refuses is named in `told`."""

    prompt: str
    max_tokens: int
    asked: Callable[[Insight, Found, Config, str], _Asked | None]
    check: Callable[[Insight, Found, Config, object], Found]


QUESTIONS: Final[Mapping[Gate, Description]] = {
    "substance": Description("substance_filter", MAX_WORD_TOKENS, _about_substance, _substance),
    "entities": Description("extract_entities", 300, _about_entities, _entities),
    "trigger": Description("generate_trigger", MAX_WORD_TOKENS, _about_trigger, _trigger),
    "questions": Description("generate_hypothetical_query", 200, _about_questions, _questions),
    "cues": Description("generate_cues", 200, _about_cues, _cues),
    "relations": Description("extract_relations", relation_claims.MAX_TOKENS, _about_relations, _relations),
}


def _worded(value: object, key: str, refusal: Callable[[str], str | None]) -> tuple[list[str], dict[str, None]]:
    """Return the texts of an answer that pass, each once, and the reasons why others do not."""
    texts, bad = items_of(value, key, str)
    kept: dict[str, str] = {}
    refused: dict[str, None] = dict.fromkeys(["not readable"] if bad else [])
    for text in texts:
        line = " ".join(text.split()).strip('"“”*_` ')
        if why := refusal(line):
            refused[why] = None
        else:
            kept.setdefault(normalised(line), line)
    return list(kept.values()), refused


def _summed(kept: Sequence[str], refused: Iterable[str]) -> str:
    """Return what was accepted and the reasons for the rest, as one sentence."""
    dropped = ", ".join(refused)
    return ("; ".join(kept) or "none") + (f" (dropped: {dropped})" if dropped else "")


def no_question(text: str, content: str) -> str | None:
    """Return why a text is no question that `content` answers; None if it is."""
    if why := unfit(text, MAX_WORDED):
        return why
    if not only_questions(text) or not begins_question(text) or text.count("?") + text.count("？") > 1:
        return "no question"
    return _not_about(text, content, ABOUT)


def _no_cue(text: str, content: str) -> str | None:
    """Return why a text is no cue of `content`; None if it may be. It shares a word, and names nothing new."""
    if why := unfit(text, min(MAX_WORDED, MAX_CUE)):
        return why
    if normalised(text) in normalised(content) or _says_the_same(text, content):
        return "in the text already"
    return _not_about(text, content, 0.0)


def _says_the_same(text: str, content: str) -> bool:
    """Return True if each of two texts has nearly all words of the other."""
    return adds_nothing(text, content) and adds_nothing(content, text)


def _not_about(text: str, content: str, share: float) -> str | None:
    if numbers(text) - numbers(content):
        return "number not said"
    plain = content.lower()
    if any(name.lower() not in plain for name in names_in(text)):
        return "name not said"
    said, shared = stems([text]), stems([text]) & stems([content])
    return None if shared and len(shared) >= share * len(said) else "not about it"


# ---------------------------------------------------------------- the change


def propose(it: Insight, found: Found, model: str, identity: WriteContext, rules: WriteRules) -> Proposal:
    """Propose to write what was found about a memory; nothing is if its text changed meanwhile."""
    return identity.proposal(METHOD, lambda view: _decide(it, found, model, identity, rules, view))


def _decide(
    asked: Insight, found: Found, model: str, identity: WriteContext, rules: WriteRules, view: View
) -> ChangeSet:
    row = view.snapshot.row_of(asked.id)
    old = None if row is None else view.snapshot.insight(row)
    if old is None or old.content != asked.content:
        return identity.change_set(METHOD, (), Maintained(op_id=identity.op_id), operation="")
    found = _without_outdated(found, view.connection, old.scope.user_id)
    new, mentions = _with(old, found, rules.config, view.snapshot)
    new = msgspec.structs.replace(new, metadata=_noted(old, found, model, identity.now, rules.config.commitment))
    changes: list[Change] = [
        PutInsight(
            msgspec.structs.replace(new, updated_at=identity.now),
            mentions=mentions if found.names else None,
            queries=_queries(new, found, rules.config.commitment),
        )
    ]
    if found.names:
        reading = msgspec.structs.replace(reanalyse(new, view.snapshot, rules.config, new.entities), mentions=mentions)
        what = Relinking(
            insight=new,
            newcomer=new_memory(new, reading),
            had=edges.touching(view.connection, old.id),
            kinds=ENTITY,
        )
        changes += relinked(view.snapshot, None, what, rules.config.graph).changes
    reached = identity.change_set(
        METHOD,
        tuple(changes),
        Maintained(changed=1, op_id=identity.op_id),
        detail=f"{model} {' '.join(found.told)}",
        subject=old.id,
    )
    counted = added_up(meta.read_record(view.connection, COUNTS, dict[str, int]) or {}, old, new, found)
    noted = claimed_in(old, found.relations, view.connection)
    return msgspec.structs.replace(reached, knowledge=noted, facts=((COUNTS, msgspec.json.encode(counted).decode()),))


def _without_outdated(found: Found, connection: Connection, user: str | None) -> Found:
    """Leave out relations that would end what holds since the same time."""
    kept = tuple(each for each in found.relations if not outdated(each, connection, user))
    if kept == found.relations:
        return found
    why = "not newer than what is known"
    told = "; ".join(f"{each.source} {each.type} {each.target}" for each in kept) or "none"
    before = found.told["relations"].partition(" (dropped: ")[2].removesuffix(")")
    reasons = ", ".join(filter(None, (before, why)))
    return _told(found, "relations", f"{told} (dropped: {reasons})", relations=kept)


def _with(old: Insight, found: Found, config: Config, snapshot: Snapshot) -> tuple[Insight, tuple[Entity, ...]]:
    """Return the memory with what was found, and all of its names with their kinds."""
    kinds = {each.canonical: each for each in found.names}
    names = (*old.entities, *(each.name for each in found.names))
    mentions = tuple(kinds.get(each.canonical, each) for each in extract("", names))
    lowered = not found.is_lasting and _weight_kept(old, config) is None
    cues = [cue for cue in old.cues if cue.source != "generated"] if found.cues else list(old.cues)
    new = msgspec.structs.replace(
        old,
        entities=tuple(each.name for each in mentions) if found.names else old.entities,
        importance=old.importance - 1 if lowered else old.importance,
        cues=joined_cues(cues, (Cue(text, "generated") for text in found.cues)),
    )
    if found.names:
        new = msgspec.structs.replace(new, keywords=keywords_of(new, new.entities, snapshot))
    if found.trigger_type is not None and old.trigger_type is None:
        new = msgspec.structs.replace(
            new, trigger_type=found.trigger_type, trigger=trigger_text(found.trigger_type, old.content)
        )
    return new, mentions


def _queries(new: Insight, found: Found, settings: CommitmentSettings) -> tuple[str, ...] | None:
    """Return the questions of a memory: the model's, else the rules' for a trigger that the model found."""
    if found.questions is not None:
        return found.questions
    if found.trigger_type is None:
        return None
    return hypothetical_queries(
        new.trigger_type, new.content, most=settings.hypothetical_queries.count(new.trigger_type)
    )


def _noted(old: Insight, found: Found, model: str, now: str, settings: CommitmentSettings) -> str:
    had = note_of(old)
    names = (*(() if had is None else had.names), *(each.name for each in found.names))
    prompts: dict[str, str] = {} if had is None else dict(had.prompts)
    prompts.update({str(gate): prompt for gate, prompt in found.prompts.items()})
    told: dict[str, str] = {gate: found.told[gate] for gate in GATES if gate in found.told}
    note = Note(digest(old.content), " ".join(settings.read_by_model()), model, now, told, names, prompts)
    fields = msgspec.json.decode(old.metadata, type=dict[str, object])
    return as_text(fields | {NOTE: msgspec.to_builtins(note)})


def added_up(counts: Mapping[str, int], old: Insight, new: Insight, found: Found) -> dict[str, int]:
    """Return the totals of a store with one more memory."""
    more = {
        "read": 1,
        "lowered": int(new.importance < old.importance),
        "names": len(new.entities) - len(old.entities),
        "triggers": int(new.trigger_type != old.trigger_type),
        "questions": len(found.questions or ()),
        "cues": len(found.cues),
        "relations": len(found.relations),
        "left to the rules": sum(each.startswith(LEFT) for each in found.told.values()),
    }
    return {name: counts.get(name, 0) + count for name, count in more.items()}
