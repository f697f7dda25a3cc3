"""`mnemonctl remember`, `diff` and `extract`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final

import msgspec

from mnemond.api import types_extract, types_memories
from mnemond.api.types_extract import ContextMessage, ExtractContext, ExtractResult, FactView
from mnemond.cli.output import (
    MAX_SAID,
    MAX_SHOWN,
    MIN_CONTENT,
    Style,
    body,
    fraction,
    ids,
    kind,
    lines,
    neutralise,
    note,
    one_line,
    review,
    short_id,
    shorten,
    undo_hint,
    unshown,
    wrap,
)
from mnemond.cli.parser import Arguments, Command, Group, Request, UsageError, Words, by_type, read_json
from mnemond.model.answers import DiffMatch, DiffResult, DiffThresholds
from mnemond.model.memory import project_parts
from mnemond.model.outcomes import CausalCandidate, Conflict, EdgesCreated, RememberResult
from mnemond.wire.params import Name, about, plural

# remember.


def _remember(result: RememberResult, style: Style) -> str:
    if style.quiet:
        return lines(None if result.id is None else one_line(result.id))
    written = not (result.dry_run or result.replayed or result.action == "discarded")
    stored = result.id if not result.dry_run else None
    return lines(
        _headline(result, style),
        *(note(sentence, style) for sentence in _remarks(result) if sentence),
        undo_hint(result.op_id, style) if written else None,
        *review(
            "To review:",
            result.conflicts,
            lambda conflict: _settling(conflict, stored),
            style,
        ),
        *(_candidates(result, stored, style) if stored else ()),
    )


def _settling(conflict: Conflict, stored: str | None) -> list[str]:
    """Return the commands that settle a conflict. None lets one memory take the place of several things."""
    other = short_id(conflict.id)
    if stored is None:
        return [f"mnemonctl get {other}"]
    if conflict.several:
        return [
            f'mnemonctl update {other} --content "what still holds"',
            f'mnemonctl merge {other} {short_id(stored)} --content "what holds of both"',
        ]
    return [f"mnemonctl supersede {other} {short_id(stored)}"]


def _headline(result: RememberResult, style: Style) -> str:
    store = f'store "{one_line(result.store)}"'
    shown = style.strong(short_id(result.id or ""))
    if result.replayed and not result.dry_run:
        again = f"(op_id {one_line(result.op_id)}); nothing was written again"
        return f"Remembered before as {shown} in {store} {again}" if result.id else f"Discarded before {again}"
    place = f" in place of {short_id(result.replaced_id or '')}" if result.action == "replaced" else ""
    if result.action == "skipped":
        head = f"Known already as {shown} in {store}"
        if result.dry_run:
            return f"{head}; nothing was written"
        return head if result.united and result.united.is_some else f"{head}; nothing was added"
    if not result.dry_run:
        if result.action == "discarded":
            return f"Not stored in {store}: {one_line(result.reason)}"
        return f"Remembered {shown}{place} in {store}{_links(result.edges_created)}"
    if result.action == "discarded":
        return f"Would not store it in {store}: {one_line(result.reason)}; nothing was written"
    return f"Would remember it{place} in {store}{_links(result.edges_created)}; nothing was written"


def _links(edges: EdgesCreated) -> str:
    """ ", 3 links (1 temporal, 2 entity)", or nothing."""
    made = msgspec.structs.asdict(edges)
    kinds = ", ".join(f"{number} {name}" for name, number in made.items() if number)
    return f", {plural(sum(made.values()), 'link')} ({kinds})" if kinds else ""


def _remarks(result: RememberResult) -> Iterator[str | None]:
    if result.no_longer is not None:
        yield f"no longer held: {shorten(result.no_longer, MAX_SAID)}"
    if result.united is not None:
        yield from result.united.sentences(_adding(result))
    if result.matched_id is not None and all(result.matched_id != each.id for each in result.conflicts):
        nearest = f"nearest {short_id(result.matched_id)}:" if result.action == "added" else "because"
        yield f"{nearest} {result.reason}"  # a conflict is listed below, with the same reason
    if result.scope.project is not None and result.action not in ("skipped", "discarded"):
        yield f"kept for project {project_parts(result.scope.project)[0]} (--project none: for all)"
    yield f"redacted: {', '.join(result.redacted)} (--allow-secret keeps it)" if result.redacted else None
    yield from result.quality_warnings
    paired = result.redundancy.paired_with if result.redundancy else None
    yield f"says much of what {short_id(paired)} says; the two are a pair now" if paired else None
    retired = result.redundancy.retired if result.redundancy else None
    yield f"takes the place of {short_id(retired)}, another wording of the same" if retired else None
    yield f"not embedded: {result.embed_error}" if result.embed_error else None
    pruned = plural(result.auto_pruned, "memory")
    yield f"{pruned} pruned for being least important: the store was full" if result.auto_pruned else None


def _adding(result: RememberResult | ExtractResult) -> str:
    return "would add" if result.dry_run else "added"


MIN_ALIKE: Final = 0.70
"""Similarity from which a memory is shown as perhaps related; weaker candidates are left to programs.

