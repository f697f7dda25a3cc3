"""`mnemonctl consolidate`, `summarize` and `communities`."""

from __future__ import annotations

from collections.abc import Iterator

from mnemond.api import types_knowledge
from mnemond.api.types_knowledge import ClusterMember, CommunitiesResult, Community, ConsolidateResult, MemoryCluster
from mnemond.cli.output import MAX_SAID, Style, body, lines, one_line, remarks, repeated, short_id, shorten, undo_hint
from mnemond.cli.parser import Arguments, Command, Group, Request, Words
from mnemond.model.outcomes import SummarizeResult
from mnemond.wire.params import plural


def _consolidated(result: ConsolidateResult, style: Style) -> str:
    if style.quiet:
        return lines(*(one_line(each.id) for each in result.clusters))
    store = f'store "{one_line(result.store)}"'
    left = f"{plural(result.refused, 'pair')} left apart before" if result.refused else None
    if not result.found:
        return lines(f"No memories of {store} say nearly the same", left)
    unshown = result.found - len(result.clusters)
    asked = f"{'would ask' if result.dry_run else 'asked'} about {plural(result.proposed, 'pair')}"
    return lines(
        style.strong(f"{plural(result.found, 'cluster')} in {store}, {plural(result.pairs, 'pair')}; {asked}"),
        *(line for each in result.clusters for line in _cluster(each, style)),
        f"and {unshown:,} more, see --limit" if unshown else None,
        left,
        style.faint("decide: mnemonctl reviews, then mnemonctl resolve N --as MERGE | DUPLICATE | COEXIST"),
    )


def _cluster(it: MemoryCluster, style: Style) -> Iterator[str]:
    yield body(one_line(f"{short_id(it.id)}  {shorten(it.content, MAX_SAID)}"), style, "")
    for each in it.members:
        yield body(one_line(f"{short_id(each.id)}  {_how(each)}  {shorten(each.content, MAX_SAID)}"), style, "  ")
    yield body(one_line(f"merged  {shorten(it.preview, MAX_SAID)}"), style, "  ")


def _how(it: ClusterMember) -> str:
    likeness = it.jaccard if it.cosine is None else max(it.jaccard, it.cosine)
    number = "" if it.review is None else f"  review {it.review}"
    return f"{likeness:.0%}{', would stay apart' if it.apart else ''}{number}"


CONSOLIDATE = Command(
    "consolidate",
    Group.CHANGE,
    ("mnemonctl consolidate --dry-run", "mnemonctl consolidate", "mnemonctl consolidate --json"),
    method=types_knowledge.CONSOLIDATE,
    details=(
        "Memories of one category and for the same readers; pinned ones and enforced rules stay as they are.",
        "Nothing is merged by this: `mnemonctl reviews` shows the pairs, and a pair left apart is not proposed again.",
        "The daemon searches once a day by itself; consolidation.auto_merge = true merges without a question.",
    ),
    render=_consolidated,
)


def _summarize_request(arguments: Arguments) -> Request:
    request = arguments.request()
    return Request(request.method, {**request.params, "ids": str(request.params["ids"]).split()})


def _summarized(result: SummarizeResult, style: Style) -> str:
    if style.quiet:
        return lines(one_line(result.id))
    sources = ", ".join(map(short_id, result.derived_from))
    return lines(
        f"Summary {style.strong(short_id(result.id))} of {sources}{repeated(result)}",
        body(result.content, style, "  "),
        *remarks(result.embed_error, []),
        undo_hint(result.op_id, style),
    )


SUMMARIZE = Command(
    "summarize",
    Group.CHANGE,
    ("mnemonctl summarize 1a2b3c4d 9f8e7d6c 5e5e5e5e", "mnemonctl summarize 1a2b3c4d 9f8e7d6c --json"),
    method=types_knowledge.SUMMARIZE,
    words=Words("ID ID…", ("ids",), text=True, completes="memory"),
    request=_summarize_request,
    details=(
        "The memories stay. Recall shows the summary if it fits a question better than each of them.",
        "It leaves recall when one of them leaves or changes, and the job summaries makes a new one.",
        "`mnemonctl consolidate` shows which memories say nearly the same.",
    ),
    render=_summarized,
)


def _communities(result: CommunitiesResult, style: Style) -> str:
    if style.quiet:
        return lines(*(str(each.number) for each in result.communities))
    store = f'store "{one_line(result.store)}"'
    if not result.communities:
        return lines(f"No memories of {store} belong together: they have no links, or were just stored")
    unshown = result.total - len(result.communities)
    outside = f"; {plural(result.outside, 'memory')} in none" if result.outside else ""
    return lines(
        style.strong(f"{plural(result.total, 'community')} in {store}{outside}"),
        *(line for each in result.communities for line in _community(each, style)),
        f"and {unshown:,} more, see --limit" if unshown else None,
        style.faint("their memories: mnemonctl list --community N"),
    )


def _community(it: Community, style: Style) -> Iterator[str]:
    yield f"{style.strong(str(it.number))}  {plural(it.memories, 'memory')}"
    for each in it.examples:
        yield body(one_line(f"{short_id(each.id)}  {shorten(each.content, MAX_SAID)}"), style, "  ")


COMMUNITIES = Command(
    "communities",
    Group.LOOK,
    ("mnemonctl communities", "mnemonctl communities --limit 5 --json", "mnemonctl list --community 3"),
    method=types_knowledge.COMMUNITIES,
    details=(
        "Memories that are linked among each other more than to others, with what they name most.",
        "Found once a day; --refresh finds them now. Each shows its most central memories.",
    ),
    render=_communities,
)
