"""The simple commands of a shell line: those that are seen, those that are none, and how long that takes at most."""

from __future__ import annotations

import gc
import time

from hypothesis import given
from hypothesis import strategies as st

from mnemond.text.shell_commands import MAX_COMMANDS, MAX_DEPTH, MAX_LINE, MAX_NESTED, MAX_RUN, MAX_TOKENS, shell_line
from mnemond.text.triggers import tool_call
from tests.tables import each_row


def commands_of(line: str) -> list[str]:
    """The commands of a line."""
    return list(shell_line(line).commands)


@each_row(
    "line",
    [
        "git push", "git  push", "\tgit\tpush ", "git push #x", "# x\ngit push", "git \\\n push", "g\\it push",
        "'git' push", '"git" push', "$'git' push", "git $'push'", "/usr/bin/git push",
        # in a line with others
        "cd x && git push", "cd x&&git push", "a; git push", "a|git push", "a || git push", "a & git push",
        "git push;echo", "git push&", "(git push)", "{ git push; }", "&& git push", "echo hi # ; x\ngit push",
        "if true; then git push; fi", "for x in a; do git push; done", "case x in x) git push;; esac",
        "f() { git push; }", "function f { git push; }", "! git push",
        # within a word
        "echo $(git push)", "x=$(git push)", "echo `git push`", 'echo "$(git push)"', 'echo "a `git push` b"',
        "diff <(git push) x", 'echo "$(echo "$(git push)")"',
        # with redirections
        "git push>/dev/null", "git push 2>&1", "> out git push", "2>/dev/null git push", "exec 3>&1 git push",
        "git push </dev/null", "git push &>x", "git >x push",
        # with options before what is done
        "git -C /x push", "git -C $(pwd) push", 'git -C "$(git rev-parse x)" push', "git --no-pager -c a=b push",
        "git --git-dir=/x push",
        # run by another program
        "FOO=1 BAR='2 3' git push", "env A=b git push", "env -u X -i git push", "sudo -E -u ana FOO=1 git push",
        "sudo --user=ana -- git push", "time git push", "nohup git push &", "timeout -s KILL 5 git push",
        "nice -n 10 git push", "command git push", "xargs -n 1 git push", "setsid git push", "stdbuf -o0 git push",
        "flock /tmp/l git push", "watch -n 2 git push", "watch 'git push'", "find . -exec git push \\;",
        # in a line within the line
        'sh -c "git push"', "bash -lc 'git push'", "bash --login -c 'cd y; git push'", "/bin/sh -ec 'git push'",
        "bash -o pipefail -c 'git push'", "bash -c \"sh -c 'git push'\"", "eval git push", 'eval "git push"',
        "bash <<'E'\ngit push\nE", "bash <<< 'git push'", "sh -s <<E\nls\ngit push\nE",
        # after the text of a file
        "cat > f <<'E'\n" + "it's \"x\n" * 9_000 + "E\ngit push", "cat <<A <<B\na\nA\nb\nB\ngit push",
        "cat <<-E\n\tx\n\tE\ngit push", "cat <<E && git push\nx\nE",
        # after much else
        ":;" * 5_000 + "git push", "x " * 9_999 + "; git push", ": " + "'a'" * 20_000 + "\ngit push",
        "\n".join(f"echo {number}" for number in range(900)) + "\ngit push",
        # written otherwise
        "$'\\x67it' push", "g$'\\151't push", "$'\\u0067it' push", "gi\\\nt push", "g''i\"\"t push", "git\tpush\r\n",
        # in a variable of the line
        "X=git; $X push", 'X="git push" && ${X}', "export X=git\n$X push", "X='git push'; eval \"$X\"",
        "A=1 X=/usr/bin/git; sudo $X push", "X='git push'; bash -c \"$X\"",
        # by a shell's input
        "echo git push | sh", "printf 'ls\\ngit push\\n' | sudo bash -s", "cat <<E | bash\ngit push\nE",
        "echo git push |& sh -",
        "bash -s -- x <<E\ngit push\nE", "bash /dev/stdin <<< 'git push'",
        # by more programs
        "trap 'git push' EXIT", "su - ana -c 'git push'", "flock /tmp/l -c 'git push'",
        "script -q -c 'git push' /dev/null",
        "env -S 'git push'", "xargs -I{} sh -c 'git push {}'", "busybox sh -c 'git push'", "strace -f -o x git push",
        "chroot /x git push", "taskset 1 git push", "uv run git push", "poetry run -- git push", "npx git push",
        "uv run --with x git push", "conda run -n x git push", "sudo -Eu ana git push", "sudo -uroot git push",
        "bash -euo pipefail -c 'git push'", "bash -ceu 'git push'", "bash -ceuo pipefail 'git push'",
        "su -lc 'git push' x",
        "eval -- git push", "trap -- 'git push' EXIT", "declare -r X=git; $X push", "fd -x git push",
        "at now <<< 'git push'",
        "tmux new-session -d -s x 'git push'", "tmux send-keys -t x 'git push' Enter", "screen -dmS x git push",
        'echo -e "ls\\ngit push" | bash -x', "pwsh -Command git\\ push",
        'git commit -m "$(cat <<\'E\'\nit\'s "so\nE\n)" && git push',
        "sh -c 'find . -exec git push \\;'", "bash -c \"bash -c 'bash -c \\\"git push\\\"'\"",
    ],
)  # fmt: skip
def test_a_push_is_seen(line: str) -> None:
    assert any(each.startswith("git push") for each in commands_of(line)), commands_of(line)