Of sentence pairs that people scored below 2 of 5 (SICK and STS, 5,125 pairs in all), 2.5 % are that much alike by the
cosine of the static model and 2.7 % by their words; of those they scored 4 or more, 65 % and 70 %. At .40, where
candidates begin, it is 29 % and 33 % of the former, and in a store of some hundred memories a new one always finds one;
at .70 every third finds one in LoCoMo, every fifth among the commits of Tendermint.
"""


def _candidates(result: RememberResult, insight_id: str, style: Style) -> Iterator[str]:
    """Memories that may be related in meaning or as cause and effect, each with the command that links them. Pairs and
    conflicts are left out: they are mentioned already."""
    mentioned = {each.id for each in result.conflicts} | {result.redundancy and result.redundancy.paired_with}
    this = short_id(insight_id)
    related = [
        _candidate(
            fraction(each.similarity),
            each.content,
            f"{this} {short_id(each.id)} --type semantic --weight {each.similarity:.2f}",
            style,
        )
        for each in result.semantic_candidates
        if each.similarity >= MIN_ALIKE and not each.auto_linked and each.id not in mentioned
    ]
    causal = [_causal(each, this, style) for each in result.causal_candidates if each.is_likely]
    for title, shown in (("Perhaps related:", related), ("Perhaps cause and effect:", causal)):
        if shown:
            yield from (title, *shown[:MAX_SHOWN], *unshown(len(shown)))


def _causal(candidate: CausalCandidate, this: str, style: Style) -> str:
    other = short_id(candidate.id)
    is_cause = candidate.suggested_direction == "from_candidate"
    ends = f"{other} {this}" if is_cause else f"{this} {other}"
    link = f"{ends} --type causal --sub-type {one_line(candidate.suggested_sub_type)}"
    return _candidate("cause" if is_cause else "effect", candidate.content, link, style)


def _candidate(label: str, content: str, link: str, style: Style) -> str:
    head = f"  {label}  "
    room = min(max(style.columns - len(head), MIN_CONTENT), MAX_SAID)
    return f"{style.faint(head)}{shorten(content, room)}\n    mnemonctl link {link}"


REMEMBER = Command(
    "remember",
    Group.EVERYDAY,
    (
        'mnemonctl remember "We chose SQLite" --cat decision --importance 4',
        'mnemonctl remember "Ana prefers tabs" --cat preference --entity Ana',
        "git log -1 --format=%B | mnemonctl remember - --source git",
        'mnemonctl remember "Build 7 is out" --metadata build=7',
        'mnemonctl remember "Bob handed billing to Ana" --relation "Ana leads billing"',
        'mnemonctl remember "Ana prefers short answers" --project none',
        'mnemonctl remember --dry-run "Deploys on Friday are not allowed"',
    ),
    method=types_memories.REMEMBER,
    words=Words("TEXT… | -", ("content",), text=True),
    details=(
        'Words are joined by spaces; "-" reads the text from standard input; after "--" everything is text.',
        "A text that is known already is not stored again: its tags, entities and higher importance join the memory.",
        "One that corrects or refines a memory takes its place.",
        "A relation holds as long as its memory is in recall; its type is a word: Ana Silva works_at Acme.",
        "`mnemonctl undo` takes that back, and `mnemonctl diff` shows it beforehand.",
        """A memory written in a project (a repository, or another directory that is no home) is shown unasked in that \
