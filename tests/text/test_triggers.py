"""Triggers: how they are written, and which calls they fit."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.text.triggers import (
    MAX_COMMANDS,
    commands_of,
    fits,
    fits_command,
    fits_path,
    normal_trigger,
    patched_files,
    path_pattern,
    path_segments,
    proposed_trigger,
    read_trigger,
    tool_call,
)


@pytest.mark.parametrize(
    ("written", "normal", "kind"),
    [
        ("Bash:git push*", "Bash:git push*", "command"),
        ("Bash(git push:*)", "Bash:git push*", "command"),
        ("  Edit : migrations/**", "Edit:migrations/**", "path"),
        ("words:drop  table", "words:drop table", "words"),
        ("Bash", "Bash", "tool"),
        ("mcp__github__*", "mcp__github__*", "tool"),
    ],
)
def test_what_may_be_written(written: str, normal: str, kind: str) -> None:
    assert normal_trigger(written) == normal
    assert normal_trigger(normal) == normal
    assert read_trigger(normal).kind == kind


@pytest.mark.parametrize("written", ["", "*", "Bash:*", "*:**", "words:", "two words", "Bash:" + "a*" * 9, ":x"])
def test_what_is_no_trigger(written: str) -> None:
    with pytest.raises(ValueError, match=r"trigger|words|every call|stars"):
        normal_trigger(written)


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("cd x && git push origin main", ["cd x", "git push origin main"]),
        ("sudo GIT_X=1 git -C /a push -f; ls | grep x", ["git push -f", "ls", "grep x"]),
        ("bash -lc 'git push'", ["git push"]),
        ("/usr/bin/git push", ["git push"]),
        ("cat > f <<EOF\ngit push\nEOF\necho hi", ["cat > f <<EOF", "echo hi"]),
        ("echo 'git push; rm x'", ["echo git push; rm x"]),
        ("'never ended", ["'never ended"]),
        ("sudo", []),
        ("", []),
    ],
)
def test_commands_of_a_line(line: str, commands: list[str]) -> None:
    assert commands_of(line) == commands


def test_a_command_ends_at_a_word() -> None:
    assert fits_command("git push", "git push -f")
    assert fits_command("git push", "git push")
    assert not fits_command("git push", "git pushed")
    assert fits_command("git push*", "git pushed")
    assert not fits_command("git push*", "git pull")


@pytest.mark.parametrize(
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
    ],
)
def test_paths(pattern: str, path: str, fit: bool) -> None:
    assert fits_path(path_pattern(pattern), path_segments(path)) is fit


@pytest.mark.parametrize(
    ("text", "trigger"),
    [
        ("We must run `make check` before every git push", "Bash:git push*"),
        ("Always run the tests before `git push origin main`", "Bash:git push origin*"),
        ("Never edit files in migrations/ by hand", "Edit:migrations/**"),
        ("The office in Bergen has a blue door", None),
        ("We ran `git push` yesterday", None),
    ],
)
def test_a_rule_proposes_its_trigger(text: str, trigger: str | None) -> None:
    assert proposed_trigger(text) == trigger
    if trigger is not None:
        assert normal_trigger(trigger) == trigger


def test_a_patch_is_an_edit_of_its_files() -> None:
    line = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: migrations/1.sql\n+x\n*** End Patch\nEOF"
    call = tool_call("Bash", line, (), line)
    assert (call.tool, call.paths, call.commands) == ("apply_patch", (("migrations", "1.sql"),), ())
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


@given(st.text(max_size=300))
def test_any_line_is_read(line: str) -> None:
    found = commands_of(line)
    assert len(found) <= MAX_COMMANDS
    assert all(found)


@pytest.mark.parametrize("piece", ["'", '"', '\\"', "$(", "a=", "<<A\n", ";", "bash -c '", "`git ", "edit migrations/"])
def test_hostile_lines_take_linear_time(piece: str) -> None:
    begun = time.process_time()
    tool_call("Bash", piece * 100_000, [piece * 4_000] * 100, piece * 16_000)
    proposed_trigger(f"never {piece * 4_000}")
    assert time.process_time() - begun < 1.0
