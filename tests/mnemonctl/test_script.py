"""`launcher/mnemonctl`, the command that is installed: which Python it runs, and where it finds the packages."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path

import pytest

from mnemonctl.setup import own_files
from tests.mnemonctl.daemons import fake_daemon, line

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "mnemonctl" / "launcher" / "mnemonctl"
VERSION = f"python{sys.version_info[0]}.{sys.version_info[1]}"

SHELLS = [
    shell
    for shell in (["sh"], ["dash"], ["bash", "--posix"], ["busybox", "sh"], ["ksh"], ["mksh"])
    if shutil.which(shell[0]) is not None
]
FAKE_PYTHON = '#!/bin/sh\nprintf "%s\\n" "$0" "$@"\n'
"""Prints its own path and its arguments, one a line."""

CODE = "import sys; sys.path.insert(0, sys.argv.pop(1)); from mnemonctl import main; main()"
PLAIN_CODE = "import sys; sys.path[:] = filter(None, sys.path); from mnemonctl import main; main()"


@pytest.fixture(params=SHELLS, ids=" ".join)
def shell(request: pytest.FixtureRequest) -> list[str]:
    command: list[str] = request.param
    return command


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    path.chmod(0o755)
    return path


def script_in(prefix: Path) -> Path:
    return executable(prefix / "bin" / "mnemonctl", SCRIPT.read_text("utf-8"))


def packages_in(prefix: Path, packages: str = "lib/python3.11/site-packages") -> Path:
    directory = prefix / packages
    (directory / "mnemonctl").mkdir(parents=True)
    (directory / "mnemonctl" / "fast.py").touch()
    return directory


def environment(prefix: Path) -> tuple[Path, list[str]]:
    """A virtual environment: its script, and how it should start Python."""
    packages = packages_in(prefix)
    (prefix / "pyvenv.cfg").touch()
    python = executable(prefix / "bin" / "python3.11", FAKE_PYTHON)
    return script_in(prefix), [str(python), "-EPS", "-c", CODE, str(packages)]


def run(
    shell: list[str], script: Path | str, *arguments: str, path: str = "/usr/bin:/bin", cwd: Path | None = None
) -> list[str]:
    """What the fake Python was started with."""
    command = [shutil.which(shell[0]) or "", *shell[1:], str(script), *arguments]
    done = subprocess.run(command, capture_output=True, check=True, timeout=30, cwd=cwd, env={"PATH": path})
    assert done.stderr == b""
    return done.stdout.decode().splitlines()


# ------------------------------------------------------------------ virtual environments


@pytest.mark.parametrize("name", ["env", "a b", 'it\'s 100% "é"', "$HOME [x]* \\n?", "-n"])
def test_the_python_beside_it_gets_the_packages_and_every_argument(tmp_path: Path, shell: list[str], name: str) -> None:
    script, started = environment(tmp_path / name)
    arguments = ["recall", "a  b", "", "*", "é'\"\\"]
    assert run(shell, script, *arguments) == [*started, *arguments]


def test_links_are_followed_to_the_environment(tmp_path: Path, shell: list[str]) -> None:
    script, started = environment(tmp_path / "share" / "pipx" / "venvs" / "mnemond")
    link = tmp_path / "local" / "bin" / "mnemonctl"
    link.parent.mkdir(parents=True)
    link.symlink_to(script)
    assert run(shell, link, "list") == [*started, "list"]
    relative = tmp_path / "other name"
    relative.symlink_to("local/bin/mnemonctl")
    assert run(shell, relative) == started


def test_a_link_by_mnemons_name_says_so_to_the_client(tmp_path: Path, shell: list[str]) -> None:
    script, started = environment(tmp_path / "env")
    link = tmp_path / "bin" / "mnemon"
    link.parent.mkdir()
    link.symlink_to(script)
    called = [*started[:3], f'import sys; sys.argv[0] = "mnemon"; {CODE}', *started[4:]]
    assert run(shell, link, "recall", "x") == [*called, "recall", "x"]
    (tmp_path / "mnemonic").symlink_to(link)
    assert run(shell, tmp_path / "mnemonic") == started


def test_a_relative_link_or_path_names_the_same_python(tmp_path: Path, shell: list[str]) -> None:
    script, started = environment(tmp_path / "opt" / "env")
    link = tmp_path / "opt" / "bin" / "mnemonctl"
    link.parent.mkdir()
    link.symlink_to("../env/bin/mnemonctl")
    assert run(shell, link) == started
    assert run(shell, "./mnemonctl", cwd=script.parent) == started
    assert run(shell, "bin/mnemonctl", cwd=script.parents[1]) == started
    assert run(shell, "../env/bin/../bin/mnemonctl", cwd=link.parent) == started


@pytest.mark.skipif(shutil.which("bash") is None, reason="other shells do not look scripts up")
def test_a_shell_that_looks_it_up_itself_does_not_use_the_working_directory(tmp_path: Path) -> None:
    script, started = environment(tmp_path / "env")
    hostile = tmp_path / "project"
    (hostile / "bin").mkdir(parents=True)
    packages_in(hostile)
    path = f"{script.parent}:/usr/bin:/bin"
    assert run(["bash"], "mnemonctl", cwd=hostile / "bin", path=path) == started
    assert run(["bash"], "mnemonctl", cwd=script.parent, path=path) == started


def test_a_link_to_its_directory_is_followed(tmp_path: Path, shell: list[str]) -> None:
    script, started = environment(tmp_path / "env")
    (tmp_path / "tools").symlink_to(script.parent)
    assert run(shell, tmp_path / "tools" / "mnemonctl") == started


def test_sources_that_are_installed_editable_are_found(tmp_path: Path, shell: list[str]) -> None:
    script, started = environment(tmp_path / "env")
    packages = tmp_path / "env" / "lib" / "python3.11" / "site-packages"
    (packages / "mnemonctl" / "fast.py").unlink()
    sources = packages_in(tmp_path, " my sources ")
    (packages / "_editable_impl_mnemond.pth").write_text(f"{sources}\n{sources}")
    assert run(shell, script) == [*started[:-1], str(sources)]


# ------------------------------------------------------------------ other installations


@pytest.mark.parametrize(
    ("packages", "python"),
    [
        ("local/lib/python3.11/site-packages", "python3.11"),
        ("local/lib/python3.13t/site-packages", "python3.13t"),
        ("local/lib64/python3.12/site-packages", "python3.12"),
        ("local/lib/python3.12/dist-packages", "python3.12"),
        ("local/lib/python3/dist-packages", "python3"),
        ("Library/Python/3.12/lib/python/site-packages", "python3.12"),
    ],
)
def test_without_a_python_beside_it_the_one_of_that_version_runs(
    tmp_path: Path, shell: list[str], packages: str, python: str
) -> None:
    directory = packages_in(tmp_path, packages)
    script = script_in(tmp_path / packages.partition("/lib")[0])
    found = executable(tmp_path / "usr" / python, FAKE_PYTHON)
    started = run(shell, script, "list", path=f"{found.parent}:/usr/bin:/bin")
    assert started == [str(found), "-EPS", "-c", CODE, str(directory), "list"]


def test_of_two_pythons_the_newer_one_that_is_there_runs(tmp_path: Path, shell: list[str]) -> None:
    script = script_in(tmp_path)
    for version in ("3.11", "3.12", "3.99"):
        packages_in(tmp_path, f"lib/python{version}/site-packages")
    for version in ("3.11", "3.12"):
        executable(tmp_path / "bin" / f"python{version}", FAKE_PYTHON)
    assert run(shell, script)[0] == str(tmp_path / "bin" / "python3.12")


def test_an_unknown_layout_is_left_to_an_ordinary_python(tmp_path: Path, shell: list[str]) -> None:
    script = script_in(tmp_path)
    on_path = executable(tmp_path / "usr" / "python3", FAKE_PYTHON)
    path = f"{on_path.parent}:/usr/bin:/bin"
    assert run(shell, script, "list", path=path) == [str(on_path), "-c", PLAIN_CODE, "list"]
    beside = executable(tmp_path / "bin" / "python3", FAKE_PYTHON)
    assert run(shell, script, "list", path=path) == [str(beside), "-c", PLAIN_CODE, "list"]


def test_an_environment_whose_python_is_gone_uses_no_other(tmp_path: Path, shell: list[str]) -> None:
    script, started = environment(tmp_path)
    Path(started[0]).unlink()
    for name in ("python3", "python3.11"):
        executable(tmp_path / "usr" / name, FAKE_PYTHON)
    command = [shutil.which(shell[0]) or "", *shell[1:], str(script)]
    path = f"{tmp_path / 'usr'}:/usr/bin:/bin"
    done = subprocess.run(command, capture_output=True, check=False, timeout=30, env={"PATH": path})
    assert (done.returncode, done.stdout) == (127, b"")
    assert f"{tmp_path}/bin/python3".encode() in done.stderr


# ------------------------------------------------------------------ with a real Python


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The script in a virtual environment with the sources of this project, and the libraries of this environment."""
    prefix = tmp_path_factory.mktemp("script") / "it's é 100%"
    venv.EnvBuilder(symlinks=True).create(prefix)
    packages = prefix / "lib" / VERSION / "site-packages"
    (packages / "_editable_impl_mnemond.pth").write_text(str(ROOT), "utf-8")
    (packages / "libraries.pth").write_text(sysconfig.get_path("platlib"), "utf-8")
    return script_in(prefix)


