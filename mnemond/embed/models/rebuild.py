"""Rebuild the shipped models from the published one, or check that the shipped files are the pinned ones.

    python -m mnemond.embed.models.rebuild --verify
    python -m mnemond.embed.models.rebuild --source DIR --out DIR

`--source` is a copy of sentence-transformers/all-MiniLM-L6-v2 at revision 1110a243: model.safetensors, config.json,
tokenizer.json, tokenizer_config.json, vocab.txt. Rebuilding needs packages the daemon does not:
    pip install torch "transformers<5" "model2vec[distill]" onnx onnxruntime sympy
Exporter, optimiser and singular value decomposition round differently from version to version, so the result is as
good but seldom identical; the script prints its agreement with the shipped models. With torch 2.15,
transformers 4.57, model2vec 0.9 and onnxruntime 1.31 that was .996 for the table (whose projection is found with a
randomised method, and which now lacks the rows of [CLS] and [SEP], never used) and 1.0000 for the transformer.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from mnemond.embed.models import build_relatives
from mnemond.embed.onnx_model import OnnxModel

HERE = Path(__file__).parent

SOURCE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""model.safetensors of sentence-transformers/all-MiniLM-L6-v2, revision 1110a243."""

SHIPPED_SHA256 = {
    "minilm_static_256_int8/table.npy": "a6751993e7d73e58ac380e7e67d65d3a20572952e0e8bef7b176359355e0d00f",
    "minilm_static_256_int8/relatives.npy": "61f0b6f7ccd1aa42ec7003f7f3d5b0abc417438ee76519812323ee81379aa030",
    "minilm_static_256_int8/vocab.txt": "64b3dbafc28cad21fa98fd49d0f3e24cb45931f1f797499325cf9bace578ec0f",
    "minilm_l6_v2_int8/model.onnx": "554251dc34c17da08ed79ba3481b87ce926187d823a316ad004763ae9ffa3ed8",
    "minilm_l6_v2_int8/vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}

STATIC_DIMENSION = 256
OPSET = 14
HEADS = 12
HIDDEN = 384
SAMPLE_STEP = 28
"""Every 28th word is compared, about a thousand."""

SENTENCES = (
    "We decided to keep one database file for each store.",
    "The release of the second version was moved to the ninth of May.",
    "tea",
    "She prefers short answers, with the command first and the explanation after it, and never a table.",
)
FLOAT = 1
"""onnx.TensorProto.FLOAT; onnxruntime cannot infer it behind its own fused operators."""

QUANTIZE = {"MatMulConstBOnly": True, "DefaultTensorType": FLOAT}
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file, in hexadecimal; "missing" if there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "missing"


def differing(directory: Path) -> list[str]:
    """Return a sentence for every pinned file that `directory` lacks or that differs."""
    found = {name: sha256_of(directory / name) for name in SHIPPED_SHA256}
    return [f"{name}: sha256 {found[name]}, pinned {pin}" for name, pin in SHIPPED_SHA256.items() if found[name] != pin]


def quantized(rows: npt.NDArray[np.float32]) -> npt.NDArray[np.int8]:
    """Convert rows to int8 with one scale for all: the largest magnitude becomes 127."""
    whole: npt.NDArray[np.int8] = np.rint(rows * (127.0 / np.abs(rows).max())).astype(np.int8)
    return whole


def build_static(source: Path, out: Path) -> None:
    """Run model2vec's distillation with its defaults (zipf weighting by rank, sif coefficient 1e-4), convert to int8,
    and compute the relatives of the result (build_relatives.py)."""
    distilled = _load("model2vec.distill").distill(model_name=str(source), pca_dims=STATIC_DIMENSION, device="cpu")
    out.mkdir(parents=True, exist_ok=True)
    np.save(out / "table.npy", quantized(np.asarray(distilled.embedding, dtype=np.float32)))
    (out / "vocab.txt").write_text("\n".join(distilled.tokens) + "\n", encoding="utf-8")
    build_relatives.build(out)


def build_onnx(source: Path, out: Path) -> None:
    """Export, fuse, quantise. Attention is exported in its eager form, which is the one the fusion recognises."""
    out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as scratch:
        plain, fused = Path(scratch) / "plain.onnx", Path(scratch) / "fused.onnx"
        _export(source, plain)
        optimizer = _load("onnxruntime.transformers.optimizer")
        model = optimizer.optimize_model(str(plain), "bert", num_heads=HEADS, hidden_size=HIDDEN, opt_level=0)
        model.save_model_to_file(str(fused))
        _load("onnxruntime.quantization").quantize_dynamic(
            str(fused), str(out / "model.onnx"), per_channel=True, extra_options=QUANTIZE
        )
    (out / "vocab.txt").write_bytes((source / "vocab.txt").read_bytes())


def _export(source: Path, target: Path) -> None:
    torch, transformers = _load("torch"), _load("transformers")
    network = transformers.AutoModel.from_pretrained(str(source), attn_implementation="eager").eval()
    example = torch.ones((1, 8), dtype=torch.int64)
    axes = {0: "b", 1: "s"}
    torch.onnx.export(
        network, (example, example, example * 0), str(target), opset_version=OPSET, dynamo=False,
        input_names=list(INPUTS), output_names=["last_hidden_state"],
        dynamic_axes=dict.fromkeys((*INPUTS, "last_hidden_state"), axes),
    )  # fmt: skip


def _load(name: str) -> Any:  # noqa: ANN401 - packages the daemon does not depend on, hence without types here
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise SystemExit(f"rebuilding needs {name.partition('.')[0]}; see the top of {__file__}") from error


def static_agreement(built: Path, shipped: Path) -> float:
    """Compute the cosine between the pairwise similarities of the same tokens in two table models; 1.0 if they agree.

    Compared are similarities, not rows, because principal components are defined only up to sign.
    """
    words = [(directory / "vocab.txt").read_text(encoding="utf-8").split() for directory in (built, shipped)]
    common = sorted(set(words[0]) & set(words[1]))[::SAMPLE_STEP]
    one, other = (_sample(path, names, common) for path, names in zip((built, shipped), words, strict=True))
    return float((one * other).sum() / np.sqrt((one * one).sum() * (other * other).sum()))


def onnx_agreement(built: Path, shipped: Path) -> float:
    """Return the lowest cosine between the vectors that two transformers give the same sentences."""
    one, other = (OnnxModel(path).embed(SENTENCES) for path in (built, shipped))
    cosines = [
        float(left @ right) for left, right in zip(one, other, strict=True) if left is not None and right is not None
    ]
    return min(cosines)


def _sample(directory: Path, words: list[str], wanted: list[str]) -> npt.NDArray[np.float32]:
    place = {word: number for number, word in enumerate(words)}
    rows = np.load(directory / "table.npy")[[place[word] for word in wanted]]
    return _similarities(rows.astype(np.float32))


def _similarities(rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    unit = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.float32(1e-9))
    similarities: npt.NDArray[np.float32] = unit @ unit.T
    return similarities


def rebuild(source: Path, out: Path) -> list[str]:
    """Build everything below `out`, and return `differing(out)`. Exits if the source is not the pinned one."""
    found = sha256_of(source / "model.safetensors")
    if found != SOURCE_SHA256:
        raise SystemExit(f"{source / 'model.safetensors'}: sha256 {found}, expected {SOURCE_SHA256}")
    static, onnx = "minilm_static_256_int8", "minilm_l6_v2_int8"
    build_static(source, out / static)
    build_onnx(source, out / onnx)
    sys.stdout.write(
        f"agreement with the shipped models (cosine): {static} {static_agreement(out / static, HERE / static):.4f},"
        f" {onnx} {onnx_agreement(out / onnx, HERE / onnx):.4f}\n"
    )
    return differing(out)


def main(argv: list[str] | None = None) -> int:
    """Return 0 if every file has its pinned sha256, else 1."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verify", action="store_true", help="only check the shipped files")
    parser.add_argument("--source", type=Path, help="directory of the published model")
    parser.add_argument("--out", type=Path, help="directory to build into")
    options = parser.parse_args(argv)
    if options.verify:
        problems = differing(HERE)
    elif options.source and options.out:
        problems = rebuild(options.source, options.out)
    else:
        parser.error("give --verify, or --source and --out")
    for problem in problems:
        sys.stderr.write(problem + "\n")
    sys.stdout.write(f"{len(SHIPPED_SHA256) - len(problems)} of {len(SHIPPED_SHA256)} files as pinned\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
