"""Nothing a memory says reaches the reader's terminal as anything but visible text."""

from __future__ import annotations

import json
import re
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from mnemond.cli.output import UNSAFE, escape_json, neutralise, one_line
from tests.tables import each_row

PAYLOADS = {
    "osc 52 writes the clipboard": "\x1b]52;c;ZWNobyBwd25lZA==\x07",
    "osc 8 hides a link": "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "osc 0 sets the title": "\x1b]0;title\x07",
    "dcs": '\x1bP$q"p\x1b\\',
    "csi 6n reports the cursor": "\x1b[6n",
    "csi clears the screen": "\x1b[2J\x1b[H",
    "c1 csi": "\x9b31m",
    "c1 osc": "\x9d52;c;AAAA\x9c",
    "carriage return overwrites": "harmless\rrm -rf /",
    "backspaces": "abc\x08\x08\x08xyz",
    "delete": "\x7f",
    "nul": "\x00",
    "bidi override": "\u202egnp.exe",
    "bidi isolate": "\u2066abc\u2069",
    "inhibit symmetric swapping": "\u206a",
    "zero width": "pass\u200bword\u200d\ufeff",
    "joiner between ascii": "pass\u200dword",
    "joiner beside ascii": "é\u200dx\u200cé",
    "joiners in a row": "é\u200d\u200cé",
    "joiner at an end": "\u200dé\u200c",
    "joiner beside a space": "é\u200d\u00a0é",
    "joiner beside punctuation": "é\u200d、",
    "joiner beside a digit": "٣\u200d٣",
    "tag characters": "hello\U000e0001\U000e0041\U000e007f",
    "line separator": "a\u2028b\u2029c",
    "next line": "a\x85b",
    "private use": "\ue000\U000f0000",
    "unassigned": "\u0378\U0001fffe",
    "lone surrogate": "\ud800",
}


JOINED = re.compile("(?<=([^\\x00-\\x7f]))[\u200c\u200d](?=([^\\x00-\\x7f]))")


def without_joiners(text: str) -> str:
    """`text` without the joiners that may stay: those between letters, marks and symbols beyond ASCII."""

    def stay(found: re.Match[str]) -> str:
        joins = all(unicodedata.category(side)[0] in "LMS" for side in found.groups())
        return "" if joins else found[0]

    return JOINED.sub(stay, text)


def unsafe_left(text: str) -> list[str]:
    shown = without_joiners(text)
    return [hex(ord(char)) for char in shown if char not in "\n\t" and unicodedata.category(char) in UNSAFE]


@each_row("payload", PAYLOADS.values())
def test_known_attacks_become_visible_text(payload: str) -> None:
    shown = neutralise(payload)
    assert unsafe_left(shown) == []
    assert shown != payload


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_no_unsafe_character_is_ever_left(text: str) -> None:
    assert unsafe_left(neutralise(text)) == []
    line = one_line(text)
    assert unsafe_left(line) == []
    assert "\n" not in line
    assert "\t" not in line


@given(st.text(alphabet=st.characters(exclude_categories=("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))))
def test_harmless_text_stays_as_it_is(text: str) -> None:
    assert neutralise(text) == text


def test_escapes_are_those_other_programs_write() -> None:
    assert neutralise("a\x1b[0m\u202eb\U000e0041") == "a\\x1b[0m\\u202eb\\U000e0041"


def test_letters_of_every_script_stay() -> None:
    text = "Zürich 東京 Ελλάδα नमस्ते\u0301 🙂 a\u00a0b\u3000c"
    assert neutralise(text) == text


@given(st.text())
def test_json_for_a_terminal_means_the_same(text: str) -> None:
    document = json.dumps({"text": text}, ensure_ascii=False)
    shown = escape_json(document)
    assert json.loads(shown) == {"text": text}
    assert unsafe_left(shown) == []


JOINERS_AMONG = st.lists(st.sampled_from([*"aé9 \n٣🙂☂\u200c\u200d\u200b\u202e\ufe0f\u094dक、\x9b"])).map("".join)


@given(JOINERS_AMONG)
def test_joiners_stay_only_where_they_spell_something(text: str) -> None:
    shown = neutralise(text)
    assert unsafe_left(shown) == []
    assert len(shown) - len(without_joiners(shown)) == len(text) - len(without_joiners(text))


def test_json_escapes_beyond_the_basic_plane_are_pairs() -> None:
    assert escape_json('"\U000e0041\x7f"') == '"\\udb40\\udc41\\u007f"'
