"""The built-in embedders by name. A new one is a file beside this and a line below."""

from __future__ import annotations

import difflib
import hashlib
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Final

import msgspec

from mnemond.config.settings import EmbeddingSettings
from mnemond.embed import ollama
from mnemond.embed.embedder import Embedder, sentence
from mnemond.embed.http import Address, parse
from mnemond.embed.onnx_model import OnnxModel
from mnemond.embed.remote import SWITCH, Endpoint, Identity, Limits, RemoteEmbedder, Wire, connect
from mnemond.embed.static_model import StaticModel
from mnemond.errors import CONFIG, UNAVAILABLE, MnemonError
from mnemond.text.tokens import PAIRED_SCRIPTS

# What a cosine means to one model: thresholds are stated for a reference model and carried over to the others.
#
# On the reference scale two unrelated memories have a cosine of .35 and a memory and its paraphrase one of .85 (spec
# 7.3). Where those two lie for a model is measured, and a threshold is moved along the straight line through them.


PAIRS: Final = 500
"""Pairs a median is taken over (spec 7.3)."""

DROPPED: Final = 0.30
"""Share of the words that a self-paraphrase lacks (spec 7.3)."""

_PIECE = re.compile(rf"[{PAIRED_SCRIPTS}]\s*|[^\s{PAIRED_SCRIPTS}]+\s*")


class Calibration(msgspec.Struct, frozen=True):
    """Median cosines of one model: of unrelated memories, and of memories with their paraphrases."""

    unrelated: float
    paraphrase: float


REFERENCE: Final = Calibration(unrelated=0.35, paraphrase=0.85)
"""The scale thresholds are stated on (spec 7.3)."""

SHIPPED: Final = {
    "minilm_static_256_int8": Calibration(unrelated=0.494, paraphrase=0.963),
    "minilm_l6_v2_int8": Calibration(unrelated=0.134, paraphrase=0.901),
    "nomic-embed-text": Calibration(unrelated=0.49, paraphrase=0.92),
}
"""By the model's name. The built-in two are measured: 500 random pairs, each within one store, and 500
self-paraphrases, from 13 English stores of conversations and commit messages (LoCoMo, BEAM, LongMemEval, Tendermint;
8,700 memories, their first 2,000 characters). Within single stores the static model's unrelated pairs lie between
.38 (commit messages) and .70 (one long conversation), and at .83 for Chinese, of which both models know little more
than the characters; so a store's own calibration is better than this table.

nomic-embed-text is not measured but pieced together: its published cut-off for "the same subject" is .74 where
MiniLM's is .58 (S3), genuine duplicates begin at .92 (a report on 312 memories), and `unrelated` is what puts .74 as
far between the two medians as .58 is between those measured for MiniLM above.
"""


def scaled(threshold: float, calibration: Calibration | None) -> float:
    """A threshold of the reference scale on the scale of a model, in [0, 1]; unchanged when nothing is known of it."""
    if calibration is None:
        return threshold
    span = (calibration.paraphrase - calibration.unrelated) / (REFERENCE.paraphrase - REFERENCE.unrelated)
    return min(1.0, max(0.0, calibration.unrelated + (threshold - REFERENCE.unrelated) * span))


def unscaled(cosine: float, calibration: Calibration | None) -> float:
    """A cosine of a model on the reference scale, in [0, 1]: what `scaled` leads back from."""
    if calibration is None:
        return cosine
    span = (REFERENCE.paraphrase - REFERENCE.unrelated) / (calibration.paraphrase - calibration.unrelated)
    return min(1.0, max(0.0, REFERENCE.unrelated + (cosine - calibration.unrelated) * span))


def shipped(model: str) -> Calibration | None:
    """What is known of a model before anybody measured it here; a tag after a colon (":latest") does not count."""
    return SHIPPED.get(model.partition(":")[0])


def calibrate(unrelated: Sequence[float], paraphrases: Sequence[float]) -> Calibration:
    """The medians of measured cosines.

    Raises MnemonError(UNAVAILABLE) when there is nothing to measure, or when the model (or the sample) cannot tell a
    paraphrase from something else: no threshold would mean anything then.
    """
    if not unrelated or not paraphrases:
        raise _unusable(f"{len(unrelated)} pairs and {len(paraphrases)} paraphrases could be measured")
    found = Calibration(unrelated=median(unrelated), paraphrase=median(paraphrases))
    if not found.paraphrase > found.unrelated:
        raise _unusable(f"paraphrases are no more alike ({found.paraphrase:.3f}) than others ({found.unrelated:.3f})")
    return found


