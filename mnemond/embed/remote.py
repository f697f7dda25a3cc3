"""Models behind a server: when it is contacted, how much is sent at once, and which answers are valid."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

import numpy as np

from mnemond.config.reading import EmbeddingSettings
from mnemond.embed.embedder import Purpose, fingerprint, unit
from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.http import Deadline, NoAnswerError
from mnemond.model.changes import Vector
from mnemond.model_servers import MAX_DIMENSION, PROBE, ModelInfo, TooLongError

ALGORITHM: Final = "remote-1"
"""Raised when the same model would give other vectors: prefixes, truncation or normalisation changed."""

REMEMBERED_S: Final = 30.0
"""Seconds for which the outcome of a probe is used."""

QUERY_S: Final = 2.0
"""Seconds a recall waits for its query's vector, probe included, before it goes on with keywords."""

SHORTEST_CUT: Final = 256
"""Characters below which a text that the model calls too long is not shortened any further."""

SWITCH: Final = "run `mnemonctl embed --switch` to make the vectors anew"

PREFIXES: Final[dict[str, dict[Purpose, str]]] = {
    "nomic-embed-text": {"document": "search_document: ", "query": "search_query: "},
    "multilingual-e5": {"document": "passage: ", "query": "query: "},
    "e5-": {"document": "passage: ", "query": "query: "},
}
"""Prefixes that models were trained with, by the beginning of the model's name, without its publisher; from the cards
of nomic-ai/nomic-embed-text-v1.5 and intfloat/multilingual-e5-small. All other models read the text as it is."""


