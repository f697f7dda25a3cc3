"""An E5 model of one layer and a few words, in the layout of the real file, and its vectors computed slowly."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

WIDTH, HEADS, INNER, POSITIONS, EPSILON = 32, 2, 64, 16, 1e-12
PIECES = (
    "<s>",
    "<pad>",
    "</s>",
    "<unk>",
    "\u2581tea",
    "\u2581",
    "t",
    "ea",
    "passage",
    "\u2581query",
    ":",
    "茶",
    "\u2581passage",
)
SCORES = (0.0, 0.0, 0.0, 0.0, -3.0, -2.0, -4.0, -4.5, -5.0, -3.0, -1.0, -6.0, -4.0)
REPLACED = {0x0A: " ", 0xFF34: "t", 0x07: ""}

Floats = npt.NDArray[np.float64]


class TinyE5:
    """The weights, made from a seed; `raw` is the file."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(5)
        self.tensors: dict[str, Floats] = {}
        self._stored: dict[str, bytes] = {}
        self._quantised("emb.word", len(PIECES), WIDTH)
        for name, size in (("emb.pos", POSITIONS * WIDTH), ("emb.type", 2 * WIDTH)):
            self._plain(name, size)
        self._plain("emb.ln.w", WIDTH, 1.0)
        self._plain("emb.ln.b", WIDTH)
        for part, (out, inside) in {
            "q": (WIDTH, WIDTH), "k": (WIDTH, WIDTH), "v": (WIDTH, WIDTH), "ao": (WIDTH, WIDTH),
            "fi": (INNER, WIDTH), "fo": (WIDTH, INNER),
        }.items():  # fmt: skip
            self._quantised(f"l0.{part}.w", out, inside)
            self._plain(f"l0.{part}.b", out)
        for part in ("aln", "oln"):
            self._plain(f"l0.{part}.w", WIDTH, 1.0)
            self._plain(f"l0.{part}.b", WIDTH)
        self.raw = self._file()

    def vector(self, ids: Sequence[int]) -> Floats:
        """Compute the vector of a text token by token, as the papers say."""
        tensors = self.tensors
        positions = tensors["emb.pos"].reshape(POSITIONS, WIDTH)
        state = [
            tensors["emb.word"][number] + positions[at] + tensors["emb.type"][:WIDTH] for at, number in enumerate(ids)
        ]
        state = [self._norm(each, "emb.ln") for each in state]
        parts = {part: [tensors[f"l0.{part}.w"] @ each + tensors[f"l0.{part}.b"] for each in state] for part in "qkv"}
        size = WIDTH // HEADS
        attended = []
        for query in parts["q"]:
            row = []
            for head in range(HEADS):
                cut = slice(head * size, (head + 1) * size)
                shares = np.exp([query[cut] @ key[cut] / math.sqrt(size) for key in parts["k"]])
                shares = shares / shares.sum()
                row.append(sum(share * value[cut] for share, value in zip(shares, parts["v"], strict=True)))
            attended.append(np.concatenate(row))
        state = [
            self._norm(each + tensors["l0.ao.w"] @ seen + tensors["l0.ao.b"], "l0.aln")
            for each, seen in zip(state, attended, strict=True)
        ]
        final = []
        for each in state:
            inner = tensors["l0.fi.w"] @ each + tensors["l0.fi.b"]
            inner = np.array([0.5 * value * (1 + math.erf(value / math.sqrt(2))) for value in inner])
            final.append(self._norm(each + tensors["l0.fo.w"] @ inner + tensors["l0.fo.b"], "l0.oln"))
        mean = np.mean(final, axis=0)
        return np.asarray(mean / np.linalg.norm(mean))

    def _norm(self, row: Floats, name: str) -> Floats:
        centred = row - row.mean()
        return np.asarray(
            centred / math.sqrt((centred**2).mean() + EPSILON) * self.tensors[f"{name}.w"] + self.tensors[f"{name}.b"]
        )

    def _plain(self, name: str, size: int, around: float = 0.0) -> None:
        values = (around + self._random.normal(0.0, 0.3, size)).astype("<f4")
        self.tensors[name] = values.astype(np.float64)
        self._stored[name] = values.tobytes()

    def _quantised(self, name: str, out: int, inside: int) -> None:
        codes = self._random.integers(0, 16, (out, inside // 32, 32))
        scales = self._random.uniform(0.02, 0.1, (out, inside // 32)).astype("<f2")
        self.tensors[name] = ((codes - 8) * scales.astype(np.float64)[..., None]).reshape(out, inside)
        blocks = (codes[..., :16] | codes[..., 16:] << 4).astype(np.uint8)
        self._stored[name] = b"".join(
            scales[row, at].tobytes() + blocks[row, at].tobytes() for row in range(out) for at in range(inside // 32)
        )

    def _file(self) -> bytes:
        texts = [piece.encode() for piece in PIECES]
        offsets = np.cumsum([0, *map(len, texts)]).astype("<u4")
        replaced = b"".join(
            struct.pack("<IB", code, len(text)) + b"".join(struct.pack("<I", ord(each)) for each in text)
            for code, text in REPLACED.items()
        )
        found = b"E5S1" + struct.pack("<I7ifi", 1, WIDTH, 1, HEADS, INNER, len(PIECES), POSITIONS, 2, EPSILON, 32)
        found += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, int(offsets[-1])) + offsets.tobytes()
        found += np.array(SCORES, dtype="<f4").tobytes() + b"".join(texts)
        found += struct.pack("<iI", len(REPLACED), len(replaced)) + replaced
        listed = sum(2 + len(name) + 21 for name in self._stored)
        place = len(found) + 4 + listed
        found += struct.pack("<i", len(self._stored))
        for name, stored in self._stored.items():
            found += struct.pack("<H", len(name)) + name.encode() + struct.pack("<BIQQ", 0, 0, place, len(stored))
            place += len(stored)
        return found + b"".join(self._stored.values())
