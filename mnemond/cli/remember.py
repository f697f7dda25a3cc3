"""`mnemonctl remember`, `diff` and `extract`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import msgspec

from mnemond.api import types_extract as extracting
from mnemond.api import types_memories as memories
from mnemond.api.types_extract import ContextMessage, ExtractContext, ExtractResult, FactView
from mnemond.cli.output import (
    MIN_CONTENT,
    Style,
    body,
    candidates,
    conflicts,
    fraction,
    lines,
    neutralise,
    note,
    one_line,
    short_id,
    shorten,
    undo_hint,
    wrap,
)
from mnemond.cli.parser import Arguments, Command, Group, Request, UsageError, Words, read_json
from mnemond.model.answers import DiffMatch, DiffResult, DiffThresholds
from mnemond.model.outcomes import EdgesCreated, RememberResult
from mnemond.wire.params import Name, about, plural

# `mnemonctl extract`.


_DONE = {
    "CREATE": "new", "UPDATE": "replaced", "MERGE": "merged", "NONE": "known", "FAILED": "failed",
}  # fmt: skip
"""An action as a person reads it."""

_WIDTH = max(map(len, _DONE.values()))


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
        return read_json(text, "standard input", extracting.TALK)
    first = {"role": "user", "content": text} | {name: of_text[name] for name in ("role", "name") if name in of_text}
    return [first, {"role": "assistant", "content": of_text["assistant"]}] if "assistant" in of_text else [first]


# ------------------------------------------------------------------ text for people


def _render_extract(result: ExtractResult | ExtractContext, style: Style) -> str:
    return _context(result, style) if isinstance(result, ExtractContext) else _facts(result, style)


def _context(result: ExtractContext, style: Style) -> str:
    """What a model, or a person, would be shown; numbers stand for ids."""
    speaker = "" if result.speaker is None else f", speaker: {one_line(result.speaker)}"
    return lines(
        f'store "{one_line(result.store)}", {one_line(result.observed_at)}{speaker}',
        *_said("before", result.earlier, style),
        *_said("latest exchange", result.latest, style),
        style.strong("known") if result.known else None,
        *(f"{each.number}. {short_id(each.id)}  {one_line(each.category)}\n{body(each.content, style)}"
          for each in result.known),
    )  # fmt: skip


def _said(head: str, messages: Sequence[ContextMessage], style: Style) -> Iterator[str]:
    if messages:
        yield style.strong(head)
    for each in messages:
        yield f"{one_line(each.name or each.role)}:\n{body(each.content, style)}"


def _facts(result: ExtractResult, style: Style) -> str:
    if style.quiet:
        return lines(*(one_line(each.memory_id) for each in result.facts if each.memory_id is not None))
    return lines(
        style.strong(_headline_extract(result)),
        *(line for fact in result.facts for line in _fact(fact, style)),
        *_dropped(result, style),
        _undo(result, style),
    )


def _headline_extract(result: ExtractResult) -> str:
    store = f'store "{one_line(result.store)}"'
    if not result.facts:
        return f"Nothing to remember for {store}"
    counts, little = result.counts, sum(_says_little(each) for each in result.facts)
    told = {
        "new": counts.create, "replaced": counts.update, "merged": counts.merge, "known": counts.none - little,
        "too little": little, "failed": counts.failed,
    }  # fmt: skip
    parts = ", ".join(f"{count} {what}" for what, count in told.items() if count)
    would = "; nothing was written" if result.dry_run else ""
    return f"{plural(len(result.facts), 'fact')} for {store}: {parts}{would}"


def _says_little(fact: FactView) -> bool:
    return fact.action == "NONE" and fact.memory_id is None


def _fact(fact: FactView, style: Style) -> Iterator[str]:
    held = short_id(fact.memory_id) if fact.memory_id else "-" * 8
    done = "too little" if _says_little(fact) else _DONE.get(fact.action, "?")
    head = f"{held}  {done:<{_WIDTH}}  {one_line(fact.category)}/{fact.importance}"
    yield f"{head}  {', '.join(one_line(each.text) for each in fact.entities)}".rstrip()
    yield from (f"  {line}" for line in wrap(neutralise(fact.content), style.columns - 2))
    if fact.action in ("UPDATE", "FAILED") or fact.resolution == "COEXIST":
        place = f"in place of {short_id(fact.previous_id)}: " if fact.previous_id else ""
        yield style.faint(f"  {place}{one_line(fact.reason)}")
    if fact.redacted:
        yield style.faint(f"  redacted: {', '.join(map(one_line, fact.redacted))}")


def _dropped(result: ExtractResult, style: Style) -> Iterator[str]:
    """What was left out, told as far as it may have been meant to be kept: how often for each reason."""
    counts: dict[str, int] = {}
    for each in result.dropped:
        counts[each.reason] = counts.get(each.reason, 0) + 1
    if counts:
        told = ", ".join(f"{count} {one_line(reason)}" for reason, count in counts.items())
        yield from (style.faint(line) for line in wrap(f"left out: {told} (--json tells which)", style.columns))


def _undo(result: ExtractResult, style: Style) -> str | None:
    written = [each.op_id for each in result.facts if each.action in ("CREATE", "UPDATE", "MERGE")]
    return undo_hint(written[-1], style) if len(written) == 1 and written[-1] is not None else None


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
    method=extracting.EXTRACT,
    words=Words("TEXT… | - | --messages JSON | --facts JSON", text=True),
    details=(
        "The latest exchange of a conversation is read for facts, by rules and without a model.",
        "Questions, requests, code, logs and progress reports are left out; --json says of each why.",
        'A conversation is a list of {"role", "content", "name", "timestamp", "id"}; only the content is needed.',
        'A fact of --facts is {"content", "importance", "intent", "category", "entities"}; likewise.',
        "Each fact is remembered as `remember` would: what is known already is not stored again.",
        "Keys and passwords are cut out before anything is read.",
        "Importance goes from 1 to 10 here; a memory has half of it.",
    ),
    options=ExtractOptions,
    request=_extract_request,
    render=_render_extract,
)


# `mnemonctl diff`.


_EFFECTS = {
    "ADD": "remember would add it",
    "DUPLICATE": "remember would add nothing",
    "CONFLICT": "remember would put it in the place of what it contradicts",
    "UPDATE": "remember would put it in the place of what it refines",
}

_KEPT = "remember would add it beside the memory that it would otherwise replace"

_HEADS = ("similarity", "words", "cosine", "novelty")

_SIGNS = len("negation, numbers")


def _render_diff(result: DiffResult, style: Style) -> str:
    suggestion = one_line(result.suggestion)
    if style.quiet:
        return lines(suggestion)
    effect = _KEPT if _stays(result) else _EFFECTS.get(result.suggestion, "")
    if not result.matches:
        return lines(f"{style.strong(suggestion)}: {effect}; no memory is like it")
    heads = f"{'  '.join(_HEADS)}  {'contrast':<{_SIGNS}}  {'suggests':<9}  memory"
    return lines(
        f"{style.strong(suggestion)}: {effect}",
        "",
        style.faint(heads),
        *(_row(match, style) for match in result.matches),
        "",
        *(style.faint(line) for line in wrap(_scale(result.thresholds), style.columns)),
    )


def _stays(result: DiffResult) -> bool:
    """Whether the row that decides, the first with the suggestion of all, may not be replaced: its reason ends so."""
    deciding = next((match for match in result.matches if match.suggestion == result.suggestion), None)
    return deciding is not None and deciding.suggestion != "ADD" and deciding.reason.endswith("so both stay")


def _row(match: DiffMatch, style: Style) -> str:
    figures = (
        fraction(match.similarity),
        fraction(match.token_similarity),
        "-" if match.cosine_similarity is None else fraction(match.cosine_similarity),
        fraction(match.novelty),
    )
    cells = [figure.rjust(len(head)) for figure, head in zip(figures, _HEADS, strict=True)]
    head = f"{'  '.join(cells)}  {_differing(match):<{_SIGNS}}  {one_line(match.suggestion):<9}  {short_id(match.id)}"
    room = max(style.columns - 2, MIN_CONTENT)
    return lines(head, f"  {shorten(match.content, room)}", note(match.reason, style)).removesuffix("\n")


def _differing(match: DiffMatch) -> str:
    """What the two texts differ in that makes them contradict each other."""
    signs = ("negation" if match.polarity_flip else None, "numbers" if match.number_change else None)
    return ", ".join(sign for sign in signs if sign) or "-"


def _scale(limits: DiffThresholds) -> str:
    heard = "" if limits.cosine_override is None else f" · cosine heard from {fraction(limits.cosine_override)}"
    return (
        f"same place from similarity {fraction(limits.update)} · duplicate above {fraction(limits.duplicate)}"
        f" with novelty up to {fraction(limits.novelty)}{heard}"
    )


DIFF = Command(
    "diff",
    Group.REMEMBER,
    (
        'mnemonctl diff "Deploys on Friday are not allowed"',
        'mnemonctl diff "API rate limit is 200 req/s" --category fact',
        "cat notes.txt | mnemonctl diff - --json",
    ),
    method=memories.DIFF,
    words=Words("TEXT… | -", ("content",), text=True),
    details=(
        "words: the share of the shorter text's words that the other has. cosine: likeness in meaning.",
        "similarity: the one of the two that decides. novelty: the share of the text's words the memory lacks.",
        "contrast: where one negates what the other says, or their numbers differ.",
        "-q prints the suggestion alone: ADD, DUPLICATE, CONFLICT or UPDATE.",
    ),
    render=_render_diff,
)


def _render(result: RememberResult, style: Style) -> str:
    if style.quiet:
        return lines(_held_by(result))
    return lines(
        _headline(result, style),
        *_about(result, style),
        undo_hint(result.op_id, style) if _is_written(result) else None,
        *conflicts(result, style),
        *candidates(result, style),
    )


def _is_written(result: RememberResult) -> bool:
    return not (result.dry_run or result.replayed or result.action == "discarded")


def _held_by(result: RememberResult) -> str | None:
    """The id of the row that holds the memory; None when there is none to name."""
    return None if result.id is None else one_line(result.id)


def _headline(result: RememberResult, style: Style) -> str:
    store = f'store "{one_line(result.store)}"'
    if result.dry_run:
        return f"{_would(result, style)}; nothing was written"
    shown = style.strong(short_id(result.id or ""))
    if result.replayed:
        again = f"(op_id {one_line(result.op_id)}); nothing was written again"
        return f"Remembered before as {shown} in {store} {again}" if result.id else f"Discarded before {again}"
    match result.action:
        case "discarded":
            return f"Not stored in {store}: {one_line(result.reason)}"
        case "skipped":
            return f"Known already as {shown} in {store}; nothing was added"
        case "replaced":
            return f"Remembered {shown} in place of {short_id(result.replaced_id or '')} in {store}{_links(result)}"
        case _:
            return f"Remembered {shown} in {store}{_links(result)}"


def _would(result: RememberResult, style: Style) -> str:
    store = f'store "{one_line(result.store)}"'
    match result.action:
        case "discarded":
            return f"Would not store it in {store}: {one_line(result.reason)}"
        case "skipped":
            return f"Known already as {style.strong(short_id(result.id or ''))} in {store}"
        case "replaced":
            return f"Would remember it in place of {short_id(result.replaced_id or '')} in {store}{_links(result)}"
        case _:
            return f"Would remember it in {store}{_links(result)}"


def _links(result: RememberResult) -> str:
    """ ", 3 links (1 temporal, 2 entity)", or nothing."""
    made = {name: getattr(result.edges_created, name) for name in EdgesCreated.__struct_fields__}
    count = sum(made.values())
    kinds = ", ".join(f"{number} {name}" for name, number in made.items() if number)
    return f", {plural(count, 'link')} ({kinds})" if count else ""


def _about(result: RememberResult, style: Style) -> list[str]:
    """What the writer may want to know, a line each."""
    paired = result.redundancy.paired_with if result.redundancy else None
    return [
        note(sentence, style)
        for sentence in (
            _why(result),
            f"redacted: {', '.join(result.redacted)} (--allow-secret keeps it)" if result.redacted else None,
            *result.quality_warnings,
            f"says much of what {short_id(paired)} says; the two are a pair now" if paired else None,
            f"not embedded: {result.embed_error}" if result.embed_error else None,
            f"{plural(result.auto_pruned, 'memory')} pruned for being least important: the store was full"
            if result.auto_pruned
            else None,
        )
        if sentence
    ]


def _why(result: RememberResult) -> str | None:
    """Which memory decided, how similar it is and why; None when none was like it."""
    if result.matched_id is None or any(result.matched_id == each.id for each in result.conflicts):
        return None  # a conflict is told below, with the same reason
    nearest = f"nearest {short_id(result.matched_id)}:" if result.action == "added" else "because"
    return f"{nearest} {result.reason}"


REMEMBER = Command(
    "remember",
    Group.EVERYDAY,
    (
        'mnemonctl remember "We chose SQLite" --cat decision --importance 4',
        'mnemonctl remember "Ana prefers tabs" --cat preference --entity Ana',
        "git log -1 --format=%B | mnemonctl remember - --source git",
        'mnemonctl remember "Build 7 is out" --metadata project=apollo',
        'mnemonctl remember --dry-run "Deploys on Friday are not allowed"',
    ),
    method=memories.REMEMBER,
    words=Words("TEXT… | -", ("content",), text=True),
    details=(
        'Words are joined by spaces; "-" reads the text from standard input; after "--" everything is text.',
        "A text that is known already is not stored again. One that corrects or refines a memory takes its place;",
        "`mnemonctl undo` takes that back, and `mnemonctl diff` tells it beforehand.",
        "Keys and passwords are cut out before anything is written.",
    ),
    render=_render,
)
