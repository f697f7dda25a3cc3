"""An extraction without the model: its reason, at the command line and for agents."""

from __future__ import annotations

import msgspec

from mnemond.cli.output import Style
from mnemond.cli.remember import EXTRACT
from mnemond.mcp.render import extracted
from tests.cli.extraction_results import EXTRACTED, ID

UNREAD = msgspec.structs.replace(EXTRACTED, unread="the server is gone", job_id=ID)


def test_people_read_why_and_what_comes_later() -> None:
    assert EXTRACT.render is not None
    text = EXTRACT.render(UNREAD, Style(columns=120))
    assert "by the rules alone: the server is gone; it is read again later (mnemonctl jobs run extract)\n" in text
    lost = EXTRACT.render(msgspec.structs.replace(UNREAD, job_id=None), Style(columns=120))
    assert "by the rules alone: the server is gone\n" in lost


def test_agents_read_why() -> None:
    assert "1 fact. By rules alone: the server is gone." in extracted(UNREAD, "0" * 16)
    nothing = extracted(msgspec.structs.replace(UNREAD, facts=[]), "0" * 16)
    assert nothing == "Nothing in it is worth keeping. By rules alone: the server is gone."
