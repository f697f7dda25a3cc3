"""`mnemonctl setup`: who is to be set up, whether the user agrees, and what came of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from mnemonctl import fast
from mnemonctl import files as mnemonctl_files
from mnemonctl.setup import files as setup_files
from mnemonctl.setup import install
from mnemonctl.setup import plan as plan_module
from mnemonctl.setup.host import Host, SetupEnvironment
from mnemonctl.setup.hosts import simple
from mnemonctl.setup.plan import (
    Chosen,
    CommandReport,
    Failure,
    FileReport,
    FileState,
    HostRecord,
    HostReport,
    Plan,
    Report,
    Status,
    plan_of,
    render,
)
from mnemond.api.types_admin import CliRunResult
from mnemond.cli.admin import SetupOptions
from mnemond.cli.grammar import Output
from mnemond.cli.output import Style
from mnemond.errors import BUSY, INVALID_PARAMS, STORAGE, MnemonError

LOCK: Final = "setup.lock"
CANCELLED: Final = 130
"""Exit status when the user does not agree, as when they interrupt."""

_STATES: Final[dict[setup_files.State, FileState]] = {
    "created": "created", "updated": "changed", "unchanged": "unchanged", "kept": "kept",
}  # fmt: skip

Ask = Callable[[str], bool]
"""Shows what would be done and asks whether to do it."""


def run_here(
    directory: Path, options: Mapping[str, object], output: Output, environ: Mapping[str, str]
) -> CliRunResult:
    """Run `mnemonctl setup` for this user, who is asked if this is a terminal. Raises MnemonError."""
    chosen = msgspec.convert(options, SetupOptions)
    if options.get("readonly") and not chosen.dry_run:
        message = "setup writes, and --readonly was given; nothing was written"
        raise MnemonError(STORAGE, message, hint="--dry-run shows what it would do", outcome="rejected")
    on_terminal = os.isatty(0) and os.isatty(2)
    return run(SetupEnvironment.of_user(directory, environ), chosen, output, confirm if on_terminal else None)


def confirm(text: str) -> bool:
    """Show what would be done and wait for an answer; anything but yes is no."""
    fast.write(2, f"{text}\nDo this? [y/N] ".encode("utf-8", "backslashreplace"))
    answer = os.read(0, 1000)
    return answer.strip().lower() in (b"y", b"yes")


def run(place: SetupEnvironment, options: SetupOptions, output: Output, ask: Ask | None) -> CliRunResult:
    """Set up, or take back; `ask` is None where nobody can be asked. Raises MnemonError for what concerns all hosts;
    what concerns one is in the report, and the exit status is then that of the first such error."""
    chosen = Chosen.by(place, options.target, eject=options.eject)
    run = _Run(place, options, chosen)
    report = run.eject(ask) if options.eject else run.install(ask)
    said = output.json(report) if output.form == "json" else render(report, output.style)
    return CliRunResult(run.exit, False, said, "")


@contextmanager
def _locked(place: SetupEnvironment) -> Iterator[None]:
    """One at a time. Raises MnemonError(BUSY)."""
    mnemonctl_files.make_private(place.directory)
    with mnemonctl_files.private_file(place.directory / LOCK) as descriptor:
        if not mnemonctl_files.try_lock(descriptor):
            raise MnemonError(BUSY, "another mnemonctl setup is at work", hint="run it again when that has ended")
        yield


class _Run:
    """One command over all chosen hosts; one that fails does not keep the others from being done."""

    def __init__(self, place: SetupEnvironment, options: SetupOptions, chosen: Chosen) -> None:
        self.exit = 0
        self._place = place
        self._options = options
        self._chosen = chosen
        self._record = plan_module.read(place.directory)

    def _failed(self, host: Host, error: MnemonError) -> HostReport:
        self.exit = self.exit or error.kind.exit
        failure = Failure(error.message, error.hint)
        return HostReport(target=host.name, title=host.title, found=host.found(), state="failed", error=failure)

    def _host(self, host: Host) -> HostRecord:
        return self._record.hosts.setdefault(host.name, HostRecord())

    def _agreed(self, ask: Ask | None, preview: Report) -> bool:
        """Whether to go on. Raises MnemonError where nobody can be asked."""
        if self._options.yes:
            return True
        if ask is None:
            message = "somebody has to agree to what would be changed, and nobody can be asked here"
            raise MnemonError(INVALID_PARAMS, message, hint="--dry-run shows it, --yes agrees")
        if ask(render(preview, Style())):
            return True
        self.exit = CANCELLED
        return False

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """While nobody else is, with the record as it is then. Raises MnemonError."""
        with _locked(self._place):
            self._record = plan_module.read(self._place.directory)
            yield

    # ------------------------------------------------------------------ install

    def install(self, ask: Ask | None) -> Report:
        """Set up every chosen host."""
        plans: dict[str, Plan] = {}
        failed: dict[str, HostReport] = {}
        for host in self._chosen.hosts:
            try:
                plans[host.name] = plan_of(host, self._place.ours)
            except MnemonError as error:
                failed[host.name] = self._failed(host, error)
        own = self._own_files()
        text = simple.text(self._place) if self._chosen.generic else None
        preview = [failed.get(host.name) or _planned(host, plans[host.name]) for host in self._chosen.hosts]
        report = Report(status="dry run", targets=preview, own=own, text=text)
        if self._options.dry_run:
            return report
        waiting = self._own_is_waiting() or not all(each.is_empty for each in plans.values())
        if not waiting:
            done = self._install_all(plans, failed)
        elif self._agreed(ask, report):
            with self._at_work():
                self._write_own()
                done = self._install_all(plans, failed)
        else:
            return msgspec.structs.replace(report, status="cancelled")
        programs = [str(file.path) for file in setup_files.files(self._place.directory)]
        status: Status = "failed" if self.exit else "installed" if waiting else "unchanged"
        return msgspec.structs.replace(report, status=status, targets=done, launchers=programs)

    def _install_all(self, plans: Mapping[str, Plan], failed: Mapping[str, HostReport]) -> list[HostReport]:
        return [failed.get(host.name) or self._install(host, plans[host.name]) for host in self._chosen.hosts]

    def _install(self, host: Host, plan: Plan) -> HostReport:
        try:
            return install.apply(host, plan, self._place.ours, self._host(host), self._place.environ)
        except MnemonError as error:
            return self._failed(host, error)
        finally:
            plan_module.write(self._place.directory, self._record)

    def _own_files(self) -> list[FileReport]:
        """What is to be done about our own files."""
        programs: list[FileReport] = []
        for file in setup_files.files(self._place.directory):
            state: FileState = "unchanged" if file.is_there() else "changed" if file.path.exists() else "created"
            programs.append(FileReport(str(file.path), state))
        prompts = setup_files.planned(self._place.directory, self._record.prompts)
        return programs + [FileReport(str(each.path), _STATES[each.state]) for each in prompts]

    def _own_is_waiting(self) -> bool:
        """Whether any of them is to be written."""
        directory = self._place.directory
        programs = all(file.is_there() for file in setup_files.files(directory))
        return not programs or setup_files.is_waiting(directory, self._record.prompts)

    def _write_own(self) -> None:
        for file in setup_files.files(self._place.directory):
            if not file.is_there():
                file.write()
        setup_files.install(self._place.directory, self._record.prompts)
        plan_module.write(self._place.directory, self._record)

    # ------------------------------------------------------------------ eject

    def eject(self, ask: Ask | None) -> Report:
        """Take back what was done for every chosen host; for all of them, our own files as well."""
        preview = [self._eject(host, dry_run=True) for host in self._chosen.hosts]
        report = Report(status="dry run", targets=preview)
        if self._options.dry_run:
            return report
        if any(each.state != "absent" for each in preview) and not self._agreed(ask, report):
            return msgspec.structs.replace(report, status="cancelled")
        self.exit = 0
        with self._at_work():
            done = [self._eject(host, dry_run=False) for host in self._chosen.hosts]
            gone = [] if self._options.target or self.exit else self._remove_own()
        nothing = not gone and all(each.state == "absent" for each in done)
        status: Status = "failed" if self.exit else "unchanged" if nothing else "removed"
        return Report(status=status, targets=done, own=gone)

    def _eject(self, host: Host, *, dry_run: bool) -> HostReport:
        try:
            return install.eject(host, self._place.ours, self._host(host), self._place.environ, dry_run=dry_run)
        except MnemonError as error:
            return self._failed(host, error)
        finally:
            if not dry_run:
                plan_module.write(self._place.directory, self._record)

    def _remove_own(self) -> list[FileReport]:
        programs = [file for file in setup_files.files(self._place.directory) if file.path.exists()]
        for file in programs:
            file.remove()
        setup_files.remove_empty({file.path.parent for file in programs})
        prompts = setup_files.remove_prompt_files(self._place.directory, self._record.prompts)
        self._record.prompts.clear()
        plan_module.write(self._place.directory, self._record)
        return [FileReport(str(path), "removed") for path in (*(file.path for file in programs), *prompts)]


def _planned(host: Host, plan: Plan) -> HostReport:
    """What would be done for one host."""
    files = [
        FileReport(str(each.path), "created" if each.file.content is None else "changed", diff=each.diff())
        for each in plan.changes
    ]
    return HostReport(
        target=host.name,
        title=host.title,
        found=host.found(),
        state="unchanged" if plan.is_empty else "planned",
        files=files + [FileReport(str(own.path), "created") for own in plan.own],
        commands=[CommandReport(command, "planned") for command in plan.commands],
    )