def test_a_recall_is_answered_without_site(tmp_path: Path, real: Path) -> None:
    link = tmp_path / "mnemonctl"
    link.symlink_to(real)
    with fake_daemon(tmp_path, lambda _: line(3, "answer é\n", "note\n")):
        command = [str(link), "recall", "é", "--data-dir", str(tmp_path)]
        environ = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONVERBOSE": "1"}
        done = subprocess.run(command, capture_output=True, check=False, timeout=30, env=environ)
    assert (done.returncode, done.stdout.decode(), done.stderr.decode()) == (3, "answer é\n", "note\n")


def test_closed_standard_streams_are_no_problem(tmp_path: Path, real: Path) -> None:
    link = tmp_path / "mnemonctl"
    link.symlink_to(real)
    with fake_daemon(tmp_path, lambda _: line(0, "nobody reads this")) as served:
        closed = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", str(link), "list", "--data-dir", str(tmp_path)]
        assert subprocess.run(closed, check=False, timeout=30).returncode == 74
    assert len(served.messages) == 1


@pytest.mark.parametrize("words", [["version"], ["recall"], ["daemon", "status"]])
def test_what_needs_libraries_finds_them(tmp_path: Path, real: Path, words: list[str]) -> None:
    (tmp_path / "msgspec.py").write_text("raise SystemExit('the wrong one')\n")
    command = [str(real), "--json", "--data-dir", str(tmp_path), *words]
    done = subprocess.run(command, capture_output=True, check=False, timeout=60, cwd=tmp_path)
    assert done.stderr == b"" if words != ["recall"] else b'"error"' in done.stderr
    assert done.returncode == {"version": 0, "recall": 2, "daemon": 69}[words[0]]


