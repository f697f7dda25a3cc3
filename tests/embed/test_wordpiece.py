"""Tokenisation, by hand: every expectation below was written from BERT's published rules, not from the output."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.embed import wordpiece
from mnemond.embed.wordpiece import WordPiece

VOCABULARY = [
    *["[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able", "hello", "world", "!", ",", "cafe", "naive"],
    *["python", "##3", ".", "11", "我", "国", "##s", "token", "##iz", "##ation", "[", "]", "cls", "ο", "##δ", "##ο"],
    *["##σ", "$", "5", "don", "'", "t", "a", "##b", "b", "c", "i", "ᄒ", "##ᅡ", "##ᆫ", "⁄"],
]


@pytest.fixture
def pieces() -> WordPiece:
    return WordPiece(VOCABULARY)


def spelled(pieces: WordPiece, text: str, limit: int = 100, *, keep_unknown: bool = True) -> list[str]:
    return [VOCABULARY[number] for number in pieces.encode(text, limit, keep_unknown=keep_unknown)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, WORLD!", ["hello", ",", "world", "!"]),
        ("unaffable", ["un", "##aff", "##able"]),
        ("tokenizations", ["token", "##iz", "##ation", "##s"]),
        ("python3.11", ["python", "##3", ".", "11"]),
        ("don't $5", ["don", "'", "t", "$", "5"]),
        ("café naïve CAFÉ", ["cafe", "naive", "cafe"]),
        ("cafe\u0301", ["cafe"]),
        ("我国", ["我", "国"]),
        ("hello我world", ["hello", "我", "world"]),
        ("[CLS]", ["[", "cls", "]"]),
        ("ΟΔΟΣ", ["ο", "##δ", "##ο", "##σ"]),
        ("한", ["ᄒ", "##ᅡ", "##ᆫ"]),
        ("İ", ["i"]),
        ("a\u3000b\u2009c\u00a0a\tb\nc\ra", ["a", "b", "c", "a", "b", "c", "a"]),
        ("a\x00b", ["a", "##b"]),
        ("a\x0cb", ["a", "##b"]),
        ("a\x7fb", ["a", "##b"]),
        ("a\u200bb a\ufffdb a\x85b", ["a", "##b", "a", "##b", "a", "##b"]),
        ("unknowable", ["[UNK]"]),
        ("hello🎉 🎉", ["[UNK]", "[UNK]"]),
        ("a⁄b", ["[UNK]"]),
        ("", []),
        (" \t\r\n", []),
        ("\x00\x01\u200b", []),
        ("\ud800", []),
    ],
)
def test_the_rules_of_bert(pieces: WordPiece, text: str, expected: list[str]) -> None:
    assert spelled(pieces, text) == expected


def test_unknown_words_are_left_out_on_request(pieces: WordPiece) -> None:
    assert spelled(pieces, "hello zzz world 🎉", keep_unknown=False) == ["hello", "world"]


def test_the_limit_counts_pieces_and_may_cut_a_word(pieces: WordPiece) -> None:
    assert spelled(pieces, "hello unaffable world", limit=3) == ["hello", "un", "##aff"]


def test_the_limit_counts_known_pieces_only_when_the_others_are_left_out(pieces: WordPiece) -> None:
    assert spelled(pieces, "zzz " * 50 + "hello world", limit=1, keep_unknown=False) == ["hello"]


def test_a_word_of_a_hundred_characters_is_cut_and_a_longer_one_unknown(pieces: WordPiece) -> None:
    assert spelled(pieces, "a" + "b" * 99)[:2] == ["a", "##b"]
    assert spelled(pieces, "a" + "b" * 100) == ["[UNK]"]


def test_reading_stops_at_the_limit(pieces: WordPiece, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "words", lambda _text: iter_once_then_fail())
    assert pieces.encode("any", 1, keep_unknown=True) == [VOCABULARY.index("hello")]


def iter_once_then_fail() -> object:
    yield "hello"
    raise AssertionError("read beyond the limit")


def test_the_cache_is_bounded_and_does_not_change_answers(pieces: WordPiece, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordpiece, "MAX_CACHED_WORDS", 4)
    for number in range(50):
        assert spelled(pieces, f"zz{number} unaffable") == ["[UNK]", "un", "##aff", "##able"]
    assert len(pieces._pieces) <= 4


def test_what_is_remembered_can_be_forgotten(pieces: WordPiece) -> None:
    before = spelled(pieces, "unaffable Ünaffable")
    assert pieces._pieces
    assert pieces._cleaning
    assert pieces._splitting
    pieces.clear_cache()
    assert not pieces._pieces
    assert not pieces._cleaning
    assert not pieces._splitting
    assert spelled(pieces, "unaffable Ünaffable") == before


def test_the_character_table_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordpiece, "MAX_CACHED_CHARACTERS", 8)
    pieces = WordPiece(VOCABULARY)
    pieces.encode("".join(map(chr, range(0x4E00, 0x4F00))) + "我", 1000, keep_unknown=True)
    assert len(pieces._cleaning) <= 8
    assert spelled(pieces, "我é") == ["我", "[UNK]"]


def test_a_vocabulary_without_unknown_is_refused() -> None:
    with pytest.raises(ValueError, match="2 pieces"):
        WordPiece(["a", "b"])


def test_ids_by_name(pieces: WordPiece) -> None:
    assert (pieces.id_of("[CLS]"), pieces.id_of("nonsense"), len(pieces)) == (2, 1, len(VOCABULARY))


@given(st.text())
def test_ascii_and_general_paths_agree(text: str) -> None:
    """An ASCII text tokenises the same beside a character that forces the general path."""
    pieces = WordPiece(VOCABULARY)
    ascii_text = text.encode("ascii", "ignore").decode()
    assert pieces.encode("我 " + ascii_text, 500, keep_unknown=True)[1:] == pieces.encode(
        ascii_text, 499, keep_unknown=True
    )


@given(st.text(st.characters(max_codepoint=127)), st.integers(1, 50))
def test_a_long_text_is_cut_like_a_short_one(text: str, limit: int) -> None:
    pieces = WordPiece(VOCABULARY)
    at_once = pieces.encode(text, limit, keep_unknown=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wordpiece, "MAX_SPLIT_AT_ONCE", -1)
        assert pieces.encode(text, limit, keep_unknown=True) == at_once


@given(st.text(alphabet=st.characters(), max_size=200), st.integers(1, 50))
def test_any_text_gives_known_ids_within_the_limit(text: str, limit: int) -> None:
    ids = WordPiece(VOCABULARY).encode(text, limit, keep_unknown=True)
    assert len(ids) <= limit
    assert all(0 < number < len(VOCABULARY) for number in ids)
