"""link, unlink, related, pin and search on the command line: what they ask for, and what people read."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from mnemond.api.types_daemon import CliRunResult
from mnemond.cli.grammar import Invocation, Output, parse, success
from mnemond.cli.help import BY_NAME
from mnemond.cli.output import Style
from mnemond.model.answers import Retirement
from tests.cli.results import GOT, ID, LINKED, OLD, PINNED, SEARCHED
from tests.cli.test_grammar import answered, line, request
from tests.cli.test_text import shown
from tests.tables import each_row

ONE, OTHER = "1a2b3c4d", "9f8e7d6c"
THIRD = "5e3a1000-0000-4000-8000-000000000003"
AT = "2026-02-17T09:30:00.000000Z"


def test_every_option_of_link() -> None:
    assert request(
        "link", ONE, OTHER, "--type", "causal", "--weight", ".8", "--sub-type", "causes", "--meta", '{"a": [1, "b"]}',
        "--bidirectional", "--allow-cycle", "--created-by", "host", "--allow-secret", "--op-id", "o1", "--user", "u",
        "--session", "s", "--agent", "a", "--store", "work",
    ) == (
        "link",
        {
            "source_id": ONE, "target_id": OTHER, "type": "causal", "weight": 0.8, "sub_type": "causes",
            "metadata": {"a": [1, "b"]}, "bidirectional": True, "allow_cycle": True, "created_by": "host",
            "allow_secret": True, "op_id": "o1", "user_id": "u", "session_id": "s", "agent_id": "a", "store": "work",
        },
    )  # fmt: skip


@each_row(
    ("argv", "expected"),
    [
        (
            ["unlink", ONE, OTHER, "-t", "causal", "--op-id", "o"],
            ("unlink", {"source_id": ONE, "target_id": OTHER, "type": "causal", "op_id": "o"}),
        ),
        (
            ["related", ONE, "--edge", "causal", "--depth", "3", "-n", "5", "--all-sessions"],
            ("related", {"id": ONE, "edge": "causal", "depth": 3, "limit": 5, "all_sessions": True}),
        ),
        (
            ["link", ONE, OTHER, "-t", "semantic"],
            ("link", {"source_id": ONE, "target_id": OTHER, "type": "semantic"}),
        ),
        (["pin", ONE, "--unpin"], ("pin", {"id": ONE, "unpin": True})),
        (["pin", ONE], ("pin", {"id": ONE})),
        (
            ["search", "WAL", "mode", "-n", "3", "--cat", "fact", "--source", "git"],
            ("search", {"query": "WAL mode", "limit": 3, "category": "fact", "source": "git"}),
        ),
    ],
)
def test_requests(argv: list[str], expected: tuple[str, dict[str, object]]) -> None:
    assert request(*argv) == expected


@each_row(
    ("argv", "message", "hint"),
    [
        (["link", ONE, OTHER], "link needs --type", "one of temporal, semantic, causal, entity"),
        (["link", ONE, "-t", "causal"], "link needs the ids of two memories (1 was given)", "link --help"),
        (["unlink"], "unlink needs the ids of two memories (0 were given)", "unlink --help"),
        (["unlink", ONE, OTHER, ONE], "unlink needs the ids of two memories (3 were given)", "unlink --help"),
        (["link", ONE, "9f8", "-t", "causal"], "the id has 3 characters; it needs 6", "at least 6 characters"),
        (["link", ONE, OTHER, "-t", "causal", "--weight", "much"], "--weight/-w: must be a number, not 'much'", None),
        (["link", ONE, OTHER, "-t", "causal", "--weight", "nan"], "--weight/-w: must be a number, not 'nan'", None),
        (["link", ONE, OTHER, "-t", "causal", "--meta", "[1]"], "--meta must be a JSON object, such as", "as in"),
        (["link", ONE, OTHER, "-t", "causal", "--meta", "{a:1}"], "--meta must be a JSON object, such as", None),
        (["link", ONE, OTHER, "-t", "causal", "--meta", "\ud800"], "--meta must be a JSON object", None),
        (["link", ONE, OTHER, "-t", "causal", "--meta", "[" * 100_000], "--meta must be a JSON object", None),
        (["related"], "related needs the id of a memory", None),
        (["related", ONE, "--depth", "x"], "--depth: must be a whole number, not 'x'", None),
        (["pin", "1a"], "the id has 2 characters; it needs 6", None),
        (["search"], "search needs the words to look for", None),
        (["unpin", ONE], 'there is no command "unpin"', "Did you mean: mnemonctl pin ID --unpin?"),
        (["connect", ONE, OTHER], 'there is no command "connect"', "Did you mean: mnemonctl link?"),
    ],
)
def test_usage_errors(argv: list[str], message: str, hint: str | None) -> None:
    result = answered(*argv)
    assert result.exit_code == 2
    assert message in result.stderr
    assert hint is None or hint in result.stderr


@given(
    st.lists(st.sampled_from(["link", "--meta", "{}", "--weight", "-", "1e400", ONE, OTHER, "--type=x", "\0", "--"]))
)
def test_any_line_is_understood_or_answered(argv: list[str]) -> None:
    parsed = parse(line(*argv))
    assert isinstance(parsed, (Invocation, CliRunResult))


def test_what_became_of_a_link() -> None:
    replace = msgspec.structs.replace
    assert shown("link", replace(LINKED, created=False, updated=True)).startswith("Changed the link 1a2b3c4d → ")
    same = shown("link", replace(LINKED, created=False))
    assert same.startswith("Linked like this already: 1a2b3c4d → ")
    assert "undo" not in same
    assert shown("link", replace(LINKED, replayed=True)).startswith("Linked before, with the same op_id, 1a2b3c4d")
    assert "1a2b3c4d ↔ 9f8e7d6c: semantic" in shown("link", replace(LINKED, bidirectional=True, edge_type="semantic"))
    assert shown("link", replace(LINKED, redacted=["password"])).splitlines()[2] == (
        "  redacted: password (--allow-secret keeps it)"
    )
    wide = shown("link", replace(LINKED, metadata={"note": "many words " * 20}), Style(columns=60))
    assert max(map(len, wide.splitlines())) <= 60


def test_nothing_related_and_nothing_found() -> None:
    assert shown("related", []) == "nothing is linked to it\n"
    assert shown("search", msgspec.structs.replace(SEARCHED, results=[])) == "no memory has any of these words\n"


def test_what_was_pinned_already_leaves_nothing_to_undo() -> None:
    text = shown("pin", msgspec.structs.replace(PINNED, message="it was pinned already", changed=False))
    assert text == "Pinned 1a2b3c4d: it was pinned already\n"


@each_row(
    ("retired", "told"),
    [
        (Retirement("forgotten", AT, "op-1", None, None, None, f"mnemonctl restore {ID}"), "forgotten {at}"),
        (
            Retirement("superseded", AT, "op-1", OLD, OLD, "tea\x1b at five", f"mnemonctl restore {ID} --force"),
            'superseded {at} by 9f8e7d6c: "tea\\x1b at five"',
        ),
        (
            Retirement("merged", AT, None, OLD, THIRD, "tea at six", f"mnemonctl restore {ID} --force"),
            'merged {at} by 9f8e7d6c, in whose place is 5e3a1000: "tea at six"',
        ),
        (Retirement("superseded", AT, None, OLD, None, None, f"mnemonctl restore {ID}"), "superseded {at} by 9f8e7d6c"),
    ],
)
def test_what_became_of_a_retired_memory(retired: Retirement, told: str) -> None:
    gone = msgspec.structs.replace(GOT, retired=retired, links=[], edges_by_type={})
    text = success(BY_NAME["get"], gone, Output("text", style=Style(columns=140))).stdout
    back = retired.next.replace(ID, ID[:8])
    assert f"\n  status                {told.format(at='2026-02-17 09:30:00')}\n" in text
    assert f"\n  to have it again      {back}\n" in text
    assert "\x1b" not in text
