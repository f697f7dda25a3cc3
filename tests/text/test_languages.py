"""The language of a question, and its share of Latin letters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.text.languages import language_of, latin_share
from tests.tables import each_row


@each_row(
    ("text", "language"),
    [
        ("Which port does the staging database use?", "en"),
        ("Welchen Port nimmt die Datenbank im Test?", "de"),
        ("wie oft läuft der Rechnungslauf", "de"),
        ("Was die Kundin möchte, steht im Ticket", "de"),
        ("was the die cast in the war", "en"),
        ("the Müller account is for the German office", "en"),
        ("测试数据库用哪个端口", "zh"),
        ("staging 的 Postgres 端口是多少", "zh"),
        ("postgres port", "en"),
        ("", "en"),
    ],
)
def test_a_language_is_seen_by_its_small_words(text: str, language: str) -> None:
    assert language_of(text) == language


@given(st.text())
def test_any_text_has_a_language_and_a_share(text: str) -> None:
    assert language_of(text) in ("en", "de", "zh")
    assert 0.0 <= latin_share(text) <= 1.0


def test_signs_and_digits_are_no_letters() -> None:
    assert latin_share("2026 – “ok”…") == 1.0
    assert latin_share("日志 log 12345") == pytest.approx(3 / 5)
