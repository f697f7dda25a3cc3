"""What `consolidate` and `communities` ask for and print besides the transcripts."""

from __future__ import annotations

import msgspec

from mnemond.api.types_daemon import CliRunParams
from mnemond.cli.grammar import Invocation, Output, parse, success
from mnemond.cli.help import BY_NAME
from mnemond.cli.output import Style
from tests.cli.knowledge_results import CONSOLIDATED, GROUPED, ID
from tests.cli.revision_results import REVIEWS, WAITING
from tests.tables import each_row


def shown(command: str, result: object, *, quiet: bool = False) -> str:
    return success(BY_NAME[command], result, Output("text", style=Style(columns=72, quiet=quiet))).stdout


@each_row(
    ("argv", "method", "params"),
    [
        (["consolidate"], "consolidate", {}),
        (
            ["consolidate", "--dry-run", "-n", "3", "--store", "w"],
            "consolidate",
            {"dry_run": True, "limit": 3, "store": "w"},
        ),
        (["communities", "--user", "ana", "--refresh"], "communities", {"user_id": "ana", "refresh": True}),
        (["list", "--community", "3"], "list", {"community": 3}),
        (["summarize", "1a2b3c4d", "9f8e7d6c"], "summarize", {"ids": ["1a2b3c4d", "9f8e7d6c"]}),
    ],
)
def test_what_is_asked_for(argv: list[str], method: str, params: dict[str, object]) -> None:
    parsed = parse(CliRunParams(argv=argv))
    assert isinstance(parsed, Invocation), parsed
    assert (parsed.method, parsed.params) == (method, params)


def test_nothing_alike_a_dry_run_and_the_ids_alone() -> None:
    none = msgspec.structs.replace(CONSOLIDATED, clusters=[], found=0, pairs=0, refused=0)
    assert shown("consolidate", none) == 'No memories of store "default" say nearly the same\n'
    assert "would ask about 1 pair\n" in shown("consolidate", msgspec.structs.replace(CONSOLIDATED, dry_run=True))
    assert shown("consolidate", CONSOLIDATED, quiet=True) == f"{ID}\n"


def test_a_review_shows_what_a_merge_would_store() -> None:
    merge = msgspec.structs.replace(WAITING, kind="merge", suggestion="MERGE", preview="Berlin\x1b[2J; Munich")
    text = shown("reviews", msgspec.structs.replace(REVIEWS, reviews=[merge]))
    assert "  merged  Berlin" in text
    assert "\x1b[2J" not in text


def test_no_communities_and_the_numbers_alone() -> None:
    none = msgspec.structs.replace(GROUPED, communities=[], total=0, outside=4)
    assert shown("communities", none).startswith('No memories of store "default" belong together')
    assert shown("communities", GROUPED, quiet=True) == "2\n1\n"