class ServerApi(Protocol):
    """One model of a server of some kind. Every method raises MnemonError(UNAVAILABLE)."""

    @property
    def provider(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def service(self) -> str:
        """The name of the server in errors, with its address."""
        ...

    def describe(self, deadline: Deadline) -> ModelInfo:
        """Check that the server has the model, cheaply."""
        ...

    def embeddings(self, texts: Sequence[str], deadline: Deadline) -> list[list[float]]:
        """Return the vectors as the server gives them, in the order of the texts; not necessarily as many.

        Raises TooLongError if the server says that a text is longer than the model can read.
        """
        ...


class Identity(NamedTuple):
    """The identity of an embedder, as a store records it."""

    name: str
    dimension: int
    fingerprint: str


def identify(api: ServerApi, digest: str, dimension: int) -> Identity:
    """Compute the identity of a model, which does not depend on the server's address."""
    parts = (api.provider, api.model, digest, str(dimension))
    made_of = fingerprint(ALGORITHM, *(part.encode() for part in parts))
    return Identity(api.model, dimension, f"{api.provider}:{made_of}")


class Endpoint:
    """A server's state of health, and requests that respect it. Embedders of several stores share one; any thread."""

    def __init__(self, api: ServerApi, settings: EmbeddingSettings, now_s: Callable[[], float]) -> None:
        """`now_s` is a monotonic clock in seconds."""
        self.api = api
        self.settings = settings
        self._now_s = now_s
        self._lock = threading.Lock()
        self._probed: tuple[float, ModelInfo | MnemonError] | None = None  # until when, outcome
        self._slow_until = 0.0

    def probe(self, deadline: Deadline | None = None) -> ModelInfo:
        """Return the model's description, at most REMEMBERED_S old. One thread sends the request, others wait for it.

        Raises MnemonError(UNAVAILABLE), at once if a probe failed a moment ago.
        """
        limit = self.settings.probe_timeout_s
        deadline = deadline or self._within(limit)
        if not self._lock.acquire(timeout=deadline.left()):
            raise self.invalid(f"did not answer within {deadline.seconds:.1f} s", "see that it runs and is idle")
        try:
            if self._probed is not None and self._now_s() < self._probed[0]:
                found = self._probed[1]
            else:
                found = self._describe(self._within(min(deadline.left(), limit)))
                self._remember(found)
        finally:
            self._lock.release()
        if isinstance(found, MnemonError):
            raise MnemonError(found.kind, found.message, hint=found.hint)
        return found

    def vectors(self, texts: Sequence[str], purpose: Purpose, fits: Callable[[str], bool]) -> list[list[float]]:
        """Return the raw vectors of one batch, as many as texts; `fits`: the model with this digest is the right one.

        Raises MnemonError(UNAVAILABLE).
        """
        limit = self.settings.timeout_s if purpose == "document" else min(self.settings.timeout_s, QUERY_S)
        deadline = self._within(limit)
        if purpose == "query" and self._now_s() < self._slow_until:
            raise self.invalid(f"is too slow: no answer within {deadline.seconds:.1f} s", "it is asked again soon")
        info = self.probe(deadline)
        if not fits(info.digest):
            raise self.other_build()
        try:
            found = self._embedded(texts, deadline)
        except NoAnswerError as error:
            self._slow_until = self._now_s() + REMEMBERED_S
            if purpose == "document":  # the short time of a query may not do for a model that is being loaded
                self._remember(error)
            raise
        self._slow_until = 0.0
        if not info.digest:  # then an answer shows all that a probe would
            self._remember(info)
        return found

    def invalid(self, what: str, hint: str = "see which model the server runs") -> MnemonError:
        """Build the error for a missing or an invalid answer."""
        return MnemonError(UNAVAILABLE, f"{self.api.service} {what}", hint=hint)

    def other_build(self) -> MnemonError:
        """Build the error for a server that has the model, but not the build whose vectors are wanted."""
        return self.invalid(f"has another build of {self.api.model} than the one this store was made with", SWITCH)

    def _remember(self, outcome: ModelInfo | MnemonError) -> None:
        self._probed = self._now_s() + REMEMBERED_S, outcome

    def _within(self, seconds: float) -> Deadline:
        return Deadline(self._now_s, seconds)

    def _describe(self, deadline: Deadline) -> ModelInfo | MnemonError:
        try:
            return self.api.describe(deadline)
        except MnemonError as error:
            return error

    def _embedded(self, texts: Sequence[str], deadline: Deadline) -> list[list[float]]:
        """Embed a batch. If a text is too long, send each by itself, and halve that text until the model takes it."""
        try:
            found = self.api.embeddings(texts, deadline)
        except TooLongError:
            if len(texts) > 1:
                return [vector for text in texts for vector in self._embedded([text], deadline)]
            if len(texts[0]) < 2 * SHORTEST_CUT:
                raise
            return self._embedded([texts[0][: len(texts[0]) // 2]], deadline)
        if len(found) != len(texts):
            raise self.invalid(f"answered {len(texts)} texts with {len(found)} vectors")
        return found


class RemoteEmbedder:
    """Embeds over an endpoint, milliseconds to seconds a text; see `Embedder`.

    Its identity is fixed: when the server has another build of the model, it refuses to embed.
    """

    inline = False

    def __init__(self, endpoint: Endpoint, identity: Identity) -> None:
        self._endpoint = endpoint
        self.name, self.dimension, self.fingerprint = identity

    def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> list[Vector | None]:
        """Return one vector a text; None for a blank text and for a vector without a direction.

        Raises MnemonError(UNAVAILABLE): no answer, no such model, another build of it, or an invalid answer. Blocks for
        `timeout_s` a batch, for QUERY_S at most if the purpose is a query.
        """
        before, batch = prefix(self.name, purpose), self._endpoint.settings.batch_size
        places = [place for place, text in enumerate(texts) if text.strip()]
        vectors: list[Vector | None] = [None] * len(texts)
        for start in range(0, len(places), batch):
            some = places[start : start + batch]
            raw = self._endpoint.vectors([before + texts[place] for place in some], purpose, self._is_made_by)
            for place, numbers in zip(some, raw, strict=True):
                vectors[place] = self._vector(numbers)
        return vectors

    def clear_cache(self) -> None:
        """Do nothing: no text is kept."""

    def check(self) -> None:
        """Raise MnemonError(UNAVAILABLE) if the server does not answer, or has another build of the model."""
        if not self._is_made_by(self._endpoint.probe().digest):
            raise self._endpoint.other_build()

    def _is_made_by(self, digest: str) -> bool:
        return identify(self._endpoint.api, digest, self.dimension).fingerprint == self.fingerprint

    def _vector(self, numbers: list[float]) -> Vector | None:
        shortened = self._endpoint.settings.dimensions == self.dimension < len(numbers)
        if len(numbers) != self.dimension and not shortened:
            raise self._endpoint.invalid(f"gave {len(numbers)} dimensions where {self.dimension} were expected")
        return direction(numbers[: self.dimension])


def connect(endpoint: Endpoint) -> RemoteEmbedder:
    """Return the embedder of the model as it is now. Raises MnemonError(UNAVAILABLE).

    A dimension that the server does not tell is learned by embedding one word.
    """
    info, wanted = endpoint.probe(), endpoint.settings.dimensions
    size = info.dimension
    if size is None:
        size = len(endpoint.vectors([PROBE], "document", lambda _digest: True)[0])
    if not 0 < size <= MAX_DIMENSION:
        raise endpoint.invalid(f"gave {size} dimensions, where 1 … {MAX_DIMENSION:,} can be used")
    if wanted is not None and size < wanted:
        raise endpoint.invalid(f"gave {size} dimensions, fewer than embedding.dimensions = {wanted}")
    return RemoteEmbedder(endpoint, identify(endpoint.api, info.digest, wanted or size))


def prefix(model: str, purpose: Purpose) -> str:
    """Return the prefix of texts for a model; empty for most models."""
    name = model.rpartition("/")[2].lower()
    return next((by_purpose[purpose] for start, by_purpose in PREFIXES.items() if name.startswith(start)), "")


def direction(numbers: list[float]) -> Vector | None:
    """Convert to float32 of length 1; None if there is no direction (all zero, or one not finite)."""
    wide = np.array(numbers, dtype=np.float64)
    largest = float(np.max(np.abs(wide), initial=0.0))
    if not 0.0 < largest < np.inf:
        return None
    return unit((wide / largest).astype(np.float32))  # scaled first: squares of float32 overflow early
