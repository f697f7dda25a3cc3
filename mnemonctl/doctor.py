"""`mnemonctl doctor`: asks the daemon about its stores if one runs, and looks at files itself."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from mnemonctl import fast, rpc, surroundings
from mnemonctl.agents import place_of
from mnemonctl.setup import examination
from mnemonctl.setup.examination import Agents
from mnemonctl.surroundings import Facts, fine, note, problem
from mnemond.commands.doctor import render
from mnemond.commands.output import Output
from mnemond.errors import MnemonError
from mnemond.handlers.doctor import view
from mnemond.protocol.daemon import CliRunResult
from mnemond.protocol.doctor import CheckView, DoctorResult, VerifyResult
from mnemond.store import names
from mnemond.store.active import ActiveName
from mnemond.store.invariants.examination import closed

UNSOUND = 1
"""Exit status when there is a problem."""


class Options(msgspec.Struct, frozen=True):
    """What was typed."""

    store: str | None = None
    all: bool = False
    full: bool = False
    salvage: bool = False


class _Job(msgspec.Struct):
    name: str
    error: str | None = None


class _Jobs(msgspec.Struct):
    jobs: list[_Job]


def carry_out(directory: Path, options: Options, output: Output, environ: Mapping[str, str]) -> CliRunResult:
    """Look at everything; exit status 1 when there is a problem. Raises MnemonError for a name that is none."""
    wanted = options.store or environ.get("MNEMON_STORE") or None
    chosen = None if wanted is None else names.check(wanted)
    if options.salvage:
        from mnemonctl import salvage

        return salvage.carry_out(directory, chosen or ActiveName(directory, lambda _: None).resolve()[0], output)
    facts = surroundings.facts_of(directory, environ) if directory.is_dir() else None
    checks = _nothing_there(directory) if facts is None else examined(facts, chosen, options)
    running = None if facts is None else facts.running
    seen = None if running is None else {name: each.last_event_at for name, each in running.hosts.items()}
    agents = examination.of(place_of(directory, environ), seen) if environ.get("HOME") else Agents()
    checks += agents.checks
    result = DoctorResult(
        ok=all(each.ok for each in checks),
        problems=sum(max(1, len(each.problems)) for each in checks if not each.ok),
        notes=sum(each.state == "note" for each in checks),
        checks=checks,
        hosts=agents.hosts,
    )
    text = output.json(result) if output.form == "json" else render(result, output.style)
    return CliRunResult(0 if result.ok else UNSOUND, False, text, "")


def _nothing_there(directory: Path) -> list[CheckView]:
    return [note("data_dir", f"{directory} is not there yet: nothing was ever stored in it")]


def examined(facts: Facts, store: str | None, options: Options) -> list[CheckView]:
    """Every check, those of the surroundings first."""
    found = [check(facts) for check in surroundings.CHECKS]
    if facts.running is None:
        found.append(note("daemon", "none answers: what it would have in memory was not compared with the database"))
    for name in _stores(facts.directory, store, everyone=options.all):
        found += _store(facts, name, full=options.full)
    return found


def _stores(directory: Path, store: str | None, *, everyone: bool) -> list[str]:
    if everyone:
        found = (path.parent.name for path in directory.glob(f"data/*/{surroundings.DATABASE}"))
        return sorted(filter(names.is_valid, found))
    return [store or ActiveName(directory, lambda _: None).resolve()[0]]


def _store(facts: Facts, name: str, *, full: bool) -> list[CheckView]:
    there = facts.directory.parent.resolve() / facts.directory.name  # as the daemon does: SQLite follows no link
    path = there / "data" / name / surroundings.DATABASE
    if not path.is_file():
        said = f'there is no store "{name}" yet'
        return [note("store", said) if name == names.DEFAULT else problem("store", said, path, "mnemonctl store list")]
    try:
        return _by_itself(path, name, full=full) if facts.running is None else _asked(facts, name, full=full)
    except MnemonError as error:
        return [problem("store", error.message, path, error.hint, store=name)]


def _by_itself(path: Path, name: str, *, full: bool) -> list[CheckView]:
    found = closed(path, "full" if full else "fast", time.time_ns() // 1000)
    return [view(name, finding) for finding in found]


def _asked(facts: Facts, name: str, *, full: bool) -> list[CheckView]:
    deadline = fast.PATIENT_S if full else fast.DEADLINE_S
    try:
        found = rpc.call(facts.directory, "verify", {"store": name, "full": full}, deadline, VerifyResult)
        return [*found.checks, *([_jobs(facts, name)] if found.open else [])]
    except OSError as error:
        raise rpc.unreachable(facts.directory, error) from None
    except fast.NoAnswer as error:
        raise rpc.silent(facts.directory, error, "verify") from None


def _jobs(facts: Facts, name: str) -> CheckView:
    listed = rpc.call(facts.directory, "jobs.list", {"store": name}, fast.DEADLINE_S, _Jobs).jobs
    failed = [f"{each.name}: {each.error}" for each in listed if each.error is not None]
    if failed:
        return problem("jobs", "; ".join(failed), f"{len(failed)} of {len(listed)} jobs", "mnemonctl jobs list", name)
    return msgspec.structs.replace(fine("jobs", f"{len(listed)} jobs, none failed"), store=name)
