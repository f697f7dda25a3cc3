"""The sentences of a session that say what came of it and what is open."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemond.model.passages import Passage
from mnemond.recall.session_outline import MAX_CHARACTERS, Outline, outline
from tests.tables import each_row

SUMMARY = """## Summary

**Done**
- Import crash: duplicates are reduced to the highest `seq` before the upsert.
- The port is 8191 now.

**Still open**
1. Re-run the manifests of 3 November on prod.
2. Osprey must rotate the SFTP password.
"""


def session(*exchanges: tuple[str, str]) -> list[Passage]:
    return [
        Passage(id=str(at), said_at=f"2026-11-27T09:{at:02}:00Z", host="codex", prompt=prompt, answer=answer)
        for at, (prompt, answer) in enumerate(exchanges)
    ]


@each_row(
    ("answer", "said", "open_work"),
    [
        (SUMMARY, "The port is 8191 now.", "Re-run the manifests of 3 November on prod."),
        ("- [x] bump the version to 3.1\n- [ ] tag the release", "bump the version to 3.1", "tag the release"),
        (
            "Done: retries are capped at 5 now. Open: the load test of the endpoint.",
            "Done: retries are capped at 5 now.",
            "Open: the load test of the endpoint.",
        ),
        (
            "The login failed because the cookie was third-party.\n\nThe purge is still to do.",
            "The login failed because the cookie was third-party.",
            "The purge is still to do.",
        ),
        (
            "Die Ursache war ein abgelaufenes Zertifikat auf dem Proxy.\n\n**Noch offen**\n- Lasttest der Suche",
            "Die Ursache war ein abgelaufenes Zertifikat auf dem Proxy.",
            "Lasttest der Suche",
        ),
        (
            "原因是连接池的超时设置太短，已改为 30 秒。\n\n还剩：\n- 生产环境的回填脚本",
            "原因是连接池的超时设置太短，已改为 30 秒。",
            "生产环境的回填脚本",
        ),
    ],
)
def test_outcome_and_open_work_are_quoted(answer: str, said: str, open_work: str) -> None:
    found = outline(session(("sum up", answer)))
    assert said in found.outcome
    assert open_work in found.open


def test_a_cause_from_the_middle_of_a_session_is_told() -> None:
    found = outline(
        session(
            ("why is it slow", "The index was dropped by revision 41, so each query scans the table."),
            ("ok, fix it", "Added revision 42 which creates it again."),
            ("thanks", "You're welcome."),
        )
    )
    assert found.outcome[0].startswith("The index was dropped by revision 41")


@each_row(
    "later",
    ["The Baltica manifests of 3 November are imported now, re-run on prod.", "**Still open**\n- rotate the password"],
)
def test_what_was_done_later_is_not_open(later: str) -> None:
    first = "**Still open**\n- Re-run the Baltica manifests of 3 November on prod"
    assert outline(session(("state?", first))).open == ("Re-run the Baltica manifests of 3 November on prod",)
    assert "Re-run" not in " ".join(outline(session(("state?", first), ("go on", later))).open)


@each_row(
    "noise",
    [
        "```\nERROR the port is still to do, fixed because of 12\n```",
        "| fixed | because | 12 |\n|---|---|---|\n| still open | TODO | 3 |",
        "> Ana wrote: we still have to fix the port because it is 12",
        "2026-11-03T02:00:01 ERROR fixed because 12 is still open",
    ],
)
def test_code_logs_tables_and_quotations_are_not_read(noise: str) -> None:
    assert outline(session(("look", noise))) == Outline()


def test_a_long_sentence_is_cut_around_what_is_open() -> None:
    filler = "I added the setting to `settings.py` and an entry to the decisions of this year and of the year before"
    found = outline(session(("go", f"{filler} {filler}; the purge of old events is still to do.")))
    assert found.open == ("…the purge of old events is still to do.",)


words = st.sampled_from(
    [
        "Done",
        "**Still",
        "open**",
        "-",
        "1.",
        "```",
        "|",
        ">",
        "#",
        ":",
        "because",
        "fixed",
        "port",
        "8191",
        "to",
        "do",
        "TODO",
        "noch",
        "offen",
        "还剩",
        "已修复",
        "。",
        ".",
        "\n",
    ]
)


@given(st.lists(st.lists(words, max_size=60).map(" ".join), max_size=6))
def test_every_piece_is_a_quotation_and_they_have_room(answers: list[str]) -> None:
    found = outline(session(*(("go on", answer) for answer in answers)))
    said = " ".join("\n".join(answers).replace("**", "").split(" "))
    pieces = [*found.outcome, *found.open]
    assert sum(map(len, pieces)) <= MAX_CHARACTERS
    for piece in pieces:
        assert piece.strip("…") in said or all(part in said for part in piece.strip("…").split(". "))
