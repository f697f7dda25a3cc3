"""The built-in embedders by name. A new one is a file beside this and a line below."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

from mnemond.embed.embedder import Embedder
from mnemond.embed.onnx_model import OnnxModel
from mnemond.embed.static_model import StaticModel
from mnemond.errors import CONFIG, MnemonError

DEFAULT = "minilm_static_256_int8"

MODELS = Path(__file__).parent / "models"

_BUILDERS: dict[str, Callable[[Path], Embedder]] = {
    DEFAULT: StaticModel,
    "minilm_l6_v2_int8": OnnxModel,
}

NAMES: tuple[str, ...] = tuple(_BUILDERS)
"""Every name `create` knows, the default first."""


def create(name: str) -> Embedder:
    """Load the embedder called `name`; milliseconds for the default, a fraction of a second for the transformer.

    CONFIG when there is none by that name (it says the nearest), UNAVAILABLE when it lacks a package or a file.
    """
    check(name)
    return _BUILDERS[name](MODELS / name)


def check(name: str) -> None:
    """Raises MnemonError(CONFIG), which says the nearest name, when there is no embedder called `name`."""
    if name not in _BUILDERS:
        nearest = difflib.get_close_matches(name, NAMES, n=1, cutoff=0.0)
        raise MnemonError(
            CONFIG,
            f'embedding.model: there is no embedding model "{name[:80]}"',
            hint=f"did you mean {nearest[0]}? Known: {', '.join(NAMES)}",
        )
