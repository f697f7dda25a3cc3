"""What a text must contain before a rule is tried hides nothing that the rule finds."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.secret_carriers import sample
from benchmarks.secret_samples import MAKERS
from mnemond.text.secret_formats import token_formats
from mnemond.text.secret_values import _NAMES, _STRONG, _next_name, is_strong_password, is_varied, value_at
from mnemond.text.secrets import _WIDE, Hints, Secret, _as_ascii, _find, _without_overlaps, find_secrets, hints
from tests.tables import each_row
from tests.text.secret_pieces import HOSTILE_TEXTS, MIXED


def unhinted(text: str) -> tuple[Secret, ...]:
    """What is found where every rule is tried."""
    every = Hints(token_formats(), *[True] * (len(Hints.__struct_fields__) - 1))
    texts = dict.fromkeys((text, _WIDE.sub(_as_ascii, text)))
    found = [secret for each in texts for secret in _find(each, each.replace("İ", "I").lower(), every)]
    return _without_overlaps(found)


@given(HOSTILE_TEXTS)
def test_hints_hide_nothing(text: str) -> None:
    assert find_secrets(text) == unhinted(text)


_MARKS = st.sampled_from(["_", "-", ".", "~", ":", " ", "=", '"', "\n", "，", "\x1f", "\xa0"])
_STARTS = st.sampled_from([trigger for form in token_formats() for trigger in form.triggers])
_BODIES = st.text("abcdef0123456789ABCDEFGHXYZ", min_size=8, max_size=80)


@given(st.lists(_STARTS | _BODIES | _MARKS | st.sampled_from(["secret", "key", "{"]), max_size=12).map("".join))
def test_hints_hide_nothing_that_starts_as_tokens_do(text: str) -> None:
    assert find_secrets(text) == unhinted(text)


@given(st.sampled_from(sorted(MAKERS)), st.integers(0, 40), st.integers(0, 2**32), st.text(max_size=6))
def test_hints_hide_no_secret_in_its_carrier(kind: str, number: int, seed: int, after: str) -> None:
    text, _, end = sample(kind, number, random.Random(seed))
    for variant in (text, text[:end], text + after, text.upper(), text.lower(), after + text):
        assert find_secrets(variant) == unhinted(variant)


def test_every_format_is_hinted_at_by_what_it_starts_with() -> None:
    for kind, maker in MAKERS.items():
        chance = random.Random(kind)
        for _ in range(20):
            token = maker(chance)
            hinted = hints(token, token.lower())
            for form in token_formats():
                if any(is_varied(found[1]) for found in form.pattern.finditer(token)):
                    assert hinted is not None
                    assert form in hinted.tokens


def test_most_texts_hint_at_nothing() -> None:
    for text in ("We moved the import to a queue.", "see mnemond/store/connection.py and transaction_with_retries()"):
        assert hints(text, text.lower()) is None


_HOLDERS = ("api", "access", "auth", "account", "private", "encryption", "signing", "master", "service", "session")
_NAME_PIECES = st.sampled_from(
    [*_HOLDERS, "pass", "word", "wd", "pwd", "pw", "secret", "token", "credential", "口令", "金鑰", "凭证", "令牌",
     "秘钥", "key", "_key", " key", "-key", " is ", "=", ": ", " for the db", "s", "[redacted:", "x]", "a", " "]
)  # fmt: skip


@given(st.lists(_NAME_PIECES, max_size=8).map("".join), st.integers(0, 20))
def test_the_starts_of_names_hide_no_name(text: str, place: int) -> None:
    quick, whole = _next_name(text, place), _NAMES.search(text, place)
    assert (quick and quick.span()) == (whole and whole.span())


@each_row("holder", _HOLDERS)
def test_every_holder_of_a_key_is_a_name(holder: str) -> None:
    (secret,) = find_secrets(f"{holder}_key={MIXED[:24]}")
    assert secret.kind == "secret"


def test_a_strong_password_follows_where_a_digit_or_a_quotation_does() -> None:
    chance = random.Random("strong")
    strong = 0
    for _ in range(2_000):
        text = chance.choice(("", "", "'", 'b"', "\\'")) + MAKERS["password"](chance)
        start, end, quoted = value_at(text, 0)
        if is_strong_password(text[start:end], quoted):
            strong += 1
            assert _STRONG.match(text.lower()), text
    assert strong > 500