def token_dropout(text: str, share: float = DROPPED, seed: int = 0) -> str:
    """`text` without `share` of its words (of its characters where a script has no spaces), rounded down, one at
    least left: a paraphrase of itself. The same text, share and seed always lose the same words."""
    pieces, own = _PIECE.findall(text), _draw(seed, 0, text)
    lost = set(sorted(range(len(pieces)), key=lambda place: _draw(own, place))[: int(len(pieces) * share)])
    return "".join(piece for place, piece in enumerate(pieces) if place not in lost).strip()


def unrelated_pairs(count: int, wanted: int = PAIRS, seed: int = 0) -> list[tuple[int, int]]:
    """`wanted` pairs of different positions below `count`, drawn with repeats; none for fewer than two positions."""
    if count < 2:
        return []
    pairs = []
    for number in range(wanted):
        left = _draw(seed, 2 * number) % count
        right = _draw(seed, 2 * number + 1) % (count - 1)
        pairs.append((left, right + (right >= left)))
    return pairs


def _draw(seed: int, place: int, text: str = "") -> int:
    """A number that looks drawn and is not: equal input, equal output."""
    digest = hashlib.blake2b(f"{seed} {place} {text}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def _unusable(why: str) -> MnemonError:
    return MnemonError(
        UNAVAILABLE,
        f"the embedder cannot be calibrated on this store: {why}",
        hint="store more memories on different subjects, then try again; until then shipped values are used",
    )


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


# Every embedder a configuration allows. A new kind of server is a file beside this and a line below.


WIRES: Final[dict[str, Callable[[Address, str | None, str, int | None], Wire]]] = {
    "ollama": ollama.wire,
    "openai": ollama.wire_openai_compatible,
}
"""By provider: what builds a wire from an address, a key, the model and the wanted number of dimensions."""

OFFLINE: Final = ("builtin", "none")
"""Providers that reach for nothing."""

OLLAMA_DEFAULT: Final = "nomic-embed-text"
"""The model asked of Ollama when none is named (S1)."""


class Embedders:
    """Every embedder a configuration allows: the one of new stores, and those existing stores were made with.

    For any thread without an event loop; everything but the constructor may block.
    """

    def __init__(self, settings: EmbeddingSettings, environment: Mapping[str, str], now_s: Callable[[], float]) -> None:
        """Looks at every setting and reaches for nothing. `now_s` is a clock in seconds that never goes back.

        Raises MnemonError(CONFIG) for an endpoint, a model or a key that cannot be used.
        """
        self._settings = settings
        self._now_s = now_s
        self._endpoints: dict[tuple[str, str], Endpoint] = {}
        self._loaded: dict[str, Embedder] = {}
        self._lacking: str | None = None
        self._turn = threading.Lock()
        if settings.provider == "builtin":
            check(settings.model or DEFAULT)
        if settings.provider == "openai" and settings.model is None:
            raise MnemonError(
                CONFIG, 'embedding.model: the provider "openai" needs the name of a model', hint="set embedding.model"
            )
        self._address = None if settings.provider in OFFLINE else parse(settings.endpoint, "embedding.endpoint")
        self._key = _key(settings.api_key_env, environment)

    @property
    def wants(self) -> bool:
        """Whether new stores shall have an embedder."""
        return self._settings.provider != "none"

    @property
    def lacking(self) -> str | None:
        """Why the embedder of new stores was not to be had when it was last asked for; None when it was."""
        return self._lacking

    def preferred(self) -> Embedder | None:
        """The embedder of new stores; None when there shall be none.

        A model behind an endpoint is asked what it is, within `probe_timeout_s`. Raises MnemonError(UNAVAILABLE).
        """
        try:
            found = self._preferred()
        except MnemonError as error:
            self._lacking = sentence(error)
            raise
        self._lacking = None
        return found

    def _preferred(self) -> Embedder | None:
        provider, model = self._settings.provider, self._settings.model
        if provider == "none":
            return None
        if provider == "builtin":
            return self._built_in(model or DEFAULT)
        if provider == "auto":
            return self._automatic(model)
        return connect(self._endpoint(provider, model or OLLAMA_DEFAULT))

    def named(self, provider: str, model: str | None) -> Embedder:
        """The embedder a person asks for; `model` None is the one configured for the provider, or its default.

        Raises MnemonError(CONFIG) when the configuration does not let memories go there or there is no such model,
        MnemonError(UNAVAILABLE) when it does not answer.
        """
        configured, of_configuration = self._settings.provider, self._settings.model
        if provider == "builtin":
            chosen = model or of_configuration or DEFAULT
            return self._built_in(chosen if model or chosen in NAMES else DEFAULT)
        if configured != provider and (configured, provider) != ("auto", "ollama"):
            raise MnemonError(
                CONFIG,
                f'"{configured}" is configured; memories go to a server only when embedding.provider names it',
                hint=f'set embedding.provider = "{provider}" and embedding.endpoint, then: mnemonctl daemon restart',
            )
        own = None if of_configuration in NAMES else of_configuration
        return connect(self._endpoint(provider, model or own or OLLAMA_DEFAULT))

    def _automatic(self, model: str | None) -> Embedder:
        """Ollama when it answers and has the model, else a built-in one."""
        built_in = model is not None and model in NAMES
        try:
            return connect(self._endpoint("ollama", OLLAMA_DEFAULT if model is None or built_in else model))
        except MnemonError:
            return self._built_in(model if model is not None and built_in else DEFAULT)

    def of_record(self, name: str, dimension: int, fingerprint: str) -> Embedder:
        """The embedder a store was made with, from what the store recorded about it.

        One behind an endpoint is not asked for anything yet: it answers, or says why not, when it embeds. Raises
        MnemonError(UNAVAILABLE) when the configuration does not allow it, or a built-in one cannot be loaded.
        """
        provider = provider_of(fingerprint)
        if provider not in WIRES:
            return self._built_in_of(name, fingerprint)
        configured = self._settings.provider
        if configured != provider and (configured, provider) != ("auto", "ollama"):
            raise MnemonError(
                UNAVAILABLE,
                f'this store was made with {name} of the provider "{provider}", and "{configured}" is configured',
                hint=f'set embedding.provider = "{provider}", or {SWITCH}',
            )
        return RemoteEmbedder(self._endpoint(provider, name), Identity(name, dimension, fingerprint))

    def forget(self) -> None:
        """Have every loaded model let go of what it kept of texts; those behind an endpoint keep nothing."""
        for embedder in list(self._loaded.values()):
            embedder.forget()

    def _endpoint(self, provider: str, model: str) -> Endpoint:
        """One for each model, so that stores share what is known of its health."""
        with self._turn:
            found = self._endpoints.get((provider, model))
            if found is None:
                settings = self._settings
                where = self._address or parse(settings.endpoint, "embedding.endpoint")
                limits = Limits(settings.batch_size, settings.timeout_s, settings.probe_timeout_s, settings.dimensions)
                wire = WIRES[provider](where, self._key, model, settings.dimensions)
                found = self._endpoints[provider, model] = Endpoint(wire, limits, self._now_s)
            return found

    def _built_in(self, name: str) -> Embedder:
        """One for each model: it holds megabytes."""
        with self._turn:
            if name not in self._loaded:
                self._loaded[name] = create(name)
            return self._loaded[name]

    def _built_in_of(self, name: str, fingerprint: str) -> Embedder:
        try:
            found = self._built_in(name)
        except MnemonError as error:
            raise MnemonError(
                UNAVAILABLE, f"this store's embedder is not available: {error.message}", hint=error.hint
            ) from error
        if found.fingerprint != fingerprint:
            raise MnemonError(UNAVAILABLE, f"this store's vectors were made by another build of {name}", hint=SWITCH)
        return found


def provider_of(fingerprint: str) -> str:
    """Who made the vectors of an embedder with this fingerprint: "builtin", or a name in WIRES."""
    provider = fingerprint.partition(":")[0]
    return provider if provider in WIRES else "builtin"


def check_embedders(embedder: Embedder) -> None:
    """Raises MnemonError(UNAVAILABLE) when an embedder is behind something that does not answer just now; may block."""
    if isinstance(embedder, RemoteEmbedder):
        embedder.check()


def _key(variable: str | None, environment: Mapping[str, str]) -> str | None:
    """The API key: from the environment alone, never from a file. A key that is not set is the server's to refuse."""
    key = "" if variable is None else environment.get(variable, "").strip()
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise MnemonError(
            CONFIG,
            f"the variable {variable}, which embedding.api_key_env names, holds characters no key has",
            hint="printable ASCII without blanks is expected; look for a line break or a quotation mark",
        )
    return key or None
