"""What `mnemonctl doctor` prints, and what it takes."""

from __future__ import annotations

import msgspec

from mnemond.api.types_daemon import CheckView, CliRunParams, DoctorResult, ProblemView
from mnemond.cli.admin import render_doctor
from mnemond.cli.grammar import Invocation, parse
from mnemond.cli.output import Style

PROBLEM = ProblemView("5 texts are not the ones that were stored", "1a2b3c4d, 2b3c4d5e", "restore a backup")
RESULT = DoctorResult(
    ok=False,
    problems=1,
    notes=1,
    checks=[
        CheckView(name="data_dir", ok=True, state="ok", detail="/home/u/.mnemon, mode 0700"),
        CheckView(name="daemon", ok=True, state="note", detail="none answers"),
        CheckView(name="mirror_ids", ok=True, state="skipped", detail="it needs a daemon", store="work"),
        CheckView(
            name="content_hash", ok=False, state="problem", detail=PROBLEM.what, problems=[PROBLEM], store="work"
        ),
    ],
)

TEXT = """\
ok       data_dir: /home/u/.mnemon, mode 0700
note     daemon: none answers
skipped  work: mirror_ids: it needs a daemon
PROBLEM  work: content_hash: 5 texts are not the ones that were stored
         where: 1a2b3c4d, 2b3c4d5e
         next: restore a backup
1 problem, 1 note, 4 checks
"""


def test_what_people_read() -> None:
    assert render_doctor(RESULT, Style()) == TEXT


def test_nothing_in_it_drives_a_terminal() -> None:
    hostile = ProblemView("\x1b]52;c;aGk=\x07", "\u202egpj.exe", "a\nb")
    checks = [
        CheckView(name="\x1b[2J", ok=False, state="problem", detail="", problems=[hostile], store="\u2066x"),
        CheckView(name="x", ok=True, state="note", detail="\x9b31m"),
    ]
    for columns in (20, 80):
        text = render_doctor(msgspec.structs.replace(RESULT, checks=checks), Style(columns=columns))
        assert all(char == "\n" or char.isprintable() for char in text)


def test_what_it_takes() -> None:
    parsed = parse(CliRunParams(argv=["doctor", "--full", "--all", "--store", "work"]))
    assert isinstance(parsed, Invocation)
    assert parsed.method is None
    assert (parsed.options["full"], parsed.options["all"], parsed.options["store"]) == (True, True, "work")
