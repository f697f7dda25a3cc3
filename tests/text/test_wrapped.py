"""Messages as somebody typed them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.text.resources import read
from mnemond.text.transcripts import _HostTags, summary, typed, without_command

CODEX = "# Context from my IDE setup:\n\n## Active file: src/pay.ts\n\n## My request for Codex:\nadd a retry\n"
COMMAND = (
    "<command-message>review</command-message>\n<command-name>/review</command-name>\n"
    "<command-args>the login</command-args>"
)
FILES = "Explain @a.py\n\n--- Content from referenced files ---\n\nContent from @a.py:\nx = 1\n--- End of content ---"


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("plain", "plain"),
        ("<hook_context>old</hook_context>\n\nnew", "new"),
        ("a <system-reminder>be nice</system-reminder> b", "a  b"),
        ("<system-reminder>x <hook_context>y</hook_context> z</system-reminder>q", "q"),
        ("<recalled-data 0123abcd>\nm\n</recalled-data 0123abcd>\nq", "q"),
        ("<private>a <private>b</private> c</private>d", "d"),
        ('<attachment id="a.py" isSummarized="true">code</attachment>what is it?', "what is it?"),
        ("<ide_opened_file>The user opened a.py.</ide_opened_file>\nfix it", "fix it"),
        ("<user_query>\nwhy?\n</user_query>", "why?"),
        ("<task>\nwhy?\n</task><environment_details>\n# Time\n</environment_details>", "why?"),
        (COMMAND, "the login"),
        ("<task-notification><task-id>b2</task-id></task-notification>", ""),
        ("<USERREQUEST>Why?</USERREQUEST>", "Why?"),
        (CODEX, "add a retry"),
        ("write me\n## My request for Codex:\nthis", "write me\n## My request for Codex:\nthis"),
        (FILES, "Explain @a.py"),
        (FILES.replace("--- End of content ---", ""), FILES.replace("--- End of content ---", "").strip()),
        ("what does <hook_context> mean?", "what does <hook_context> mean?"),
        ("what closes </hook_context>?", "what closes </hook_context>?"),
        ("<hook_context>a</hook_context", "<hook_context>a</hook_context"),
        ("<hook_contexts>a</hook_contexts>", "<hook_contexts>a</hook_contexts>"),
        ("if a < b > c", "if a < b > c"),
        ("", ""),
    ],
)
def test_what_others_put_in_is_left_out(message: str, said: str) -> None:
    assert typed(message) == said


@pytest.mark.parametrize(
    ("prompt", "question"),
    [
        ("/review the login", "the login"),
        ("/plugin:do-it\nthe login", "the login"),
        ("/clear", ""),
        ("/etc/hosts is empty", "/etc/hosts is empty"),
        ("why /tmp is full", "why /tmp is full"),
        ("<system-reminder>x</system-reminder>/fix why?", "why?"),
    ],
)
def test_the_name_of_a_command_is_no_question(prompt: str, question: str) -> None:
    assert without_command(typed(prompt)) == question


@pytest.mark.parametrize(
    "hostile",
    [
        "<hook_context>" * 20_000,
        "<hook_context>" * 10_000 + "</private>" * 10_000,
        "--- End of content ---" + "--- Content from referenced files ---" * 8_000,
        "<private " + "a" * 250_000,
        "<private " * 30_000,
        "<" * 250_000,
        "</" * 125_000,
        "<é" * 125_000,
        "<feedback" * 28_000,
    ],
)
def test_the_event_loop_is_not_held(hostile: str) -> None:
    """Of the longest prompt that is read; with a name tried after the other at each "<" it took 80 ms."""
    begun = time.process_time()
    typed(hostile)
    assert time.process_time() - begun < 0.05


def test_no_name_is_both_left_out_and_opened() -> None:
    tags = read("host_tags", _HostTags)
    left_out = [name for names in tags.left_out.values() for name in names]
    opened = [name for names in tags.opened.values() for name in names]
    assert len(set(left_out + opened)) == len(left_out + opened)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (
            "<analysis>\nThe user likes thinking.\n</analysis>\n\n<summary>\n1. Ada chose tea.\n</summary>",
            "1. Ada chose tea.",
        ),
        ("<summary>Ada chose tea.</summary>", "Ada chose tea."),
        ("<summary>Ada wrote <summary> twice.</summary></summary>", "Ada wrote <summary> twice.</summary>"),
        ("<analysis>Hm.</analysis> Ada chose tea.", "Ada chose tea."),
        ("<analysis>Hm. Ada chose tea.", "<analysis>Hm. Ada chose tea."),
        ("<summary>Ada chose tea.", "Ada chose tea."),
        ("Ada chose tea. <summary>No beginning.</summary>", "Ada chose tea. <summary>No beginning.</summary>"),
        (" Ada chose tea. ", "Ada chose tea."),
        ("", ""),
    ],
)
def test_a_summary_is_what_its_writer_meant_for_others(text: str, left: str) -> None:
    assert summary(text) == left


@given(st.text("ab <>/", max_size=20))
def test_a_summary_says_nothing_that_was_not_written(text: str) -> None:
    assert summary(text) in text
    assert summary(f"<analysis>x</analysis><summary>{text}</summary>") == text.strip()


PIECES = st.sampled_from(
    ["<private>", "</private>", "<user_query>", "</user_query>", "<system-reminder>", "</system-reminder>", "<", ">",
     "a", " ", "\n", "--- Content from referenced files ---", "--- End of content ---"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=20).map("".join))
def test_nothing_is_added_and_nothing_changes_twice_but_what_was_hidden(text: str) -> None:
    once = typed(text)
    assert len(once) <= len(text)
    rest = iter(text)
    assert all(char in rest for char in once)


@given(st.text("ab \n", max_size=20), st.text("ab <>\n", max_size=20), st.text("ab \n", max_size=20))
def test_what_stands_in_a_wrapper_never_stays(before: str, inside: str, after: str) -> None:
    for name in ("private", "system-reminder", "recalled-data"):
        assert typed(f"{before}<{name}>{inside}</{name}>{after}") == f"{before}{after}".strip()