project alone, unless its text says that it holds in all projects, or --project says otherwise. `recall` finds it in \
every project.""",
        "Keys and passwords are cut out before anything is written.",
    ),
    render=_remember,
)


# diff.


_EFFECTS = {
    "ADD": "remember would add it",
    "DUPLICATE": "remember would add nothing",
    "CONFLICT": "remember would put it in the place of what it contradicts",
    "UPDATE": "remember would put it in the place of what it refines",
}

_HEADS = ("similarity", "words", "cosine", "novelty")

_SIGNS = len("negation, numbers")


def _diff(result: DiffResult, style: Style) -> str:
    suggestion = one_line(result.suggestion)
    if style.quiet:
        return ids(result.matches)
    effect = _EFFECTS.get(result.suggestion, "")
    if _keeps_both(result):
        effect = "remember would add it beside the memory that it would otherwise replace"
    if not result.matches:
        return lines(f"{style.strong(suggestion)}: {effect}; no memory is like it")
    return lines(
        f"{style.strong(suggestion)}: {effect}",
        "",
        style.faint(f"{'  '.join(_HEADS)}  {'contrast':<{_SIGNS}}  {'suggests':<9}  memory"),
        *(_match(match, style) for match in result.matches),
        "",
        *(style.faint(line) for line in wrap(_scale(result.thresholds), style.columns)),
    )


def _keeps_both(result: DiffResult) -> bool:
    """True if the row that decides, the first with the suggestion of all, may not be replaced: its reason ends so."""
    deciding = next((match for match in result.matches if match.suggestion == result.suggestion), None)
    return deciding is not None and deciding.suggestion != "ADD" and deciding.reason.endswith("so both stay")


def _match(match: DiffMatch, style: Style) -> str:
    figures = (match.similarity, match.token_similarity, match.cosine_similarity, match.novelty)
    shown = ("-" if figure is None else fraction(figure) for figure in figures)
    cells = "  ".join(figure.rjust(len(head)) for figure, head in zip(shown, _HEADS, strict=True))
    signs = ", ".join(["negation"] * match.polarity_flip + ["numbers"] * match.number_change) or "-"
    head = f"{cells}  {signs:<{_SIGNS}}  {one_line(match.suggestion):<9}  {short_id(match.id)}"
    content = shorten(match.content, max(style.columns - 2, MIN_CONTENT))
    return f"{head}\n  {content}\n{note(match.reason, style)}"


def _scale(limits: DiffThresholds) -> str:
    alone = "" if limits.cosine_override is None else f" · cosine decides from {fraction(limits.cosine_override)}"
    return (
        f"same place from similarity {fraction(limits.update)} · duplicate above {fraction(limits.duplicate)}"
        f" with novelty up to {fraction(limits.novelty)}{alone}"
    )


DIFF = Command(
    "diff",
    Group.REMEMBER,
    (
        'mnemonctl diff "Deploys on Friday are not allowed"',
        'mnemonctl diff "API rate limit is 200 req/s" --category fact',
        "cat notes.txt | mnemonctl diff - --json",
    ),
    method=types_memories.DIFF,
    words=Words("TEXT… | -", ("content",), text=True),
    details=(
        "words: the share of the shorter text's words that the other has. cosine: likeness in meaning.",
        "similarity: the one of the two that decides. novelty: the share of the text's words the memory lacks.",
        "contrast: where one negates what the other says, or their numbers differ.",
        "-q prints the ids of the memories alone; the suggestion is in --json.",
    ),
    render=_diff,
)


# extract.


class ExtractOptions(msgspec.Struct, frozen=True):
    """Options about a text, which the command makes a message of."""

    assistant: Annotated[str | None, about("what was answered to the text")] = None
    role: Annotated[Name, about("who said the text: user or assistant")] = "user"
    name: Annotated[Name | None, about("name of the speaker of the text")] = None


def _extract_request(arguments: Arguments) -> Request:
    options = dict(arguments.options)
    if "now" in options:
        options.setdefault("observation_date", options["now"])
    of_text = {name: options.pop(name) for name in ExtractOptions.__struct_fields__ if name in options}
    given = next((name for name in ("messages", "facts") if name in options), None)
    if arguments.words and given:
        raise UsageError(f"extract takes a text or --{given}, not both", "See: mnemonctl extract --help")
    if isinstance(facts := options.get("facts"), dict) and set(facts) == {"facts"}:
        options["facts"] = facts["facts"]
    if given is None:
        options["messages"] = _messages(arguments, of_text)
    elif of_text:
        raise UsageError(f"--{next(iter(of_text))} is for a text; --{given} says it for each message")
    return Request("extract", options)


def _messages(arguments: Arguments, of_text: dict[str, Any]) -> object:
    """Read the words, or standard input: a conversation as JSON, else one message."""
    text = arguments.text("what was said, or --messages or --facts")
    if arguments.words == ["-"] and text.lstrip().startswith(("[", "{")):
        if of_text:
            raise UsageError(f"--{next(iter(of_text))} is for a text; JSON says it for each message")
        return read_json(text, "standard input", types_extract.TALK)
    first = {"role": "user", "content": text} | {name: of_text[name] for name in ("role", "name") if name in of_text}
    return [first, {"role": "assistant", "content": of_text["assistant"]}] if "assistant" in of_text else [first]


def _context(result: ExtractContext, style: Style) -> str:
    """The input for a reader; numbers stand for ids."""
    speaker = "" if result.speaker is None else f", speaker: {one_line(result.speaker)}"
    known = (
        f"{each.number}. {short_id(each.id)}  {one_line(each.category)}\n{body(each.content, style)}"
        for each in result.known
    )
    return lines(
        f'store "{one_line(result.store)}", {one_line(result.observed_at)}{speaker}',
        *_dialogue("before", result.earlier, style),
        *_dialogue("latest exchange", result.latest, style),
        style.strong("known") if result.known else None,
        *known,
    )


def _dialogue(head: str, messages: Sequence[ContextMessage], style: Style) -> Iterator[str]:
    if messages:
        yield style.strong(head)
    for each in messages:
        yield f"{one_line(each.name or each.role)}:\n{body(each.content, style)}"


def _facts(result: ExtractResult, style: Style) -> str:
    if style.quiet:
        return lines(*(one_line(each.memory_id) for each in result.facts if each.memory_id is not None))
    written = [each.op_id for each in result.facts if each.previous_id or each.action in ("CREATE", "UPDATE", "MERGE")]
    return lines(
        style.strong(_summary(result)),
        *(line for fact in result.facts for line in _fact(fact, _adding(result), style)),
        *_dropped(result, style),
        *_pruned(result, style),
        *_unread(result, style),
        undo_hint(written[-1], style) if len(written) == 1 and written[-1] is not None else None,
    )


_DONE = {
    "CREATE": "new", "UPDATE": "replaced", "MERGE": "merged", "NONE": "known", "FAILED": "failed",
}  # fmt: skip
"""Actions in words."""

_WIDTH = max(map(len, _DONE.values()))


def _summary(result: ExtractResult) -> str:
    store = f'store "{one_line(result.store)}"'
    if not result.facts:
        return f"Nothing to remember for {store}"
    counts, little = result.counts, sum(_says_little(each) for each in result.facts)
    actions = {
        "new": counts.create, "replaced": counts.update, "merged": counts.merge, "known": counts.none - little,
        "too little": little, "failed": counts.failed,
    }  # fmt: skip
    parts = ", ".join(f"{count} {what}" for what, count in actions.items() if count)
    would = "; nothing was written" if result.dry_run else ""
    return f"{plural(len(result.facts), 'fact')} for {store}: {parts}{would}"


def _says_little(fact: FactView) -> bool:
    return fact.action == "NONE" and fact.memory_id is None


def _fact(fact: FactView, adding: str, style: Style) -> Iterator[str]:
    held = short_id(fact.memory_id) if fact.memory_id else "-" * 8
    done = "too little" if _says_little(fact) else _DONE.get(fact.action, "?")
    names = ", ".join(one_line(each.text) for each in fact.entities)
    yield f"{held}  {done:<{_WIDTH}}  {kind(fact)}  {names}".rstrip()
    yield from (f"  {line}" for line in wrap(neutralise(fact.content), style.columns - 2))
    if fact.previous_id or fact.action in ("UPDATE", "FAILED") or fact.resolution == "COEXIST":
        place = f"in place of {short_id(fact.previous_id)}: " if fact.previous_id else ""
        yield style.faint(f"  {place}{one_line(fact.reason)}")
    if fact.no_longer is not None:
        yield style.faint(f"  no longer held: {shorten(fact.no_longer, MAX_SAID)}")
    for sentence in fact.united.sentences(adding) if fact.united else ():
        yield style.faint(f"  {one_line(sentence)}")
    if fact.redacted:
        yield style.faint(f"  redacted: {', '.join(map(one_line, fact.redacted))}")


def _dropped(result: ExtractResult, style: Style) -> Iterator[str]:
    """How much was left out for each reason."""
    reasons = Counter(each.reason for each in result.dropped)
    if reasons:
        parts = ", ".join(f"{count} {one_line(reason)}" for reason, count in reasons.items())
        yield from (style.faint(line) for line in wrap(f"left out: {parts} (--json shows which)", style.columns))


def _unread(result: ExtractResult, style: Style) -> Iterator[str]:
    """What was not stored because it gives orders, and why a model gave no answer."""
    if result.held:
        yield note(f"{plural(result.held, 'text')} of orders, not stored: mnemonctl reviews", style)
    if result.unread is not None:
        later = "" if result.job_id is None else "; it is read again later (mnemonctl jobs run extract)"
        sentence = f"by the rules alone: {one_line(result.unread)}{later}"
        yield from (style.faint(line) for line in wrap(sentence, style.columns))


def _pruned(result: ExtractResult, style: Style) -> Iterator[str]:
    """The memories that made room, by the ids with which `mnemonctl restore` brings them back."""
    if result.facts and result.pruned_ids:
        which, many = ", ".join(map(short_id, result.pruned_ids)), len(result.pruned_ids)
        did = "would prune" if result.dry_run else "pruned"
        why = f"{did} {plural(many, 'memory')} for {'it' if len(result.facts) == 1 else 'them'}: {which}"
        yield from (style.faint(line) for line in wrap(why, style.columns))


EXTRACT = Command(
    "extract",
    Group.REMEMBER,
    (
        'mnemonctl extract "I am Ana and I prefer tabs over spaces" --dry-run',
        'mnemonctl extract "Why?" --assistant "The root cause was a full disk"',
        "mnemonctl extract - --conversation-id chat-7 < conversation.json",
        "mnemonctl extract - --show-context < conversation.json",
        "mnemonctl extract --facts - < facts.json",
    ),
    method=types_extract.EXTRACT,
    words=Words("TEXT… | - | --messages JSON | --facts JSON", text=True),
    details=(
        "The latest exchange of a conversation is read for facts, by rules and without a model.",
        "Questions, requests, code, logs and progress reports are left out; --json gives the reason for each.",
        'A conversation is a list of {"role", "content", "name", "timestamp", "id"}; only the content is needed.',
        'A fact of --facts is {"content", "importance", "intent", "category", "entities"}; likewise.',
        "Each fact is remembered as `remember` would: what is known already is not stored again.",
        "Keys and passwords are cut out before anything is read.",
        "Importance goes from 1 to 10 here; a memory has half of it.",
    ),
    options=ExtractOptions,
    request=_extract_request,
    render=by_type({ExtractResult: _facts, ExtractContext: _context}),
)
