"""`mnemonctl setup`: select hosts, show what would be done, ask, and set them up or take that back."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Final

import msgspec

from mnemonctl import fast, transcripts
from mnemonctl import files as private_files
from mnemonctl.setup import alias, install, own_files, record, shell
from mnemonctl.setup.environment import SetupEnvironment
from mnemonctl.setup.files import OwnFile, remove_empty
from mnemonctl.setup.host import Host, generic_text
from mnemonctl.setup.install import CommandReport, Failure, FileReport, FileState, HostReport, Report, Status, render
from mnemonctl.setup.plan import Plan, Selection, diff_of_own, expected_diffs, plan_for, select
from mnemonctl.setup.record import HostRecord
from mnemond.api.types_daemon import CliRunResult
from mnemond.cli.admin import SetupOptions
from mnemond.cli.grammar import Output
from mnemond.cli.output import Style
from mnemond.config import loading, prompt_texts
from mnemond.errors import BUSY, INVALID_PARAMS, STORAGE, MnemonError
from mnemond.interchange import sessions
from mnemond.wire.params import plural

LOCK: Final = "setup.lock"
CANCELLED: Final = 130
"""Exit status if the user does not agree, as for an interrupt."""

_STATES: Final[dict[own_files.State, FileState]] = {
    "created": "created", "updated": "changed", "unchanged": "unchanged", "kept": "kept",
}  # fmt: skip

Confirm = Callable[[str], bool]
"""Shows what would be done, and returns True if the user agrees."""


def run_here(
    directory: Path, options: Mapping[str, object], output: Output, environ: Mapping[str, str]
) -> CliRunResult:
    """Run the command for this user, who is asked if this is a terminal. Raises MnemonError."""
    typed = msgspec.convert(options, SetupOptions)
    if options.get("readonly") and not typed.dry_run:
        message = "setup writes, and --readonly was given; nothing was written"
        raise MnemonError(STORAGE, message, hint="--dry-run shows what it would do", outcome="rejected")
    on_terminal = os.isatty(0) and os.isatty(2)
    return run(SetupEnvironment.of_user(directory, environ), typed, output, confirm if on_terminal else None)


def confirm(text: str) -> bool:
    """Ask on the terminal; any answer but yes is no."""
    fast.write(2, f"{text}\nDo this? [y/N] ".encode("utf-8", "backslashreplace"))
    return os.read(0, 1000).strip().lower() in (b"y", b"yes")


def run(environment: SetupEnvironment, options: SetupOptions, output: Output, confirm: Confirm | None) -> CliRunResult:
    """Set up or eject; `confirm` is None without a terminal. Raises MnemonError for what concerns all hosts.

    An error of one host is in the report, and the exit status is that of the first.
    """
    command = _Command(environment, options, select(environment, options.target, eject=options.eject))
    report = command.eject(confirm) if options.eject else command.install(confirm)
    text = output.json(report) if output.form == "json" else render(report, output.style)
    return CliRunResult(command.exit, False, text, "")


def sessions_to_import(options: Mapping[str, object], output: Output, environ: Mapping[str, str]) -> list[str]:
    """Return the kinds of transcripts on this machine that the user wants to be read: asked for by an option or, on a
    terminal, by the answer to a question; otherwise it is said how."""
    typed = msgspec.convert(options, SetupOptions)
    if typed.dry_run or typed.eject:
        return []
    wanted = [each for each in sessions.KINDS if not typed.target or each.removesuffix(sessions.ENDING) in typed.target]
    places = {each: transcripts.place(each, environ) for each in wanted}
    found = {each: len(transcripts.files(each, place)) for each, place in places.items() if place.is_dir()}
    kinds = [each for each in wanted if found.get(each)]
    if typed.import_sessions or not kinds or output.form == "json":
        return kinds if typed.import_sessions else []
    counted = ", ".join(f"{transcripts.TITLES[each]} ({plural(found[each], 'session')})" for each in kinds)
    before = f"\nThere are transcripts of earlier sessions: {counted}.\n"
    if typed.yes or not (os.isatty(0) and os.isatty(2)):
        fast.write(2, f"{before}To read them: mnemonctl setup --import-sessions\n".encode())
        return []
    what = "Keep what was said in them, on this machine, with its dates and projects? `undo` takes it back."
    return kinds if confirm(f"{before}{what}") else []


class _Command:
    """One run over all selected hosts; if one fails, the others are still done."""

    def __init__(self, environment: SetupEnvironment, options: SetupOptions, selection: Selection) -> None:
        self.exit = 0
        self._environment = environment
        self._directory = environment.directory
        self._options = options
        self._selection = selection
        self._record = record.read(self._directory)

    def install(self, confirm: Confirm | None) -> Report:
        """Set up every selected host."""
        hosts = self._selection.hosts
        plans: dict[str, Plan] = {}
        failed: dict[str, HostReport] = {}
        for host in hosts:
            try:
                plans[host.name] = plan_for(host, self._environment.ours, ask=False)
            except MnemonError as error:
                failed[host.name] = self._failed(host, error)
        report = Report(
            status="dry run",
            targets=[failed.get(host.name) or _planned(host, plans[host.name]) for host in hosts],
            own=self._own_files(),
            text=generic_text(self._environment) if self._selection.generic else None,
            sends=self._sends(),
            notes=[*filter(None, [self._selection.note]), *alias.notes(self._environment, self._link())],
        )
        if self._options.dry_run:
            return report
        report.own = [
            msgspec.structs.replace(each, diff=None) for each in report.own
        ]  # our programs, hundreds of lines
        pending = self._own_is_pending() or not all(plan.is_empty for plan in plans.values())
        if pending and not self._confirmed(confirm, report):
            return msgspec.structs.replace(report, status="cancelled")
        with self._locked() if pending else nullcontext():
            if pending:
                self._write_own()
            done = [failed.get(host.name) or self._install(host, plans[host.name]) for host in hosts]
            if pending and not (self.exit or self._options.target):
                shell.install(self._environment, self._record.shell)
            if pending and not self.exit:
                alias.install(self._environment, self._record.alias, wanted=self._options.mnemon_alias)
                record.write(self._directory, self._record)
        programs = [str(file.path) for file in own_files.launcher_files(self._directory)]
        status: Status = "failed" if self.exit else "installed" if pending else "unchanged"
        return msgspec.structs.replace(report, status=status, targets=done, launchers=programs)

    def _sends(self) -> list[str]:
        """Return what the configuration sends where; nothing for one that cannot be used, which doctor reports."""
        with suppress(MnemonError):
            return loading.load(self._directory / loading.FILE, self._environment.environ).sends()
        return []

    def eject(self, confirm: Confirm | None) -> Report:
        """Take back what was done for every selected host; if that is all hosts, remove our own files as well."""
        preview = [self._eject(host, dry_run=True) for host in self._selection.hosts]
        report = Report(status="dry run", targets=preview)
        if self._options.dry_run:
            report.own = [] if self._options.target else self._removed_files()
            return report
        if any(each.state != "absent" for each in preview) and not self._confirmed(confirm, report):
            return msgspec.structs.replace(report, status="cancelled")
        self.exit = 0
        with self._locked():
            done = [self._eject(host, dry_run=False) for host in self._selection.hosts]
            removed = [] if self._options.target or self.exit else self._remove_own()
        nothing = not removed and all(each.state == "absent" for each in done)
        status: Status = "failed" if self.exit else "unchanged" if nothing else "removed"
        return Report(status=status, targets=done, own=removed)

    def _confirmed(self, confirm: Confirm | None, preview: Report) -> bool:
        """Return True if the user agrees. Raises MnemonError without a terminal."""
        if self._options.yes:
            return True
        if confirm is None:
            message = "confirmation needed, but this is not a terminal (use --yes)"
            raise MnemonError(INVALID_PARAMS, message, hint="--dry-run shows what would be changed")
        if confirm(render(preview, Style())):
            return True
        self.exit = CANCELLED
        return False

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock of one setup at a time; the record is read again. Raises MnemonError(BUSY)."""
        private_files.make_private(self._directory)
        with private_files.private_file(self._directory / LOCK) as descriptor:
            if not private_files.try_lock(descriptor):
                raise MnemonError(BUSY, "another mnemonctl setup is at work", hint="run it again when that has ended")
            self._record = record.read(self._directory)
            yield

    # ---------------------------------------------------------------- one host

    def _install(self, host: Host, plan: Plan) -> HostReport:
        environment = self._environment
        try:
            return install.apply(host, plan, environment.ours, self._record_of(host), environment.environ)
        except MnemonError as error:
            return self._failed(host, error)
        finally:
            record.write(self._directory, self._record)

    def _eject(self, host: Host, *, dry_run: bool) -> HostReport:
        environment, of_host = self._environment, self._record_of(host)
        try:
            return install.eject(host, environment.ours, of_host, environment.environ, dry_run=dry_run)
        except MnemonError as error:
            return self._failed(host, error)
        finally:
            if not dry_run:
                record.write(self._directory, self._record)

    def _record_of(self, host: Host) -> HostRecord:
        return self._record.hosts.setdefault(host.name, HostRecord())

    def _failed(self, host: Host, error: MnemonError) -> HostReport:
        self.exit = self.exit or error.kind.exit
        failure = Failure(error.message, error.hint)
        return HostReport(target=host.name, title=host.title, found=host.found(), state="failed", error=failure)

    # ---------------------------------------------------------------- our own files

    def _own_files(self) -> list[FileReport]:
        reports: list[FileReport] = []
        for file in own_files.launcher_files(self._directory):
            state: FileState = "unchanged" if file.is_there() else "changed" if file.path.exists() else "created"
            reports.append(FileReport(str(file.path), state, diff=diff_of_own(file) or None))
        for each in own_files.planned(self._directory, self._record.prompts):
            text = prompt_texts.shipped(each.path.name)
            diff = None if each.state == "kept" else diff_of_own(OwnFile(each.path, text)) or None
            reports.append(FileReport(str(each.path), _STATES[each.state], diff=diff))
            if each.state == "kept" and not each.new.is_there():
                reports.append(FileReport(str(each.new.path), "created", diff=diff_of_own(each.new)))
        for of_shell in [] if self._options.target else shell.planned(self._environment, self._record.shell):
            diff = diff_of_own(of_shell.own) if of_shell.is_pending and shell.is_short(of_shell.own.path) else None
            reports.append(FileReport(str(of_shell.own.path), of_shell.state, diff=diff))
        link = self._link()
        return reports if link is None else [*reports, FileReport(str(link.path), link.state)]

    def _link(self) -> alias.Link | None:
        return alias.planned(self._environment, self._record.alias, wanted=self._options.mnemon_alias)

    def _removed_files(self) -> list[FileReport]:
        """Return the files of ours that an eject of all hosts removes."""
        texts = own_files.planned(self._directory, self._record.prompts)
        own = [
            *own_files.launcher_files(self._directory),
            *(OwnFile(each.path, "") for each in texts if each.state in ("unchanged", "updated")),
            *(each.new for each in texts),
        ]
        there = [file for file in own if file.path.exists()]
        there += [OwnFile(path, "") for path in shell.removable(self._record.shell)]
        diffs = {file: diff_of_own(file, there=False) if shell.is_short(file.path) else None for file in there}
        links = [FileReport(str(path), "removed") for path in alias.removable(self._record.alias)]
        return [FileReport(str(file.path), "removed", diff=diff) for file, diff in diffs.items()] + links

    def _own_is_pending(self) -> bool:
        programs = all(file.is_there() for file in own_files.launcher_files(self._directory))
        link = self._link()
        return (
            not programs
            or (link is not None and link.state != "unchanged")
            or own_files.is_pending(self._directory, self._record.prompts)
            or (not self._options.target and shell.is_pending(self._environment, self._record.shell))
        )

    def _write_own(self) -> None:
        for file in own_files.launcher_files(self._directory):
            if not file.is_there():
                file.write()
        own_files.install(self._directory, self._record.prompts)
        record.write(self._directory, self._record)

    def _remove_own(self) -> list[FileReport]:
        programs = [file for file in own_files.launcher_files(self._directory) if file.path.exists()]
        for file in programs:
            file.remove()
        remove_empty({file.path.parent for file in programs})
        texts = own_files.remove(self._directory, self._record.prompts)
        made = [*self._record.shell.directories, *self._record.alias.directories]
        texts += shell.remove(self._record.shell)
        texts += alias.remove(self._record.alias)
        remove_empty(map(Path, made))  # one may have been made for the one and be used by the other
        self._record.prompts.clear()
        record.write(self._directory, self._record)
        return [FileReport(str(path), "removed") for path in (*(file.path for file in programs), *texts)]


def _planned(host: Host, plan: Plan) -> HostReport:
    changes = [
        FileReport(str(each.path), "created" if each.file.content is None else "changed", diff=each.diff())
        for each in plan.changes
    ]
    if plan.commands:
        expected = expected_diffs(host, there=True)
        changes += [FileReport(str(path), "rewritten", diff=diff) for path, diff in expected.items()]
    own = [
        FileReport(str(file.path), "changed" if file.path.exists() else "created", diff=diff_of_own(file) or None)
        for file in plan.own
    ]
    return HostReport(
        target=host.name,
        title=host.title,
        found=host.found(),
        state="unchanged" if plan.is_empty else "planned",
        files=changes + own,
        commands=[CommandReport(command, "planned") for command in plan.commands],
    )
