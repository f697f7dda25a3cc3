"""`mnemonctl remember`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

import msgspec

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
from mnemond.cli.parser import (
    CATEGORIES,
    Arguments,
    Command,
    Metadata,
    Parser,
    Request,
    Split,
    UsageError,
    add_globals,
    add_op_id,
    whole_number,
)
from mnemond.model.answers import DiffMatch, DiffResult, DiffThresholds
from mnemond.model.outcomes import EdgesCreated, RememberResult
from mnemond.wire.params import plural

# `mnemonctl extract`.


STDIN = "-"

_DONE = {
    "CREATE": "new", "UPDATE": "replaced", "MERGE": "merged", "NONE": "known", "FAILED": "failed",
}  # fmt: skip
"""An action as a person reads it."""

_WIDTH = max(map(len, _DONE.values()))


def _parser_extract() -> Parser:
    parser = Parser("extract", takes_text=True)
    parser.add_argument("--messages", metavar="JSON|-", help="the conversation: one message or a list, oldest first")
    parser.add_argument("--facts", metavar="JSON|-", help="facts that were found already; they are only resolved")
    parser.add_argument("--assistant", metavar="TEXT", help="what was answered to the text")
    parser.add_argument("--role", metavar="NAME", help="who said the text: user (default) or assistant")
    parser.add_argument("--name", metavar="NAME", help="what whoever said the text is called")
    parser.add_argument("--whole", action="store_true", help="read all messages, not the latest exchange alone")
    parser.add_argument(
        "--no-infer", dest="infer", action="store_const", const=False, help="store every message as it is"
    )
    parser.add_argument(
        "--importance-threshold", type=whole_number, metavar="N", help="keep nothing below this, 1 to 10; default 3"
    )
    parser.add_argument("--observation-date", metavar="TIME", help="when it was said, RFC 3339; default now")
    parser.add_argument("--conversation-id", "--conversation", metavar="ID", help="the conversation it comes from")
    parser.add_argument(
        "--auto-resolve-conflicts",
        action=argparse.BooleanOptionalAction,
        help="let a fact take the place of what it contradicts, or keep both",
    )
    parser.add_argument(
        "--show-context", action="store_true", help="show what is needed to find the facts by yourself; write nothing"
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would happen and write nothing")
    add_op_id(parser)
    add_globals(parser)
    return parser


def _request_extract(arguments: Arguments) -> Request:
    options = dict(arguments.options)
    if "observation_date" not in options and "now" in options:
        options["observation_date"] = options["now"]
    said: dict[str, object] = {name: options.pop(name) for name in ("assistant", "role", "name") if name in options}
    given = [name for name in ("messages", "facts") if name in options]
    if arguments.words and given:
        raise UsageError(f"extract takes a text or --{given[0]}, not both", "See: mnemonctl extract --help")
    for name in given:
        options[name] = _json(str(options[name]), arguments, f"--{name}")
    if isinstance(facts := options.get("facts"), dict) and set(facts) == {"facts"}:
        options["facts"] = facts["facts"]
    if not given:
        options["messages"] = _messages(arguments, said)
    elif said:
        raise UsageError(f"--{next(iter(said))} is for a text; --{given[0]} says it for each message")
    return Request("extract", options)


def _messages(arguments: Arguments, said: dict[str, object]) -> object:
    """What the words, or standard input, say: a conversation as JSON, else one message."""
    text = arguments.text("extract", "what was said, or --messages or --facts")
    if arguments.words == [STDIN] and text.lstrip().startswith(("[", "{")):
        if said:
            raise UsageError(f"--{next(iter(said))} is for a text; JSON says it for each message")
        return _decoded(text, "standard input")
    first = {"role": said.get("role", "user"), "content": text} | ({"name": said["name"]} if "name" in said else {})
    return [first, {"role": "assistant", "content": said["assistant"]}] if "assistant" in said else [first]


def _json(value: str, arguments: Arguments, option: str) -> object:
    if value == STDIN:
        return _decoded(Arguments([STDIN], {}, arguments.stdin).text("extract", option), "standard input")
    return _decoded(value, option)


def _decoded(text: str, where: str) -> object:
    try:
        return msgspec.json.decode(text.encode())
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        example = '[{"role": "user", "content": "I prefer tabs"}]'
        raise UsageError(f"{where} is not JSON: {error}", f"a conversation looks like this: {example}") from error


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


EXTRACT_COMMAND = Command(
    name="extract",
    summary="Remember what of a conversation is worth it, fact by fact.",
    words="TEXT… | - | --messages JSON | --facts JSON",
    examples=(
        'mnemonctl extract "I am Ana and I prefer tabs over spaces" --dry-run',
        'mnemonctl extract "Why?" --assistant "The root cause was a full disk"',
        "mnemonctl extract - --conversation-id chat-7 < conversation.json",
        "mnemonctl extract - --show-context < conversation.json",
        "mnemonctl extract --facts - < facts.json",
    ),
    details=(
        "The latest exchange of a conversation is read for facts, by rules and without a model.",
        "Questions, requests, code, logs and progress reports are left out; --json says of each why.",
        'A conversation is a list of {"role", "content", "name", "timestamp", "id"}; only the content is needed.',
        'A fact of --facts is {"content", "importance", "intent", "category", "entities"}; likewise.',
        "Each fact is remembered as `remember` would: what is known already is not stored again.",
        "Keys and passwords are cut out before anything is read.",
        "Importance goes from 1 to 10 here; a memory has half of it.",
    ),
    parser=_parser_extract(),
    request=_request_extract,
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


def _parser_diff() -> Parser:
    parser = Parser("diff", takes_text=True)
    parser.add_argument(
        "--category", "--cat", metavar="NAME", help=f"as which it would be stored: {CATEGORIES}; default general"
    )
    parser.add_argument(
        "--entity", action="append", dest="entities", metavar="NAME", help="a name in it; may be repeated"
    )
    parser.add_argument("--entities", action=Split, dest="entities", metavar="A,B", help="several names")
    add_globals(parser)
    return parser


def _request_diff(arguments: Arguments) -> Request:
    return Request("diff", {**arguments.options, "content": arguments.text("diff", "the text to compare")})


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


DIFF_COMMAND = Command(
    name="diff",
    summary="Say what remember would do with a text, and beside which memories.",
    words="TEXT… | -",
    examples=(
        'mnemonctl diff "Deploys on Friday are not allowed"',
        'mnemonctl diff "API rate limit is 200 req/s" --category fact',
        "cat notes.txt | mnemonctl diff - --json",
    ),
    details=(
        "words: the share of the shorter text's words that the other has. cosine: likeness in meaning.",
        "similarity: the one of the two that decides. novelty: the share of the text's words the memory lacks.",
        "contrast: where one negates what the other says, or their numbers differ.",
        "-q prints the suggestion alone: ADD, DUPLICATE, CONFLICT or UPDATE.",
    ),
    parser=_parser_diff(),
    request=_request_diff,
    render=_render_diff,
)


def _parser() -> Parser:
    parser = Parser("remember", takes_text=True)
    parser.add_argument("--category", "--cat", metavar="NAME", help=f"{CATEGORIES}; default general")
    parser.add_argument(
        "--importance", type=whole_number, metavar="N", help="1 (trifle) to 5 (never forget); default 3"
    )
    parser.add_argument("--tag", action="append", dest="tags", metavar="TAG", help="a tag; may be repeated")
    parser.add_argument("--tags", action=Split, dest="tags", metavar="A,B", help="several tags")
    parser.add_argument(
        "--entity", action="append", dest="entities", metavar="NAME", help="a name in it; may be repeated"
    )
    parser.add_argument("--entities", action=Split, dest="entities", metavar="A,B", help="several names")
    parser.add_argument(
        "--entity-mode",
        metavar="MODE",
        help="merge (yours and found ones; default), provided (only yours), auto (only found ones)",
    )
    parser.add_argument("--source", metavar="NAME", help="who said it; default user")
    parser.add_argument("--conversation-id", "--conversation", metavar="ID", help="the conversation it comes from")
    parser.add_argument("--created-at", metavar="TIME", help="when it happened, RFC 3339; default now")
    parser.add_argument(
        "--metadata", "--meta", action=Metadata, metavar="JSON",
        help="what else to note: a JSON object, or NAME=VALUE; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--channel", metavar="NAME", help="how it came in; default manual. hook, batch, extract: trifles are not kept"
    )
    parser.add_argument("--no-diff", action="store_true", help="store it whatever is known already")
    parser.add_argument("--dry-run", action="store_true", help="say what would happen and write nothing")
    parser.add_argument("--allow-secret", action="store_true", help="keep what looks like a key or a password as it is")
    add_op_id(parser)
    add_globals(parser)
    return parser


def _request(arguments: Arguments) -> Request:
    return Request("remember", {**arguments.options, "content": arguments.text("remember", "the text to remember")})


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


COMMAND = Command(
    name="remember",
    summary="Store one memory, unless it is known; it replaces what it corrects.",
    words="TEXT… | -",
    examples=(
        'mnemonctl remember "We chose SQLite" --cat decision --importance 4',
        'mnemonctl remember "Ana prefers tabs" --cat preference --entity Ana',
        "git log -1 --format=%B | mnemonctl remember - --source git",
        'mnemonctl remember "Build 7 is out" --metadata project=apollo',
        'mnemonctl remember --dry-run "Deploys on Friday are not allowed"',
    ),
    details=(
        'Words are joined by spaces; "-" reads the text from standard input; after "--" everything is text.',
        "A text that is known already is not stored again. One that corrects or refines a memory takes its place;",
        "`mnemonctl undo` takes that back, and `mnemonctl diff` tells it beforehand.",
        "Keys and passwords are cut out before anything is written.",
    ),
    parser=_parser(),
    request=_request,
    render=_render,
)
