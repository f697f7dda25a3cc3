"""`mnemonctl link`."""

from __future__ import annotations

import argparse
import math

import msgspec

from mnemond.cli.output import Style, fraction, lines, one_line, short_id, undo_hint, wrap
from mnemond.cli.parser import Arguments, Command, Parser, Request, UsageError, add_globals, add_op_id
from mnemond.model.outcomes import LinkResult, UnlinkResult
from mnemond.wire.params import plural

EDGE_TYPES = "temporal, semantic, causal, entity"
"""Those of `mnemond.model.memory`, which a layer this low does not see (a test compares them)."""

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


def _parser_link() -> Parser:
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


def _request_link(arguments: Arguments) -> Request:
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


def _render_link(result: LinkResult, style: Style) -> str:
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


LINK_COMMAND = Command(
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
    parser=_parser_link(),
    request=_request_link,
    render=_render_link,
)


# `mnemonctl unlink`.


def _parser_unlink() -> Parser:
    parser = Parser("unlink")
    parser.add_argument("--type", "-t", metavar="TYPE", help=f"only links of this type: {EDGE_TYPES}")
    add_op_id(parser)
    add_globals(parser)
    return parser


def _request_unlink(arguments: Arguments) -> Request:
    source, target = arguments.two_identifiers("unlink")
    return Request("unlink", {**arguments.options, "source_id": source, "target_id": target})


def _render_unlink(result: UnlinkResult, style: Style) -> str:
    if style.quiet:
        return lines(str(result.edges_removed))
    one, other = short_id(result.source_id), short_id(result.target_id)
    types = ", ".join(one_line(each) for each in result.edge_types)
    before = " (done before, with the same op_id)" if result.replayed else ""
    left = f"  a causal link from {other} to {one} is left: mnemonctl unlink {other} {one} --type causal"
    return lines(
        f"Unlinked {style.strong(one)} and {style.strong(other)}: {plural(result.edges_removed, 'link')} removed"
        f" ({types}){before}",
        left if result.cause_other_way else None,
        undo_hint(result.op_id, style),
    )


UNLINK_COMMAND = Command(
    name="unlink",
    summary="Remove what links two memories, whoever made it.",
    words="ID ID",
    examples=("mnemonctl unlink 1a2b3c4d 9f8e7d6c", "mnemonctl unlink 1a2b3c4d 9f8e7d6c --type semantic"),
    details=("Of causal links, only the one from the first memory to the second is removed.",),
    parser=_parser_unlink(),
    request=_request_unlink,
    render=_render_unlink,
)
