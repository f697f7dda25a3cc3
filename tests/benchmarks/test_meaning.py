"""benchmarks.meaning and its embedders."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.meaning import paraphrases
from mnemond.embed.registry import DEFAULT, MODELS
from mnemond.embed.static_model import StaticModel


@pytest.fixture(scope="module")
def table() -> StaticModel:
    return StaticModel(MODELS / DEFAULT)


def test_paraphrases_of_a_file_are_ranked(tmp_path: Path, table: StaticModel) -> None:
    path = tmp_path / "paraphrases.jsonl"
    path.write_text(
        '{"language":"en","note":"the cat sleeps","question":"a feline naps"}\n'
        '{"language":"en","note":"invoices are due in May","question":"when must bills be paid"}\n'
        '{"language":"zh","note":"猫在睡觉","question":"猫在睡觉"}\n'
    )
    found = paraphrases(table, path)
    assert found["en cosine"] == found["zh"] == 1.0
    assert paraphrases(None, path).keys() == {"en", "zh"}
