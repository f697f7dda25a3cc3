"""Reading a model's files from the package, with errors that say what to do when one is missing or damaged."""

from __future__ import annotations

import hashlib
import io
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mnemond.embed.wordpiece import WordPiece, read_vocabulary
from mnemond.errors import UNAVAILABLE, MnemonError

REINSTALL = "reinstall the package: pip install --force-reinstall mnemond"


def damaged(path: Path, what: str) -> MnemonError:
    """The error for a model file that cannot be used."""
    return MnemonError(UNAVAILABLE, f"the embedding model cannot be loaded: {path} {what}", hint=REINSTALL)


def read_model(path: Path) -> bytes:
    """A whole file. UNAVAILABLE when it cannot be read.

    It is copied rather than mapped: replacing the file of a running daemon would kill it at the next page it touches.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise damaged(path, f"could not be read ({error.strerror})") from error


def read_array(path: Path, raw: bytes, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """The array of two dimensions in `raw`, the bytes of a .npy file, as a read-only view. UNAVAILABLE for any other.

    Nothing in the file is unpickled, and its header allocates nothing.
    """
    stream = io.BytesIO(raw)
    try:
        version = np.lib.format.read_magic(stream)
        shape, fortran, found = np.lib.format.read_array_header_1_0(stream)
    except ValueError as error:
        raise damaged(path, f"is not an array file ({error})") from error
    if version != (1, 0) or found != dtype or fortran or len(shape) != 2:
        raise damaged(path, f"holds {found} of shape {shape}, expected {dtype} in two dimensions")
    start = stream.tell()
    if len(raw) - start != math.prod(shape) * dtype.itemsize:
        raise damaged(path, f"holds {len(raw) - start} bytes for shape {shape}")
    return np.frombuffer(raw, dtype=dtype, offset=start).reshape(shape)


def read_word_pieces(path: Path) -> WordPiece:
    """The tokeniser of a `vocab.txt`. UNAVAILABLE when it cannot be read or lacks "[UNK]"."""
    try:
        return WordPiece(read_vocabulary(path))
    except OSError as error:
        raise damaged(path, f"could not be read ({error.strerror})") from error
    except ValueError as error:
        raise damaged(path, f"is not a vocabulary ({error})") from error


def fingerprint(algorithm: str, *parts: bytes) -> str:
    """sha256 of the algorithm's version and of the model's files, in order; the lengths keep them apart."""
    digest = hashlib.sha256(algorithm.encode())
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return f"sha256:{digest.hexdigest()}"