@each_row(
    "line",
    [
        "git pull", "echo git push", "echo 'git push'", 'echo "a; git push"', "git commit -m 'x; git push'",
        "git stash push", "git log --grep push", "grep 'git push' x", "ls # git push", "ls # ; git push",
        "cat <<E\ngit push\nE", "cat <<E\n$(x)\ngit push\nE\nls", "git\npush", "cat git push", "> git push",
        "echo a#b; ls", "echo $((1+2)) push", "# git push; git push", "command -v git push", "X=git; echo $X push",
        "X='git push'", "echo git push | cat", "echo git push || sh", "X=git; '$Y' push",
    ],
)  # fmt: skip
def test_what_is_only_said_is_no_push(line: str) -> None:
    assert not any(each.startswith("git push") for each in commands_of(line)), commands_of(line)


@each_row(
    ("line", "commands"),
    [
        (
            "sudo GIT_X=1 git -C /a push -f; ls | grep x",
            ["git push -f", "git -C /a push -f", "sudo GIT_X=1 git -C /a push -f", "ls", "grep x"],
        ),
        ("cat > f <<EOF\ngit push\nEOF\necho hi", ["cat", "echo hi"]),
        ("'never ended", ["never ended"]),
        ('"never ended', ["never ended"]),
        ("echo $HOME $(never", ["never", "echo $HOME "]),
        ("echo )", ["echo"]),
        ("sudo", ["sudo"]),
        ("X=1 timeout 5 make -C x all", ["make all", "make -C x all", "timeout 5 make -C x all"]),
        ("bash -c 'eval ls'", ["ls", "eval ls", "bash -c eval ls"]),
        ("if find . -exec rm {} +", ["rm {} +", "find . -exec rm {} +"]),
        ("X=1", []),
        ("bash script.sh -c", ["bash script.sh -c"]),
        ("", []),
    ],
)
def test_commands_of_a_line(line: str, commands: list[str]) -> None:
    assert commands_of(line) == commands


@each_row(
    "line",
    [
        "x" * (MAX_LINE + 1), "a " * MAX_TOKENS, "".join(f"a{number};" for number in range(MAX_COMMANDS + 1)),
        '"$(' * (MAX_DEPTH + 1) + "git push", "eval " * (MAX_NESTED + 2) + "git push", "find -exec a " * (MAX_RUN + 1),
        "echo '" + ":;" * (MAX_TOKENS // 2) + "git push' | sh",
    ],
)  # fmt: skip
def test_a_line_says_that_a_limit_left_something_out(line: str) -> None:
    assert not shell_line(line).is_whole
    assert shell_line(line[: len(line) // 4]).is_whole


@given(st.text("git push'\"`$()<>\\;&|\n#E-c ", max_size=120) | st.text(max_size=300))
def test_any_line_is_read(line: str) -> None:
    found = commands_of(line)
    assert len(found) <= MAX_COMMANDS
    assert all(found)


@each_row(
    "piece",
    [
        "a", " ", "'", '"', "\\", '\\"', "(", "$(", "`", "$", "#", "# ", "> ", "&", ";", "a;", "a=", "A=1 ", "env ",
        "sudo -u ", "<<E ", "<<A\n", "eval ", "eval '", "bash -c '", "sh -c ", "find -exec ", "-exec ", "git -c ",
        "`git ", "edit migrations/", "git push ", "\\a", "$'a", "$'\\x41", "X=y;$X ", "X=y eval $X;",
        "echo a|sh|", "|", "su -c '",
        "trap ", "uv run ", "''", "cat<<E|sh\n",
    ],
)  # fmt: skip
def test_hostile_lines_take_linear_time(piece: str) -> None:
    gc.freeze()  # what other tests left is not searched for garbage meanwhile
    try:
        begun = time.thread_time()
        tool_call("Bash", piece * (1_000_000 // len(piece)), [piece * 4_000] * 100, piece * 16_000)
        assert time.thread_time() - begun < 0.5
    finally:
        gc.unfreeze()