def test_libraries_come_from_where_site_has_them_or_last(tmp_path: Path, real: Path) -> None:
    python = str(real.with_name("python3"))
    (tmp_path / "mnemonctl").symlink_to(ROOT / "mnemonctl")
    (tmp_path / "plistlib.py").touch()
    program = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); from mnemonctl import fast; fast.add_site_packages()\n"
        "fast.add_site_packages(); import plistlib; print(*sys.path, plistlib.__file__, sep='\\n')"
    )
    for packages, last in ((str(ROOT), False), (str(tmp_path), True)):
        done = subprocess.run([python, "-EPS", "-c", program, packages], capture_output=True, check=True, timeout=30)
        *entries, standard = done.stdout.decode().splitlines()
        assert entries.count(packages) == 1
        assert (entries[-1] == packages) is last
        assert Path(standard).parent != tmp_path


# ------------------------------------------------------------------ how it travels


def test_it_is_installed_as_it_is_and_not_as_an_entry_point() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    targets = project["tool"]["hatch"]["build"]["targets"]
    assert targets["wheel"]["shared-scripts"] == {"mnemonctl/launcher/mnemonctl": "mnemonctl"}
    assert "mnemonctl" in targets["sdist"]["include"]
    assert set(project["project"]["scripts"]) == {"mnemond"}
    assert SCRIPT.read_bytes().startswith(b"#!/bin/sh\n")
    assert os.access(SCRIPT, os.X_OK)


def test_hooks_start_a_daemon_by_the_same_words() -> None:
    text = SCRIPT.read_text("utf-8")
    assert f"'{CODE}'" in text
    assert f"'{PLAIN_CODE}'" in text
    assert own_files.start_command(Path("/x"))[1:5] == ("-EPS", "-c", CODE, str(ROOT))
