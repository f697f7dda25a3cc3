"""A rule that looks at a text's words first passes over no text in which its expressions would find something.

Every expression is tried with all of its spellings, and with texts that are made up from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.text import contrast, dates
from mnemond.text.cues import _CAUSAL_CUE, _may_have_causal_cue
from mnemond.text.date_rules import Rule, latin_rules
from mnemond.text.quality import QualityPattern, _lists
from mnemond.text.tokens import fold, latin_words
from tests.examples import examples
from tests.tables import each_row
from tests.text.spellings import spellings

AROUND = ("{}", "{} b", "a {}.", "7{}", "({})", "_{}", "{}_", "é{}é", "{}'s", "{}\n{}")


def never_passes_over(pattern: re.Pattern[str], found: Callable[[str], bool], tried: Callable[[str], bool]) -> None:
    """Fails where `found` holds for a text of `pattern` and `tried` does not, or where `found` never holds."""
    texts = [around.replace("{}", each) for each in spellings(pattern) for around in AROUND]
    told = [text for text in texts if found(text)]
    assert told
    assert [text for text in told if not tried(text)] == []
    others = sorted(set(re.findall("[^\x00-\x7f]", pattern.pattern))) or ["é"]
    alphabet = st.one_of(st.characters(max_codepoint=126), st.sampled_from(others))

    @given(st.from_regex(re.compile(pattern.pattern, pattern.flags), alphabet=alphabet))
    @examples(40)
    def holds(text: str) -> None:
        assert tried(text) or not found(text)

    holds()


def test_no_causal_cue_is_passed_over() -> None:
    def found(text: str) -> bool:
        return any(each.lastgroup != "other" for each in _CAUSAL_CUE.finditer(fold(text)))

    never_passes_over(_CAUSAL_CUE, found, lambda text: _may_have_causal_cue(text, fold(text)))


@pytest.mark.parametrize("pattern", [contrast._POLARITY, contrast._POLARITY_ASCII])
def test_no_negation_is_passed_over(pattern: re.Pattern[str]) -> None:
    def found(text: str) -> bool:
        folded = fold(text).replace("’", "'")
        return bool({each.lastgroup for each in contrast._POLARITY.finditer(folded)} & {"negator", "nor"})

    def tried(text: str) -> bool:
        return not contrast._NEGATORS.isdisjoint(latin_words(text)) or bool(contrast._NEGATORS_CHINESE.search(text))

    never_passes_over(pattern, found, tried)


def test_no_change_cue_is_passed_over() -> None:
    def found(text: str) -> bool:
        return contrast._CHANGE.search(fold(text)) is not None

    never_passes_over(contrast._CHANGE, found, lambda text: contrast._may_have_change_cue(text, fold(text)))


def test_no_percentage_is_passed_over() -> None:
    def tried(text: str) -> bool:
        return any(part in text for part in contrast._PARTS_OF_PERCENT)

    never_passes_over(contrast._PERCENT, lambda text: contrast._PERCENT.search(text) is not None, tried)


def test_no_whole_date_is_passed_over() -> None:
    def tried(text: str) -> bool:
        return dates._YEAR_DIGITS.search(text) is not None

    whole = dates._WHOLE
    never_passes_over(whole, lambda text: whole.search(text) is not None, tried)


@each_row("rule", latin_rules())
def test_no_date_is_passed_over(rule: Rule) -> None:
    def found(text: str) -> bool:
        return fold(text).isascii() and dates._LATIN.search(fold(text)) is not None

    if rule.name != "hanzi":  # no ASCII text has one
        never_passes_over(re.compile(rule.pattern), found, lambda text: dates._may_have_latin(text, fold(text)))


@each_row("pattern", [each for each in _lists().patterns if any(map(str.isascii, each.needles))])
def test_no_warning_is_passed_over(pattern: QualityPattern) -> None:
    def found(text: str) -> bool:
        needed = any(needle in text.lower() for needle in pattern.needles)
        return text.isascii() and needed and pattern.regex.search(text) is not None

    never_passes_over(pattern.regex, found, lambda text: pattern.may_be_in(text.lower(), latin_words(text)))


@given(st.text("0123456789", min_size=1, max_size=12))
def test_a_word_of_digits_is_the_number_that_the_expression_finds_in_it(word: str) -> None:
    assert list(contrast._numbers_of(word)) == [contrast._normal(found) for found in contrast._NUMBER.finditer(word)]
