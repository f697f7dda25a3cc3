"""A cross-encoder small enough to be written by hand: a pair's logit is the sum of the weights of its text's tokens.

The bytes are those of ONNX's protocol buffers (github.com/onnx/onnx, onnx/onnx.proto), so that no package is needed to
write them.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

INT64, FLOAT = 7, 1
VOCABULARY = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "redis", "cache", "tea")
WEIGHTS = (0.0, 0.0, 0.0, 0.0, 2.0, 1.0, -3.0)


def write_model(directory: Path, outputs: int = 1) -> Path:
    """Write `model.onnx` and `vocab.txt`; `outputs`: logits a pair."""
    (directory / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
    (directory / "model.onnx").write_bytes(_model(outputs))
    return directory


def _model(outputs: int) -> bytes:
    weights = [weight * (1.0 if column == outputs - 1 else 0.0) for weight in WEIGHTS for column in range(outputs)]
    nodes = (
        _node("Gather", ("weights", "input_ids"), "weight"),  # (pairs, tokens, outputs)
        _node("Cast", ("token_type_ids",), "float_type", _text(1, "to") + _number(3, FLOAT) + _number(20, 2)),
        _node("Unsqueeze", ("float_type", "last"), "of_text"),
        _node("Mul", ("weight", "of_text"), "counted"),
        _node("ReduceSum", ("counted", "tokens"), "logits", _text(1, "keepdims") + _number(3, 0) + _number(20, 2)),
    )
    graph = b"".join(_field(1, node) for node in nodes) + _text(2, "tiny")
    graph += _field(5, _tensor("weights", FLOAT, (len(WEIGHTS), outputs), struct.pack(f"<{len(weights)}f", *weights)))
    graph += _field(5, _tensor("last", INT64, (1,), struct.pack("<q", 2)))
    graph += _field(5, _tensor("tokens", INT64, (1,), struct.pack("<q", 1)))
    graph += b"".join(_field(11, _value(name, INT64)) for name in ("input_ids", "attention_mask", "token_type_ids"))
    graph += _field(12, _value("logits", FLOAT))
    return _number(1, 8) + _field(7, graph) + _field(8, _text(1, "") + _number(2, 13))


def _node(kind: str, inputs: Sequence[str], output: str, attribute: bytes = b"") -> bytes:
    found = b"".join(_text(1, name) for name in inputs) + _text(2, output) + _text(4, kind)
    return found + (_field(5, attribute) if attribute else b"")


def _tensor(name: str, kind: int, shape: Sequence[int], raw: bytes) -> bytes:
    return b"".join(_number(1, size) for size in shape) + _number(2, kind) + _text(8, name) + _field(9, raw)


def _value(name: str, kind: int) -> bytes:
    dimensions = b"".join(_field(1, _text(2, each)) for each in ("pairs", "width"))
    return _text(1, name) + _field(2, _field(1, _number(1, kind) + _field(2, dimensions)))


def _text(number: int, text: str) -> bytes:
    return _field(number, text.encode())


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])
