"""`mnemonctl daemon …`: start, stop, restart, status, run, install and uninstall."""

from __future__ import annotations

import errno
import os
import shlex
from collections.abc import Mapping
from pathlib import Path

import msgspec

from mnemonctl import daemon, rpc, service
from mnemonctl.daemon import Running
from mnemonctl.service import State, Supervisor, UnitFile
from mnemond.api.types_daemon import CliRunResult
from mnemond.cli.admin import InstallOptions
from mnemond.cli.grammar import Output
from mnemond.cli.output import duration, neutralise, one_line
from mnemond.errors import INTERNAL, INVALID_PARAMS, UNREACHABLE, MnemonError
from mnemond.wire.params import plural


def run(name: str, directory: Path, options: Mapping[str, object], output: Output) -> CliRunResult:
    """Run one of these commands. Raises MnemonError."""
    wait = float(str(options.get("wait", daemon.start_wait(os.environ))))
    match name.removeprefix("daemon "):
        case "start":
            before = daemon.probe(directory, wait) if directory.is_dir() else None  # systemd may have to start it first
            running = before or daemon.start(directory, wait)
            return _running(output, running, "runs already" if before else "started")
        case "restart":
            return _running(output, daemon.restart(directory, wait), "restarted")
        case "stop":
            return _stop(directory, output)
        case "status":
            return status(directory, output)
        case "install" | "uninstall" as action:
            return run_service(action, directory, wait, msgspec.convert(options, InstallOptions), output)
        case _:
            raise run_in_foreground(directory)


def _running(output: Output, running: Running, status: str) -> CliRunResult:
    facts: dict[str, object] = {"status": status, "pid": running.pid, "version": running.version}
    return _result(output, facts, f"mnemond {one_line(running.version)} {status} (pid {running.pid})\n")


def _stop(directory: Path, output: Output) -> CliRunResult:
    pid = daemon.stop(directory)
    if (supervisor := service.installed_supervisor(directory)) is not None:
        supervisor.stop()  # with its socket, or the next request would start it again
    facts: dict[str, object] = {"status": "not running" if pid is None else "stopped", "pid": pid}
    return _result(output, facts, "no daemon was running\n" if pid is None else f"mnemond stopped (pid {pid})\n")


def _result(output: Output, facts: dict[str, object], text: str, exit_code: int = 0) -> CliRunResult:
    return CliRunResult(exit_code, False, output.json(facts) if output.form == "json" else text, "")


def run_in_foreground(directory: Path) -> MnemonError:
    """Replace this process by the daemon. Returns the error if that fails."""
    arguments = service.daemon_command(directory)
    try:
        os.execv(arguments[0], arguments)  # noqa: S606 - see `service.daemon_command`
    except OSError as error:
        code = errno.errorcode.get(error.errno or 0, "unknown error")
        return MnemonError(INTERNAL, f"cannot run {arguments[0]}: {error.strerror} ({code})")


# ------------------------------------------------------------------ status


class _Named(msgspec.Struct):
    name: str


class _Stores(msgspec.Struct):
    stores: list[_Named]
    active: str


class _Uptime(msgspec.Struct):
    uptime_s: float


def status(directory: Path, output: Output) -> CliRunResult:
    """Show the running daemon; exit status 69 if there is none."""
    path = rpc.socket_path(directory)
    facts: dict[str, object] = {"running": False, "socket": str(path), "data_dir": str(directory)}
    running = daemon.probe(directory)
    if running is None:
        return _result(output, facts, f"no daemon is running ({one_line(str(path))})\n", UNREACHABLE.exit)
    stores, uptime = _stores_and_uptime(directory)
    facts |= {"running": True, "pid": running.pid, "version": running.version, "protocol": running.protocol}
    facts |= {"uptime_s": uptime, "stores": stores}
    up = "" if uptime is None else f", up {duration(uptime)}"
    names = ": " + ", ".join(one_line(name) for name in stores) if stores else ""
    text = (
        f"mnemond {one_line(running.version)} runs (pid {running.pid}{up})\n"
        f"  socket  {one_line(str(path))}\n"
        f"  stores  {plural(len(stores), 'store')}{names}\n"
    )
    return _result(output, facts, text)


def _stores_and_uptime(directory: Path) -> tuple[list[str], float | None]:
    """Return the names of the stores and the uptime in seconds; None if reading that would create a store."""
    found = rpc.call(directory, "store.list", {}, _Stores)
    names = [store.name for store in found.stores]
    if found.active not in names:
        return names, None
    return names, rpc.call(directory, "status", {"store": found.active}, _Uptime).uptime_s


