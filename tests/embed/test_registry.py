"""Embedders by name, and the files they come from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mnemond.embed import registry
from mnemond.embed.e5_model import NAME as E5
from mnemond.embed.models import rebuild
from mnemond.errors import CONFIG, MnemonError
from tests.tables import each_row

BUNDLED = [name for name in registry.NAMES if name != E5]
"""Models whose files are in this package."""


def test_the_default_is_the_first_name() -> None:
    assert registry.NAMES[0] == registry.DEFAULT == registry.create(registry.DEFAULT).name


@each_row(
    ("typed", "meant"),
    [
        ("minilm_static_256", "minilm_static_256_int8"),
        ("minilm-l6-v2", "minilm_l6_v2_int8"),
        ("multilingual-e5", "multilingual_e5_small_q4"),
        ("日", "m"),
    ],
)
def test_an_unknown_name_gets_the_nearest_one(typed: str, meant: str) -> None:
    with pytest.raises(MnemonError, match=f'no embedding model "{typed}"') as caught:
        registry.create(typed)
    assert caught.value.kind is CONFIG
    assert caught.value.hint is not None
    assert f"did you mean {meant}" in caught.value.hint


def test_a_name_is_not_a_path() -> None:
    with pytest.raises(MnemonError):
        registry.create("../models/minilm_static_256_int8")


def test_every_name_has_its_files_and_they_are_readable_by_all() -> None:
    files = [path for name in BUNDLED for path in (registry.MODELS / name).iterdir()]
    assert len(files) == 5
    assert all(path.stat().st_mode & 0o444 == 0o444 for path in files)


def test_the_licence_and_the_notice_ship_with_the_models() -> None:
    assert "Apache License" in (registry.MODELS / "LICENSE").read_text(encoding="utf-8")
    notice = (registry.MODELS / "NOTICE").read_text(encoding="utf-8")
    assert rebuild.SOURCE_SHA256 in notice
    assert all(f"{name}/" in notice for name in BUNDLED)


def test_the_shipped_files_are_the_pinned_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert rebuild.main(["--verify"]) == 0
    assert capsys.readouterr().out == "5 of 5 files as pinned\n"


def test_another_file_would_be_noticed(tmp_path: Path) -> None:
    static = tmp_path / "minilm_static_256_int8"
    static.mkdir()
    (static / "table.npy").write_bytes(b"x")
    problems = rebuild.differing(tmp_path)
    assert len(problems) == 5
    assert "minilm_static_256_int8/vocab.txt: sha256 missing" in problems[2]


def test_rebuilding_refuses_another_source(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"not the model")
    with pytest.raises(SystemExit, match="expected 53aa51172d14"):
        rebuild.main(["--source", str(tmp_path), "--out", str(tmp_path / "out")])


def test_rebuilding_needs_both_directories(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        rebuild.main([])
    assert "--source and --out" in capsys.readouterr().err


def test_quantising_keeps_the_largest_magnitude_at_127() -> None:
    rows = np.array([[0.5, -2.0], [1.0, 0.01]], dtype=np.float32)
    assert rebuild.quantized(rows).tolist() == [[32, -127], [64, 1]]


def test_agreement_is_one_with_itself_and_ignores_signs_and_the_order_of_rows(tmp_path: Path) -> None:
    shipped = registry.MODELS / registry.DEFAULT
    mirrored = np.load(shipped / "table.npy")[::-1].copy()
    mirrored[:, ::2] *= -1
    np.save(tmp_path / "table.npy", mirrored)
    words = (shipped / "vocab.txt").read_text(encoding="utf-8").split()
    (tmp_path / "vocab.txt").write_text("\n".join(reversed(words)) + "\n", encoding="utf-8")
    assert rebuild.static_agreement(tmp_path, shipped) == pytest.approx(1.0)


def test_agreement_with_another_table_is_low(tmp_path: Path) -> None:
    shipped = registry.MODELS / registry.DEFAULT
    np.save(tmp_path / "table.npy", np.roll(np.load(shipped / "table.npy"), 1, axis=0))
    (tmp_path / "vocab.txt").write_bytes((shipped / "vocab.txt").read_bytes())
    assert rebuild.static_agreement(tmp_path, shipped) < 0.5
