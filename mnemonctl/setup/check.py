"""Checks of `mnemonctl doctor` for hosts: ours is in them, unchanged, trusted, switched on, and only once.

Changes nothing. A host's own program is run only if something of ours is installed in it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec

from mnemonctl.setup import own_files, record
from mnemonctl.setup.environment import SetupEnvironment
from mnemonctl.setup.host import Host, all_hosts
from mnemonctl.setup.plan import Plan, entries_in, plan_for
from mnemonctl.setup.record import HostRecord
from mnemond.api.types_daemon import CheckView, HostView, ProblemView
from mnemond.errors import MnemonError


class Agents(msgspec.Struct, frozen=True):
    """All hosts, and a check for each."""

    hosts: list[HostView] = []
    checks: list[CheckView] = []


def check_agents(environment: SetupEnvironment, seen: Mapping[str, str] | None = None) -> Agents:
    """Check every host that is installed or was set up. Raises nothing.

    `seen`: last call of each host to the running daemon (RFC 3339); None without a daemon.
    """
    try:
        records = record.read(environment.directory).hosts
    except MnemonError as error:
        return Agents(checks=[_problem("setup", error.message, environment.directory / record.NAME, error.hint)])
    hosts, checks = [], []
    for host in all_hosts(environment).values():
        recorded = records.get(host.name)
        if recorded is None and host.found() is None:
            continue
        view, check = _check(environment, host, recorded)
        hosts.append(msgspec.structs.replace(view, last_seen=(seen or {}).get(host.name)))
        if seen is not None and view.installed and not check.problems:  # nothing else shows that its hooks run
            last = seen.get(host.name)
            call = f"last called at {last[:19]}Z" if last else "no hook of it has called since the daemon started"
            check = msgspec.structs.replace(check, detail=f"{check.detail}; {call}")
        checks.append(check)
    if any(view.installed for view in hosts):
        checks.append(_check_launchers(environment))
    return Agents(hosts, checks)


def _check(environment: SetupEnvironment, host: Host, recorded: HostRecord | None) -> tuple[HostView, CheckView]:
    name = host.name
    try:
        if recorded is None and not _has_ours(environment, host):
            view = HostView(host=name, title=host.title, installed=False)
            return view, _fine(name, f"{host.title} is here; mnemonctl setup --target {name} adds mnemond to it")
        plan = plan_for(host, environment.ours, ask=True)
    except MnemonError as error:
        installed = recorded is not None
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
    return view, _judge(host, view, plan)


def _has_ours(environment: SetupEnvironment, host: Host) -> bool:
    registration = host.registration()
    return any(entries_in(each, environment.ours) for each in host.settings()) or (
        registration is not None and registration.is_known()
    )


def _judge(host: Host, view: HostView, plan: Plan) -> CheckView:
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
    return _fine(host.name, f"{host.title} is set up, and unchanged since")


def _check_launchers(environment: SetupEnvironment) -> CheckView:
    name, again = "launchers", "mnemonctl setup"
    for file in own_files.launcher_files(environment.directory):
        try:
            words = file.path.read_bytes().split(b"\n", 1)[0].removeprefix(b"#!").split()
        except OSError:
            words = []
        if not words:
            return _problem(name, "a program that hosts run is missing", file.path, again)
        interpreter = os.fsdecode(words[0])
        if not os.access(file.path, os.X_OK) or not os.access(interpreter, os.X_OK):
            what = f"a program that hosts run cannot be run (its interpreter: {interpreter})"
            return _problem(name, what, file.path, again)
        if not file.is_there():
            return CheckView(name=name, ok=True, state="note", detail=f"{file.path} is of another release: {again}")
    return _fine(name, "both programs that hosts run are there")


def _fine(name: str, detail: str) -> CheckView:
    return CheckView(name=name, ok=True, state="ok", detail=detail)


def _problem(name: str, what: str, where: object, next_: str | None) -> CheckView:
    found = ProblemView(what, str(where), next_ or "mnemonctl setup")
    return CheckView(name=name, ok=False, state="problem", detail=what, problems=[found])