# ------------------------------------------------------------------ install, uninstall

STATES: Mapping[State, str] = {
    "missing": "new",
    "same": "unchanged",
    "older": "of another version, replaced",
    "edited": "changed since it was installed",
    "foreign": "not made by mnemonctl",
}

KEEPS_RUNNING = {
    "systemd": "It stops when you log out, unless: loginctl enable-linger",
    "launchd": "It stops when you log out.",
}


def run_service(action: str, directory: Path, wait: float, options: InstallOptions, output: Output) -> CliRunResult:
    """Run `install` or `uninstall`. Raises MnemonError."""
    supervisor = service.platform_supervisor(directory)
    if action == "install":
        facts, lines = _install(supervisor, directory, wait, options)
    else:
        facts, lines = _uninstall(supervisor, options)
    facts = {"manager": supervisor.name, "unit": supervisor.unit, **facts}
    return _result(output, facts, "\n".join([*lines, ""]))


Shown = tuple[dict[str, object], list[str]]
"""Fields of the JSON output, and lines of text."""


def _install(supervisor: Supervisor, directory: Path, wait: float, options: InstallOptions) -> Shown:
    files = supervisor.files(sandbox=options.sandbox)
    states = {file.path: file.state() for file in files}
    if options.dry_run:
        return _install_preview(supervisor, files, states)
    _check_ours(states, options, "overwrite")
    if (error := supervisor.unavailable()) is not None:
        raise error
    with daemon.starting(directory, wait + daemon.STOP_S):
        daemon.check(directory)
        changed = [file for file in files if states[file.path] != "same"]
        if changed or not supervisor.active():
            supervisor.stop()
            daemon.end(directory)  # one that was started otherwise holds the lock
        for file in changed:
            file.write()
        supervisor.enable()
        running = daemon.probe(directory, wait)
    if running is None:
        raise MnemonError(UNREACHABLE, f"{supervisor.name} started mnemond, but no daemon answers in {directory}")
    return {"status": "installed", "pid": running.pid, "files": _listed(states)}, [
        f"mnemond runs as a service of {supervisor.name}: {supervisor.unit} (pid {running.pid})",
        *(f"  {one_line(str(path))} ({STATES[state]})" for path, state in states.items()),
        KEEPS_RUNNING[supervisor.name],
    ]


def _install_preview(supervisor: Supervisor, files: list[UnitFile], states: Mapping[Path, State]) -> Shown:
    commands = supervisor.commands()
    texts = [{**listed, "text": file.text} for listed, file in zip(_listed(states), files, strict=True)]
    return {"status": "dry run", "files": texts, "commands": commands}, [
        *(f"# {one_line(str(file.path))}: {STATES[states[file.path]]}\n{neutralise(file.text)}" for file in files),
        "# then:",
        *(one_line(shlex.join(line)) for line in commands),
    ]


def _uninstall(supervisor: Supervisor, options: InstallOptions) -> Shown:
    files = supervisor.files(sandbox=options.sandbox)
    states = {file.path: state for file in files if (state := file.state()) != "missing"}
    if not states:
        return {"status": "not installed", "files": []}, ["there was no service of mnemond"]
    if options.dry_run:
        lines = [f"would remove {one_line(str(path))}: {STATES[state]}" for path, state in states.items()]
        return {"status": "dry run", "files": _listed(states)}, lines
    _check_ours(states, options, "remove")
    supervisor.disable()
    for file in files:
        file.remove()
    supervisor.after_removal()
    removed = [str(path) for path in states]
    lines = [f"{supervisor.unit} is no service of {supervisor.name} any more; removed:"]
    return {"status": "uninstalled", "files": removed}, [*lines, *(f"  {one_line(path)}" for path in removed)]


def _check_ours(states: Mapping[Path, State], options: InstallOptions, verb: str) -> None:
    """Raise MnemonError if a file was changed or not made by mnemonctl, and --force is not given."""
    kept = [f"{path} is {STATES[state]}" for path, state in states.items() if state in ("edited", "foreign")]
    if kept and not options.force:
        hint = f"Look at it; with --force mnemonctl will {verb} it. Changes of your own belong in a drop-in."
        raise MnemonError(INVALID_PARAMS, f"{'; '.join(kept)}; nothing was done", hint=hint)


def _listed(states: Mapping[Path, State]) -> list[dict[str, object]]:
    return [{"path": str(path), "state": state} for path, state in states.items()]
