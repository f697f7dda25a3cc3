"""The table model: by hand on a tiny table, then the shipped one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.embed import registry
from mnemond.embed.embedder import Embedder, unit
from mnemond.embed.static_model import MAX_RELATIVES, RELATIVE, StaticModel
from mnemond.errors import UNAVAILABLE, MnemonError
from tests.tables import each_row

TOKENS = ("[PAD]", "[UNK]", "red", "green", "##er", "anti", "matter")
ROWS = np.array([[9, 9, 9], [50, 50, 50], [3, 0, 4], [0, 127, 0], [0, 0, -8], [5, 6, 7], [-5, -6, -7]], dtype=np.int8)

SHIPPED = registry.create(registry.DEFAULT)


def write_model(directory: Path, rows: npt.NDArray[np.generic] = ROWS, tokens: tuple[str, ...] = TOKENS) -> Path:
    directory.mkdir(exist_ok=True)
    np.save(directory / "table.npy", rows)
    (directory / "vocab.txt").write_text("\n".join(tokens) + "\n", encoding="utf-8")
    np.save(directory / "relatives.npy", np.zeros((len(tokens), MAX_RELATIVES), dtype=RELATIVE))
    return directory


@pytest.fixture
def tiny(tmp_path: Path) -> StaticModel:
    return StaticModel(write_model(tmp_path / "tiny"))


def one(model: Embedder, text: str) -> list[float] | None:
    (vector,) = model.embed([text])
    return None if vector is None else [float(value) for value in vector]


def cosine(model: Embedder, left: str, right: str) -> float:
    first, second = model.embed([left, right])
    assert first is not None
    assert second is not None
    return float(first @ second)


def test_a_text_is_the_direction_of_the_sum_of_its_rows(tiny: StaticModel) -> None:
    assert one(tiny, "Red") == pytest.approx([0.6, 0.0, 0.8])
    assert one(tiny, "green") == pytest.approx([0.0, 1.0, 0.0])
    assert one(tiny, "red redder") == pytest.approx([0.6, 0.0, 0.8])  # "redder" has no pieces here and is left out
    assert one(tiny, "reder") == pytest.approx([0.6, 0.0, -0.8])  # 3,0,4 + 0,0,-8


def test_what_has_no_direction_has_no_vector(tiny: StaticModel) -> None:
    texts = ["", "   ", "unheard", "🎉", "\x00\x07", "anti matter", "\ud83d"]
    assert tiny.embed(texts) == [None] * len(texts)


def test_texts_keep_their_order(tiny: StaticModel) -> None:
    first, second, third = tiny.embed(["green", "", "red"])
    assert second is None
    assert first is not None
    assert third is not None
    assert (first[1], third[0]) == (pytest.approx(1.0), pytest.approx(0.6))


def test_no_texts_no_vectors(tiny: StaticModel) -> None:
    assert tiny.embed([]) == []


def test_only_the_first_512_known_tokens_count(tiny: StaticModel) -> None:
    assert one(tiny, "zzz " * 600 + "red " * 512 + "green " * 5000) == pytest.approx([0.6, 0.0, 0.8])
    assert one(tiny, "red " * 511 + "green " * 5000) != pytest.approx([0.6, 0.0, 0.8])


def test_a_sum_of_512_rows_of_full_magnitude_is_exact(tmp_path: Path) -> None:
    rows = np.full((len(TOKENS), 3), 127, dtype=np.int8)
    vector = one(StaticModel(write_model(tmp_path / "loud", rows)), "red " * 512)
    assert vector == pytest.approx([3**-0.5] * 3)


def test_attributes(tiny: StaticModel) -> None:
    assert (tiny.name, tiny.dimension, tiny.inline) == ("tiny", 3, True)
    assert tiny.fingerprint.startswith("sha256:")


def test_the_fingerprint_follows_the_data(tmp_path: Path) -> None:
    other_rows = ROWS.copy()
    other_rows[2, 0] += 1
    same = [StaticModel(write_model(tmp_path / name)).fingerprint for name in ("one", "two")]
    table = StaticModel(write_model(tmp_path / "table", other_rows)).fingerprint
    words = StaticModel(write_model(tmp_path / "words", tokens=(*TOKENS[:-1], "mattress"))).fingerprint
    assert same[0] == same[1]
    assert len({same[0], table, words}) == 3


def test_the_fingerprint_follows_the_algorithm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = StaticModel(write_model(tmp_path / "one")).fingerprint
    monkeypatch.setattr("mnemond.embed.static_model.ALGORITHM", "static-2")
    assert StaticModel(write_model(tmp_path / "one")).fingerprint != before


def break_rows(directory: Path) -> None:
    np.save(directory / "table.npy", ROWS.astype(np.float32))


def break_count(directory: Path) -> None:
    np.save(directory / "table.npy", ROWS[:-1])


def break_header(directory: Path) -> None:
    (directory / "table.npy").write_bytes(b"not an array at all")


def break_length(directory: Path) -> None:
    whole = (directory / "table.npy").read_bytes()
    (directory / "table.npy").write_bytes(whole[:-1])


def break_vocabulary(directory: Path) -> None:
    (directory / "vocab.txt").write_text("red\ngreen\n", encoding="utf-8")


def break_encoding(directory: Path) -> None:
    (directory / "vocab.txt").write_bytes(b"[UNK]\n\xff\xfe\n")


def lose_table(directory: Path) -> None:
    (directory / "table.npy").unlink()


def lose_vocabulary(directory: Path) -> None:
    (directory / "vocab.txt").unlink()


@each_row(
    ("harm", "sentence"),
    [
        (break_rows, "expected int8"),
        (break_count, "has 6 rows for 7 tokens"),
        (break_header, "is not an array file"),
        (break_length, "holds 20 bytes for shape"),
        (break_vocabulary, "is not a vocabulary"),
        (break_encoding, "is not a vocabulary"),
        (lose_table, "No such file"),
        (lose_vocabulary, "No such file"),
    ],
)
def test_damaged_files_are_reported_with_what_to_do(tmp_path: Path, harm: object, sentence: str) -> None:
    directory = write_model(tmp_path / "tiny")
    assert callable(harm)
    harm(directory)
    with pytest.raises(MnemonError, match=sentence) as caught:
        StaticModel(directory)
    assert caught.value.kind is UNAVAILABLE
    assert caught.value.hint is not None
    assert "reinstall" in caught.value.hint


def test_unit_refuses_what_is_not_finite() -> None:
    assert unit(np.array([np.inf, 1], dtype=np.float32)) is None
    assert unit(np.array([np.nan, 1], dtype=np.float32)) is None
    assert unit(np.zeros(2, dtype=np.float32)) is None


# ---------------------------------------------------------------- the shipped model


def test_the_shipped_model_says_what_it_is() -> None:
    assert (SHIPPED.name, SHIPPED.dimension, SHIPPED.inline) == ("minilm_static_256_int8", 256, True)


def test_paraphrases_lie_closer_than_strangers() -> None:
    near = cosine(SHIPPED, "The cat sat on the mat", "A kitten was sitting on the rug")
    far = cosine(SHIPPED, "The cat sat on the mat", "Quarterly revenue exceeded forecasts")
    assert near > 0.45
    assert far < 0.15


def test_two_loads_agree_to_the_bit() -> None:
    texts = ["We moved billing to PostgreSQL.", "决定使用 SQLite 作为存储", "naïve café"]
    for left, right in zip(SHIPPED.embed(texts), registry.create(registry.DEFAULT).embed(texts), strict=True):
        assert left is not None
        assert right is not None
        assert left.tobytes() == right.tobytes()


def test_word_order_cannot_change_a_bit() -> None:
    left, right = SHIPPED.embed(["alpha beta gamma delta", "delta gamma beta alpha"])
    assert left is not None
    assert right is not None
    assert left.tobytes() == right.tobytes()


def test_a_very_long_text_is_embedded_from_its_beginning() -> None:
    assert cosine(SHIPPED, "database " * 512, "database " * 512 + "holiday " * 100_000) == pytest.approx(1.0)


@given(st.text(alphabet=st.characters(), max_size=300))
def test_any_text_is_a_unit_vector_or_nothing(text: str) -> None:
    (vector,) = SHIPPED.embed([text])
    if vector is not None:
        assert vector.shape == (256,)
        assert vector.dtype == np.float32
        assert vector.flags.c_contiguous
        assert float(np.dot(vector, vector)) == pytest.approx(1.0, abs=1e-5)
