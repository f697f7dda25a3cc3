"""Which words are alike: by hand on a tiny table, then the shipped file against its own rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from mnemond.embed import registry, static_model
from mnemond.embed.models import build_relatives
from mnemond.embed.static_model import FILE, MAX_RELATIVES, RELATIVE, StaticModel
from mnemond.embed.wordpiece import read_vocabulary
from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.text.tokens import index_term

TOKENS = ("[PAD]", "[UNK]", "tent", "tents", "camp", "camps", "##tent", "the", "ox", "café", "lake", "void", "river")
ROWS = np.array(
    [
        [9, 0], [9, 9], [10, 0], [10, 1], [10, 2], [4, 3], [10, 0], [10, 0], [10, 0], [10, 0], [0, 50], [0, 0],
        [30, 40],
    ],
    dtype=np.int8,
)  # fmt: skip

SHIPPED = registry.MODELS / registry.DEFAULT


def built(directory: Path, rows: npt.NDArray[np.int8] = ROWS, tokens: tuple[str, ...] = TOKENS) -> Path:
    directory.mkdir()
    np.save(directory / "table.npy", rows)
    (directory / "vocab.txt").write_text("\n".join(tokens) + "\n", encoding="utf-8")
    build_relatives.build(directory)
    return directory


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return built(tmp_path / "tiny")


def spelled(directory: Path, word: str) -> list[tuple[str, float]]:
    """As stored: words and cosines."""
    row = np.load(directory / FILE)[TOKENS.index(word)].tolist()
    return [(TOKENS[number], cosine / 255) for number, cosine in row if number]


def near(expected: list[tuple[str, float]]) -> list[tuple[str, object]]:
    """To be compared with words and cosines: as far off as storing may put them."""
    return [(word, pytest.approx(cosine, abs=0.002)) for word, cosine in expected]


def test_the_best_word_of_each_other_stem_best_first(tiny: Path) -> None:
    # "tents" is nearer to "tent" than "camp" is, and the same stem; "camps" is farther
    assert spelled(tiny, "tent") == near([("camp", 10 / 104**0.5), ("river", 0.6)])
    assert spelled(tiny, "lake") == near([("river", 0.8), ("camps", 0.6)])


@pytest.mark.parametrize("nobody", ["[PAD]", "[UNK]", "##tent", "the", "ox", "café", "void"])
def test_only_english_words_of_three_letters_with_a_term_and_a_row_have_relatives(tiny: Path, nobody: str) -> None:
    assert spelled(tiny, nobody) == []
    assert all(nobody not in dict(spelled(tiny, word)) for word in TOKENS)


def test_no_more_than_eight_and_the_first_of_equals(tmp_path: Path) -> None:
    words = tuple(f"{letter}quo" for letter in "abcdefghijkl")
    directory = built(tmp_path / "equals", np.full((14, 2), 5, dtype=np.int8), ("[PAD]", "[UNK]", *words))
    assert np.load(directory / FILE)[13]["id"].tolist() == [2, 3, 4, 5, 6, 7, 8, 9]
    assert np.load(directory / FILE)[2].tolist() == [(number, 255) for number in range(3, 11)]


def test_a_word_is_answered_with_terms(tiny: Path) -> None:
    model = StaticModel(tiny)
    assert model.related_terms("camps") == model.related_terms("camps")  # the second time from memory
    assert [term for term, _ in model.related_terms("camps")] == ["river", "tent", "lake"]
    assert [model.related_terms(word) for word in ("", "xyzzy", "TENT", "##tent", "[UNK]", "the", "\ud83d")] == [()] * 7


def test_no_more_words_are_remembered_than_allowed(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static_model, "MAX_CACHED", 2)
    model = StaticModel(tiny)
    found = [model.related_terms(word) for word in ("tent", "lake", "river", "unheard")]
    assert list(model._relatives) == ["river"]
    assert found[0] == model.related_terms("tent")
    model.clear_cache()
    assert not model._relatives


def test_relatives_are_no_part_of_the_fingerprint(tiny: Path) -> None:
    before = StaticModel(tiny).fingerprint
    np.save(tiny / FILE, np.zeros((len(TOKENS), MAX_RELATIVES), dtype=RELATIVE))
    assert StaticModel(tiny).related_terms("tent") == ()
    assert StaticModel(tiny).fingerprint == before


def lose(path: Path) -> None:
    path.unlink()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def store(rows: npt.NDArray[np.generic]) -> Callable[[Path], None]:
    return lambda path: np.save(path, rows)


STRANGER = np.zeros((len(TOKENS), MAX_RELATIVES), dtype=RELATIVE)
STRANGER["id"][3, 7] = len(TOKENS)


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        (lose, "No such file"),
        (cut, "bytes for shape"),
        (lambda path: path.write_bytes(b"no array"), "is not an array file"),
        (store(np.zeros((len(TOKENS), MAX_RELATIVES), dtype=np.uint16)), "holds uint16 of shape"),
        (store(np.zeros(len(TOKENS) * MAX_RELATIVES, dtype=RELATIVE)), "expected .* in two dimensions"),
        (store(np.zeros((len(TOKENS) - 1, MAX_RELATIVES), dtype=RELATIVE)), "for 13 tokens and 8 relatives"),
        (store(np.zeros((len(TOKENS), MAX_RELATIVES - 1), dtype=RELATIVE)), "for 13 tokens and 8 relatives"),
        (store(np.asfortranarray(np.zeros((len(TOKENS), MAX_RELATIVES), dtype=RELATIVE))), "expected"),
        (store(STRANGER), "names row 13 of 13"),
    ],
)
def test_a_damaged_file_is_reported_with_what_to_do(tiny: Path, harm: Callable[[Path], None], sentence: str) -> None:
    harm(tiny / FILE)
    with pytest.raises(MnemonError, match=sentence) as caught:
        StaticModel(tiny)
    assert caught.value.kind is UNAVAILABLE
    assert FILE in caught.value.message
    assert caught.value.hint is not None
    assert "reinstall" in caught.value.hint


# ---------------------------------------------------------------- the shipped file


def test_the_shipped_relatives_follow_from_the_shipped_rows() -> None:
    """Also when a stem or a stop word changes: then the file is made again with build_relatives.py."""
    table, vocabulary = np.load(SHIPPED / "table.npy"), read_vocabulary(SHIPPED / "vocab.txt")
    words = list(build_relatives.index_terms_of(vocabulary))
    sample = words[:: len(words) // 200]
    assert np.load(SHIPPED / FILE)[sample].tolist() == build_relatives.relatives(table, vocabulary, sample).tolist()


def test_the_shipped_relatives_are_the_nearest_rows() -> None:
    """By another way than the script's: cosines in float64, all of them sorted, one word at a time."""
    table, vocabulary = np.load(SHIPPED / "table.npy").astype(np.float64), read_vocabulary(SHIPPED / "vocab.txt")
    model = StaticModel(SHIPPED)
    words = [number for number, piece in enumerate(vocabulary) if build_relatives.WORD.fullmatch(piece)]
    unit = table[words] / np.linalg.norm(table[words], axis=1, keepdims=True)
    for word in ("database", "camping", "kids", "deploy", "paint"):
        cosines = unit @ unit[words.index(vocabulary.index(word))]
        best: dict[str, float] = {}
        for place in np.argsort(-cosines, kind="stable")[:200]:
            best.setdefault(index_term(vocabulary[words[place]]), float(cosines[place]))
        nearest = [(term, cosine) for term, cosine in best.items() if term not in {"", index_term(word)}]
        assert list(model.related_terms(word)) == near([found for found in nearest if found[1] >= 0.4][:8])


def test_the_script_says_what_it_wrote(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (tiny / FILE).read_bytes()
    (tiny / FILE).unlink()
    assert build_relatives.main([str(tiny)]) == 0
    assert (tiny / FILE).read_bytes() == before
    assert capsys.readouterr().out == f"{tiny / FILE}: {len(before):,} bytes\n"
