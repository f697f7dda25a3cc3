"""`mnemonctl link`."""

from __future__ import annotations

import argparse
import math

import msgspec

from mnemond.commands.command import Arguments, Command, Request
from mnemond.commands.layout import Style, fraction, lines, short_id, wrap
from mnemond.commands.operation_name import undo_hint
from mnemond.commands.options import add_globals, add_op_id
from mnemond.commands.parser import Parser, UsageError
from mnemond.commands.terminal import one_line
from mnemond.protocol.links import LinkResult

EDGE_TYPES = "temporal, semantic, causal, entity"
"""Those of `mnemond.model.edge`, which a layer this low does not see (a test compares them)."""

_object = msgspec.json.Decoder(dict[str, object])


def decimal(text: str) -> float:
    """A finite number; anything else is a usage error that shows what was given."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"must be a number, not {text[:40]!r}")
    return value


def _parser() -> Parser:
    parser = Parser("link")
    parser.add_argument("--type", "-t", metavar="TYPE", help=f"{EDGE_TYPES}; causal leads from cause to effect")
    parser.add_argument("--weight", "-w", type=decimal, metavar="W", help="how closely, 0 to 1; default 0.5")
    parser.add_argument(
        "--sub-type", metavar="NAME", help="what kind of such a link, as in causes, enables, contradicts"
    )
    parser.add_argument(
        "--meta", "--metadata", dest="metadata", metavar="JSON", help="what else to note: a JSON object"
    )
    parser.add_argument("--bidirectional", action="store_true", help="a causal link both ways (with --allow-cycle)")
    parser.add_argument("--allow-cycle", action="store_true", help="even if it closes a circle of causes")
    parser.add_argument("--created-by", metavar="WHO", help="host (an agent) or user; default user")
    parser.add_argument("--allow-secret", action="store_true", help="keep what looks like a key or a password in JSON")
    add_op_id(parser)
    add_globals(parser)
    return parser


def _request(arguments: Arguments) -> Request:
    source, target = arguments.two_identifiers("link")
    options = dict(arguments.options)
    if "type" not in options:
        raise UsageError("link needs --type", f"one of {EDGE_TYPES}")
    if isinstance(text := options.get("metadata"), str):
        options["metadata"] = _metadata(text)
    return Request("link", {**options, "source_id": source, "target_id": target})


def _metadata(text: str) -> dict[str, object]:
    try:
        return _object.decode(text)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        raise UsageError(
            f"--meta must be a JSON object; {len(text):,} characters were given that are none",
            """as in --meta '{"sub_type": "enables"}'""",
        ) from None


def _render(result: LinkResult, style: Style) -> str:
    if style.quiet:
        return lines(f"{one_line(result.source_id)} {one_line(result.target_id)}")
    arrow = "↔" if result.bidirectional else "→"
    ends = f"{style.strong(short_id(result.source_id))} {arrow} {style.strong(short_id(result.target_id))}"
    metadata = one_line(msgspec.json.encode(result.metadata).decode())
    hidden = ", ".join(one_line(kind) for kind in result.redacted)
    return lines(
        f"{_verb(result)} {ends}: {one_line(result.edge_type)}, weight {fraction(result.weight)}",
        *(f"  {line}" for line in wrap(metadata, style.columns - 2)),
        f"  redacted: {hidden} (--allow-secret keeps it)" if hidden else None,
        undo_hint(result.op_id, style) if result.created or result.updated else None,
    )


def _verb(result: LinkResult) -> str:
    if result.replayed:
        return "Linked before, with the same op_id,"
    if result.created:
        return "Linked"
    return "Changed the link" if result.updated else "Linked like this already:"


COMMAND = Command(
    name="link",
    summary="Say that two memories belong together, and how.",
    words="ID ID",
    examples=(
        "mnemonctl link 1a2b3c4d 9f8e7d6c --type causal --sub-type causes --weight 0.8",
        "mnemonctl link 1a2b3c4d 9f8e7d6c --type semantic",
    ),
    details=(
        "A causal link leads from the first memory, the cause, to the second; other links lead both ways.",
        "A causal link that would close a circle of causes is refused, and the circle named.",
        "Of a link that is there already the larger weight counts, and --meta is added to what it says.",
    ),
    parser=_parser(),
    request=_request,
    render=_render,
)
