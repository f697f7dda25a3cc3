"""`mnemonctl daemon install` and `daemon uninstall`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

import msgspec

from mnemonctl import daemon
from mnemonctl.service.supervisors import State, Supervisor, UnitFile, of_this_system
from mnemond.api.types_admin import CliRunResult
from mnemond.cli.grammar import Output
from mnemond.cli.output import neutralise, one_line
from mnemond.errors import INVALID_PARAMS, UNREACHABLE, MnemonError

WORDS: Mapping[State, str] = {
    "missing": "new",
    "same": "as it is",
    "older": "of another version, replaced",
    "edited": "changed by somebody",
    "foreign": "not made by mnemonctl",
}

KEEPS_RUNNING = {
    "systemd": "It stops when you log out, unless: loginctl enable-linger",
    "launchd": "It stops when you log out.",
}


class Options(msgspec.Struct, frozen=True):
    """What was typed."""

    dry_run: bool = False
    force: bool = False
    sandbox: bool = False


class Shown(msgspec.Struct, frozen=True):
    """Facts for programs, text for people."""

    facts: dict[str, object]
    text: str


def run(name: str, directory: Path, wait: float, options: Options, output: Output) -> CliRunResult:
    """`daemon install` or `daemon uninstall`. Raises MnemonError."""
    supervisor = of_this_system(directory)
    act = _install if name == "daemon install" else _uninstall
    shown = act(supervisor, directory, wait, options)
    facts = {"manager": supervisor.name, "unit": supervisor.unit, **shown.facts}
    return CliRunResult(0, False, output.json(facts) if output.form == "json" else shown.text, "")


# ------------------------------------------------------------------ install


def _install(supervisor: Supervisor, directory: Path, wait: float, options: Options) -> Shown:
    files = supervisor.files(sandbox=options.sandbox)
    states = {file.path: file.state() for file in files}
    if options.dry_run:
        return _dry_run(supervisor, files, states)
    _refuse(states, options, "overwrite")
    if (missing := supervisor.missing()) is not None:
        raise missing
    with daemon.starting(directory, wait + daemon.STOP_S):
        daemon.check(directory)
        fresh = [file for file in files if states[file.path] != "same"]
        if fresh or not supervisor.active():
            supervisor.stop()
            daemon.stop(directory)  # one that was started otherwise holds the lock
        for file in fresh:
            file.write()
        supervisor.enable()
        running = daemon.probe(directory, wait)
    if running is None:
        raise MnemonError(UNREACHABLE, f"{supervisor.name} started mnemond, but nobody listens in {directory}")
    facts = {"status": "installed", "pid": running.pid, "files": _listed(states)}
    head = f"mnemond runs as a service of {supervisor.name}: {supervisor.unit} (pid {running.pid})"
    return Shown(facts, "\n".join([head, *_lines(states), KEEPS_RUNNING[supervisor.name], ""]))


def _dry_run(supervisor: Supervisor, files: list[UnitFile], states: Mapping[Path, State]) -> Shown:
    commands = supervisor.commands()
    facts: dict[str, object] = {
        "status": "dry run",
        "files": [{**listed, "text": file.text} for listed, file in zip(_listed(states), files, strict=True)],
        "commands": commands,
    }
    parts = [f"# {one_line(str(file.path))}: {WORDS[states[file.path]]}\n{neutralise(file.text)}" for file in files]
    return Shown(facts, "\n".join([*parts, "# then:", *(one_line(shlex.join(line)) for line in commands), ""]))


def _refuse(states: Mapping[Path, State], options: Options, verb: str) -> None:
    """Raises MnemonError for files that are not ours to touch."""
    if options.force:
        return
    kept = [f"{path} is {WORDS[state]}" for path, state in states.items() if state in ("edited", "foreign")]
    if kept:
        hint = f"Look at it; with --force mnemonctl will {verb} it. Changes of your own belong in a drop-in."
        raise MnemonError(INVALID_PARAMS, f"{'; '.join(kept)}; nothing was done", hint=hint)


# ------------------------------------------------------------------ uninstall


def _uninstall(supervisor: Supervisor, directory: Path, wait: float, options: Options) -> Shown:
    del directory, wait
    files = supervisor.files(sandbox=options.sandbox)
    states = {file.path: state for file in files if (state := file.state()) != "missing"}
    if not states:
        return Shown({"status": "not installed", "files": []}, "there was no service of mnemond\n")
    if options.dry_run:
        lines = [f"would remove {one_line(str(path))}: {WORDS[state]}" for path, state in states.items()]
        return Shown({"status": "dry run", "files": _listed(states)}, "\n".join([*lines, ""]))
    _refuse(states, options, "remove")
    supervisor.disable()
    for file in files:
        file.remove()
    supervisor.forget()
    removed = [str(path) for path in states]
    lines = [f"  {one_line(path)}" for path in removed]
    text = "\n".join([f"{supervisor.unit} is no service of {supervisor.name} any more; removed:", *lines, ""])
    return Shown({"status": "uninstalled", "files": removed}, text)


def _listed(states: Mapping[Path, State]) -> list[dict[str, object]]:
    return [{"path": str(path), "state": state} for path, state in states.items()]


def _lines(states: Mapping[Path, State]) -> list[str]:
    return [f"  {one_line(str(path))} ({WORDS[state]})" for path, state in states.items()]
