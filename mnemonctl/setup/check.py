"""What `mnemonctl doctor` says of agents' programs: is ours in them, unchanged, trusted, switched on, and only once.

Looks, and changes nothing. A host's own program is asked only where something of ours is installed in it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from mnemonctl.setup import files, plan
from mnemonctl.setup.host import Host, SetupEnvironment
from mnemonctl.setup.plan import HostRecord, Plan, entries, plan_of
from mnemond.api.types_admin import CheckView, HostView, ProblemView
from mnemond.errors import MnemonError


class Agents(msgspec.Struct, frozen=True):
    """All of them, and a check for each."""

    hosts: list[HostView] = []
    checks: list[CheckView] = []


def check_agents(place: SetupEnvironment, seen: Mapping[str, str] | None = None) -> Agents:
    """Look at every host that is here or was set up; `seen`: when each called a running daemon last (RFC 3339), None
    when there is no daemon to know it. Raises nothing."""
    try:
        records = plan.read(place.directory).hosts
    except MnemonError as error:
        return Agents(checks=[_problem("setup", error.message, place.directory / plan.NAME, error.hint)])
    found = [(host, records.get(host.name)) for host in plan.hosts(place).values()]
    looked = [_look(place, host, record) for host, record in found if record is not None or host.found() is not None]
    programs = [_programs(place)] if any(view.installed for view, _ in looked) else []
    return Agents([_with_call(view, seen) for view, _ in looked], [*(_told(*each, seen) for each in looked), *programs])


def _with_call(view: HostView, seen: Mapping[str, str] | None) -> HostView:
    return msgspec.structs.replace(view, last_seen=(seen or {}).get(view.host))


def _told(view: HostView, check: CheckView, seen: Mapping[str, str] | None) -> CheckView:
    """The check, and whether what is set up was ever heard of: nothing else shows that its hooks run."""
    if seen is None or not view.installed or check.problems:
        return check
    last = seen.get(view.host)
    said = "no hook of it has called since the daemon started" if last is None else f"last called at {last[:19]}Z"
    return msgspec.structs.replace(check, detail=f"{check.detail}; {said}")


def _look(place: SetupEnvironment, host: Host, record: HostRecord | None) -> tuple[HostView, CheckView]:
    name = host.name
    try:
        if record is None and not _stands(place, host):
            view = HostView(host=name, title=host.title, installed=False)
            return view, _fine(
                name, f"{host.title} is here; mnemonctl setup --target {name} would tell it about mnemond"
            )
        plan = plan_of(host, place.ours)
    except MnemonError as error:
        installed = record is not None
        view = HostView(host=name, title=host.title, installed=installed, unmodified=False if installed else None)
        return view, _problem(name, error.message, host.title, error.hint) if installed else _fine(name, error.message)
    view = HostView(
        host=name,
        title=host.title,
        installed=True,
        unmodified=not (plan.changes or plan.own or plan.commands),
        untrusted=host.untrusted(),
        switched_off=host.switched_off(),
        duplicates=host.duplicates(),
    )
    return view, _judged(host, view, plan)


def _stands(place: SetupEnvironment, host: Host) -> bool:
    """Whether something of ours is there though nothing was recorded. Raises MnemonError."""
    registration = host.registration()
    return any(entries(each, place.ours) for each in host.settings()) or (
        registration is not None and registration.is_known()
    )


def _judged(host: Host, view: HostView, plan: Plan) -> CheckView:
    again = f"mnemonctl setup --target {host.name}"
    problems = [ProblemView("our entries are not as they were set up", str(each.path), again) for each in plan.changes]
    problems += [ProblemView("a file of ours is missing or changed", str(own.path), again) for own in plan.own]
    problems += [ProblemView("it does not know ours", host.title, " ".join(command)) for command in plan.commands]
    if view.untrusted:
        what = f"{host.title} does not run hooks that are not approved: {', '.join(view.untrusted)}"
        problems.append(ProblemView(what, host.title, "approve them in it: /hooks"))
    problems += [ProblemView(each, host.title, "remove one of the two") for each in view.duplicates]
    if problems:
        return CheckView(name=host.name, ok=False, state="problem", detail=problems[0].what, problems=problems)
    if view.switched_off:
        detail = f"set up, but {'; '.join(view.switched_off)}"
        return CheckView(name=host.name, ok=True, state="note", detail=detail)
    return _fine(host.name, f"{host.title} is set up, as it was left")


def _programs(place: SetupEnvironment) -> CheckView:
    """The launchers are there, and so is what runs them."""
    name, again = "launchers", "mnemonctl setup"
    for file in files.files(place.directory):
        line = _first_line(_read(file.path))
        if not line:
            return _problem(name, "a program that hosts run is missing", file.path, again)
        if not os.access(file.path, os.X_OK) or (line != "/bin/sh" and not os.access(line, os.X_OK)):
            return _problem(name, f"a program that hosts run cannot be run (its interpreter: {line})", file.path, again)
        if not file.is_there():
            return CheckView(name=name, ok=True, state="note", detail=f"{file.path} is of another release: {again}")
    return _fine(name, "both programs that hosts run are there")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _first_line(content: bytes) -> str:
    """The interpreter that a program names."""
    words = content.split(b"\n", 1)[0].removeprefix(b"#!").split()
    return os.fsdecode(words[0]) if words else ""


def _fine(name: str, detail: str) -> CheckView:
    return CheckView(name=name, ok=True, state="ok", detail=detail)


def _problem(name: str, what: str, where: object, next_: str | None) -> CheckView:
    found = ProblemView(what, str(where), next_ or "mnemonctl setup")
    return CheckView(name=name, ok=False, state="problem", detail=what, problems=[found])
