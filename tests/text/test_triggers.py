"""Triggers: how they are written, and which calls they fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.text.triggers import (
    fits,
    fits_command,
    fits_path,
    has_tool,
    normal_trigger,
    patched_files,
    path_pattern,
    path_segments,
    read_trigger,
    tool_call,
)
from tests.tables import each_row


@each_row(
    ("written", "normal", "kind"),
    [
        ("Bash:git push*", "Bash:git push*", "command"),
        ("Bash(git push:*)", "Bash:git push*", "command"),
        ("  Edit : migrations/**", "Edit:migrations/**", "path"),
        ("words:drop  table", "words:drop table", "words"),
        ("Bash", "Bash", "tool"),
        ("mcp__github__*", "mcp__github__*", "tool"),
        ("run_shell_command:git push", "run_shell_command:git push", "command"),
    ],
)
def test_what_may_be_written(written: str, normal: str, kind: str) -> None:
    assert normal_trigger(written) == normal
    assert normal_trigger(normal) == normal
    assert read_trigger(normal).kind == kind


@each_row("written", ["", "*", "Bash:*", "*:**", "words:", "two words", "Bash:" + "a*" * 9, ":x"])
def test_what_is_no_trigger(written: str) -> None:
    with pytest.raises(ValueError, match=r"trigger|words|every call|stars"):
        normal_trigger(written)


def test_a_program_may_be_named_with_its_directory() -> None:
    trigger = read_trigger(normal_trigger("Bash:./gradlew publish*"))
    (command,) = tool_call("Bash", "/home/ada/apollo/gradlew publish --all", (), "").commands
    assert fits_command(trigger.pattern, command)


def test_a_command_ends_at_a_word() -> None:
    assert fits_command("git push", "git push -f")
    assert fits_command("git push", "git push")
    assert not fits_command("git push", "git pushed")
    assert fits_command("git push*", "git pushed")
    assert not fits_command("git push*", "git pull")


@each_row(
    ("pattern", "path", "fit"),
    [
        ("migrations/**", "/a/b/migrations/1.sql", True),
        ("migrations/**", "/a/migrations", False),
        ("*.py", "/x/y.py", True),
        ("src/*.py", "/r/src/a/b.py", False),
        ("src/**/*.py", "/r/src/a/b.py", True),
        ("/etc/*", "/etc/passwd", True),
        ("/etc/*", "/x/etc/passwd", False),
        ("docs/", "/r/docs/a/b", True),
        ("migrations/**", "/a/src/../migrations/1.sql", True),
        ("/home/ada/apollo/src/**", "src/a.py", True),
        ("/home/ada/apollo/src/**", "../zeus/src/a.py", False),
    ],
)
def test_paths(pattern: str, path: str, fit: bool) -> None:
    assert fits_path(path_pattern(pattern), path_segments(path, "/home/ada/apollo")) is fit


def test_a_patch_is_an_edit_of_its_files() -> None:
    line = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: migrations/1.sql\n+x\n*** End Patch\nEOF"
    call = tool_call("Bash", line, (), line)
    assert (call.tool, call.editor, call.paths) == ("bash", "apply_patch", (("migrations", "1.sql"),))
    assert has_tool(read_trigger("Edit:migrations/**"), call.editor)
    both = tool_call("Bash", f"git push && {line}", (), line)
    assert both.commands[0] == "git push"
    assert tool_call("apply_patch", line, (), line, "/r").paths == (("r", "migrations", "1.sql"),)
    assert tool_call("apply_patch", line, (), line).commands == ()
    assert patched_files("*** Add File: x") == []


@given(st.text("ab*", max_size=12), st.text("ab", max_size=12))
def test_a_star_stands_for_anything(pattern: str, text: str) -> None:
    def slow(rest: str, left: str) -> bool:
        if not rest:
            return not left
        if rest[0] == "*":
            return any(slow(rest[1:], left[at:]) for at in range(len(left) + 1))
        return bool(left) and left[0] == rest[0] and slow(rest[1:], left[1:])

    assert fits(pattern, text) == slow(pattern, text)
