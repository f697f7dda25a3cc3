"""What of a message somebody said: its prose in sentences, without what a program or a host put into it."""

from __future__ import annotations

from mnemond.extract.prose import MAX_READ, is_machine, prose, sentences
from mnemond.recall.context import linearise
from tests.recall.test_context import NONCE, frame, hit
from tests.tables import each_row


def said(content: str) -> list[str]:
    return [each.text for each in prose(content).sentences]


def kinds(content: str) -> list[str]:
    return [reason for _, reason in prose(content).others]


@each_row(
    ("line", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("We use v1.2.3 of Node.js. Then 3.5 GB.", ["We use v1.2.3 of Node.js.", "Then 3.5 GB."]),
        ("See https://x.io/a.b?c=d. It works.", ["See https://x.io/a.b?c=d. It works."]),
        ("Edit app.py. Then run `a.b. c`. Done.", ["Edit app.py.", "Then run `a.b. c`.", "Done."]),
        ("Use e.g. Redis, i.e. a cache, vs. Postgres.", ["Use e.g. Redis, i.e. a cache, vs. Postgres."]),
        ("I met Dr. Chen and J. Doe. Fine.", ["I met Dr. Chen and J. Doe.", "Fine."]),
        ("He said no. Then no. 5 won.", ["He said no.", "Then no. 5 won."]),
        ('He said "stop." Then left.', ['He said "stop."', "Then left."]),
        ("我们用 Go。他用 Rust！好吗？好", ["我们用 Go。", "他用 Rust！", "好吗？", "好"]),
        ("Wait... what?! Yes", ["Wait...", "what?!", "Yes"]),
        ("", []),
        ("...", ["..."]),
    ],
)
def test_sentences(line: str, expected: list[str]) -> None:
    assert sentences(line) == expected


@each_row(
    "line",
    [
        "2026-02-18T09:12:01Z INFO server started", "[09:12:01] ready", "ERROR: no such file", "npm ERR! code ERESOLVE",
        'File "/app/main.py", line 12, in <module>', "at Object.run (/app/x.js:1:2)", "ValueError: no", "$ make test",
        "ana@box:~/src$ ls", "+++ b/app.py", "-def run():", "@@ -1,5 +1,6 @@", "def run(args):", "import os",
        "from os import path", "const x = 1", "SELECT id FROM users", "drwxr-xr-x 6 ana ana 4096 .", "total 48",
        '"id": 7,', "PORT=8080", "src/main.rs", "README.md", "}", "if (a > b) {", "return total;", "========",
        "git commit --amend --no-edit", "x" * 90, "for item in items:", "foo(bar[0], {a: 1}) => baz;",
        "tests/test_api.py ...F.... [66%]", "├── src",
    ],
)  # fmt: skip
def test_lines_of_programs(line: str) -> None:
    assert is_machine(line)


@each_row(
    "line",
    [
        "We use `foo(bar)` in app.py", "fix the failing test in tests/test_app.py", "I'm Ana, I work at Acme",
        "See https://example.com/a?b=c for the details", "import the data first", "for the queue we chose NATS",
        "class sizes are limited to 20", "Note: we never deploy on Fridays", "我们决定用 PostgreSQL 替换 MySQL",
        "the API returns 404 (not 500) for unknown ids", "if it fails, try again", "with Redis it works", "yes",
    ],
)  # fmt: skip
def test_lines_of_people(line: str) -> None:
    assert not is_machine(line)


def test_code_between_fences_is_none_of_it() -> None:
    content = "Look:\n\n```python\nI prefer tabs\n```\nand this\n~~~\nWe use Go.\n~~~~\nDone."
    assert said(content) == ["Look:", "and this", "Done."]
    assert kinds(content) == ["code", "code"]


def test_a_fence_that_does_not_end_takes_the_rest() -> None:
    assert said("One.\n```\nTwo.\nThree.") == ["One."]


def test_a_short_block_belongs_to_what_announces_it() -> None:
    assert said("Run the tests with:\n```\nmake check\n```\nThen push.") == [
        "Run the tests with: `make check`", "Then push."
    ]  # fmt: skip
    assert said("Like this:\n```\n" + "a\n" * 6 + "```") == ["Like this:"]


@each_row(
    ("content", "kind"),
    [
        ("> I prefer tabs", "quote"),
        ("## We use Go", "markup"),
        ("| a | b |\n|---|---|\n| we use | Go |", "markup"),
        ("---", "markup"),
        ("<system-reminder>\nWe use Go.\n</system-reminder>", "markup"),
        ("<note>We use Go.</note>", "markup"),
        ("    indented = True", "code"),
        ("diff --git a/x b/x\nwe use Go\nand Rust", "code"),
        ("Traceback (most recent call last):\n  File \"x.py\", line 1\nKeyError: 'a'", "code"),
    ],
)
def test_what_is_no_prose(content: str, kind: str) -> None:
    assert said(f"{content}\n\nFine then.") == ["Fine then."]
    assert kinds(content) == [kind]


def test_a_tag_that_does_not_end_takes_its_line_alone() -> None:
    assert said("<details>\nWe use Go.") == ["We use Go."]
    assert said("<b>\nx y\n</i>\n</b>\nWe use Go.") == ["We use Go."]


def test_bullets_numbers_and_emphasis_are_marks() -> None:
    found = prose("- **We** use Go\n* [x] done\n1. see [the docs](https://x.io)\n2) and *this*").sentences
    assert [each.text for each in found] == ["We use Go", "done", "see the docs", "and this"]
    assert all(each.itemised for each in found)
    assert len({each.group for each in found}) == 4


def test_lines_that_an_editor_broke_are_one() -> None:
    long = "The staging database of the billing service listens on port 5433"
    assert said(f"{long}\nand never on another one.\nNew line") == [f"{long} and never on another one.", "New line"]
    assert said("short\nlines stay") == ["short", "lines stay"]


def test_recalled_memories_are_no_news() -> None:
    context = linearise([hit(1, "We use Go")], frame()).text
    assert "We use Go" in context
    assert said(f"before\n{context}\nafter it") == ["before", "after it"]
    assert said(f"before\n{context[: -len(f'</recalled-data {NONCE}>') - 1]}\nafter it") == ["before", "after it"]
    twice = context + context.replace(NONCE, NONCE[::-1])
    assert said(f"{twice}\nWe use Go") == ["We use Go"]


def test_only_so_much_is_read() -> None:
    found = prose("One.\n" + "x y\n" * (MAX_READ // 4) + "We use Go.")
    assert found.sentences[-1].text != "We use Go."
    assert found.others[-1][1] == "length"
