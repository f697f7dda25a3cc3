"""`mnemonctl extract`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

import msgspec

from mnemond.commands.command import Arguments, Command, Request
from mnemond.commands.layout import Style, body, lines, plural, short_id, wrap
from mnemond.commands.operation_name import undo_hint
from mnemond.commands.options import add_globals, add_op_id, whole_number
from mnemond.commands.parser import Parser, UsageError
from mnemond.commands.terminal import neutralise, one_line
from mnemond.protocol.extraction import ContextMessage, ExtractContext, ExtractResult, FactView

STDIN = "-"

_DONE = {
    "CREATE": "new", "UPDATE": "replaced", "MERGE": "merged", "NONE": "known", "FAILED": "failed",
}  # fmt: skip
"""An action as a person reads it."""

_WIDTH = max(map(len, _DONE.values()))


def _parser() -> Parser:
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


def _request(arguments: Arguments) -> Request:
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


def _render(result: ExtractResult | ExtractContext, style: Style) -> str:
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
        style.strong(_headline(result)),
        *(line for fact in result.facts for line in _fact(fact, style)),
        *_dropped(result, style),
        _undo(result, style),
    )


def _headline(result: ExtractResult) -> str:
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


COMMAND = Command(
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
    parser=_parser(),
    request=_request,
    render=_render,
)
