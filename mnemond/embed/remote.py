"""What all models behind an endpoint share: when to ask, how much at once, and whether to believe the answer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

import msgspec
import numpy as np

from mnemond.embed.embedder import Purpose, prefix, unit
from mnemond.embed.http import Deadline, NoAnswerError
from mnemond.embed.static_model import fingerprint
from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.model.changes import Vector

ALGORITHM: Final = "remote-1"
"""Raised when the same model would give other vectors: prefixes, truncation or normalisation changed."""

REMEMBERED_S: Final = 30.0
"""Seconds the outcome of a probe stands for the next (spec 07, step 2)."""

QUERY_S: Final = 2.0
"""Seconds a recall waits for its query's vector, probe included, before it goes on with keywords."""

LARGEST_DIMENSION: Final = 16_384
"""Numbers of a vector; the largest models in use have 8,192."""

SHORTEST_CUT: Final = 256
"""Characters below which a text that the model calls too long is not shortened any further."""

SWITCH: Final = "run `mnemonctl embed --switch` to make the vectors anew"


Fits = Callable[[str], bool]
"""Whether the model with this digest is the one wanted."""


class Described(msgspec.Struct, frozen=True):
    """What a server says about its model. `digest` names the build where the server knows one, else it is empty;
    `dimension` is None where it can only be learned by embedding."""

    digest: str
    dimension: int | None


class Wire(Protocol):
    """How one kind of server is spoken to. Every method raises MnemonError(UNAVAILABLE)."""

    @property
    def provider(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def service(self) -> str:
        """What errors call the server, with its address."""
        ...

    def describe(self, deadline: Deadline) -> Described:
        """Whether the server has the model, cheaply."""
        ...

    def embeddings(self, texts: Sequence[str], deadline: Deadline) -> list[list[float]]:
        """The vectors as the server gives them, in the order of the texts; not necessarily as many.

        Raises TooLongError when the server says that a text is longer than the model can read.
        """
        ...


class TooLongError(MnemonError):
    """UNAVAILABLE because a text has more tokens than the model takes."""


class Limits(msgspec.Struct, frozen=True):
    """Texts a request, seconds a request and a probe may take, and how many numbers of a vector to keep (None: all)."""

    batch: int = 10
    timeout_s: float = 30.0
    probe_s: float = 2.0
    dimensions: int | None = None


class Identity(NamedTuple):
    """What a store records about the embedder of its vectors."""

    name: str
    dimension: int
    fingerprint: str


def identify(wire: Wire, digest: str, dimension: int) -> Identity:
    """Who a model is: the same wherever its server stands."""
    parts = (wire.provider, wire.model, digest, str(dimension))
    made_of = fingerprint(ALGORITHM, *(part.encode() for part in parts))
    return Identity(wire.model, dimension, f"{wire.provider}:{made_of}")


class Endpoint:
    """A server's state of health, and requests that respect it. Embedders of several stores share one; any thread."""

    def __init__(self, wire: Wire, limits: Limits, now_s: Callable[[], float]) -> None:
        """`now_s` is a clock in seconds that never goes back."""
        self.wire = wire
        self.limits = limits
        self._now_s = now_s
        self._turn = threading.Lock()
        self._known: tuple[float, Described | MnemonError] | None = None
        self._slow_until = 0.0

    def probe(self, deadline: Deadline | None = None) -> Described:
        """What the server says about its model, at most REMEMBERED_S old. One thread asks, the others wait for it.

        Raises MnemonError(UNAVAILABLE), at once when an earlier probe failed a moment ago.
        """
        deadline = deadline or self._within(self.limits.probe_s)
        if not self._turn.acquire(timeout=deadline.left()):
            raise self._unanswered(deadline)
        try:
            if self._known is None or self._now_s() >= self._known[0]:
                self._learn(self._asked(self._within(min(deadline.left(), self.limits.probe_s))))
            found = self._known[1] if self._known is not None else self._unanswered(deadline)
        finally:
            self._turn.release()
        if isinstance(found, MnemonError):
            raise MnemonError(found.kind, found.message, hint=found.hint)
        return found

    def vectors(self, texts: Sequence[str], purpose: Purpose, fits: Fits) -> list[list[float]]:
        """Raw vectors of one batch, as many as texts; `fits` says whether a build of the model is the right one.

        Raises MnemonError(UNAVAILABLE).
        """
        limit = self.limits.timeout_s if purpose == "document" else min(self.limits.timeout_s, QUERY_S)
        deadline = self._within(limit)
        if purpose == "query" and self._now_s() < self._slow_until:
            raise self._late(deadline)
        described = self.probe(deadline)
        if not fits(described.digest):
            raise self.other_build()
        try:
            found = self._embedded(texts, deadline)
        except NoAnswerError as error:
            self._slow_until = self._now_s() + REMEMBERED_S
            if purpose == "document":  # a query's short time may not do for a model that is being loaded
                self._learn(error)
            raise
        self._slow_until = 0.0
        if not described.digest:  # an answer says all that a probe would
            self._learn(described)
        return found

    def _learn(self, what: Described | MnemonError) -> None:
        self._known = (self._now_s() + REMEMBERED_S, what)

    def _within(self, seconds: float) -> Deadline:
        return Deadline(self._now_s, seconds)

    def _asked(self, deadline: Deadline) -> Described | MnemonError:
        try:
            return self.wire.describe(deadline)
        except MnemonError as error:
            return error

    def _embedded(self, texts: Sequence[str], deadline: Deadline) -> list[list[float]]:
        """A batch with a text too long is taken apart, and that text halved until the model takes its beginning."""
        try:
            found = self.wire.embeddings(texts, deadline)
        except TooLongError:
            if len(texts) > 1:
                return [vector for text in texts for vector in self._embedded([text], deadline)]
            if len(texts[0]) < 2 * SHORTEST_CUT:
                raise
            return self._embedded([texts[0][: len(texts[0]) // 2]], deadline)
        if len(found) != len(texts):
            raise self.distrusted(f"answered {len(texts)} texts with {len(found)} vectors")
        return found

    def distrusted(self, what: str, hint: str = "see which model the server runs") -> MnemonError:
        """The error for an answer that cannot be right."""
        return MnemonError(UNAVAILABLE, f"{self.wire.service} {what}", hint=hint)

    def _late(self, deadline: Deadline) -> MnemonError:
        return self.distrusted(f"is too slow: no answer within {deadline.seconds:.1f} s", "it is asked again soon")

    def _unanswered(self, deadline: Deadline) -> MnemonError:
        """The error of who waited for another's question: as of whoever asks, whichever of the two is first."""
        return self.distrusted(f"did not answer within {deadline.seconds:.1f} s", "see that it runs and is idle")

    def other_build(self) -> MnemonError:
        """The error for a server that has the model, but not the build whose vectors are wanted."""
        return self.distrusted(f"has another build of {self.wire.model} than the one this store was made with", SWITCH)


class RemoteEmbedder:
    """Embeds over an endpoint, milliseconds to seconds a text; see `Embedder`.

    Its identity is fixed: as soon as the server has another build of the model, it refuses to embed.
    """

    inline = False

    def __init__(self, endpoint: Endpoint, identity: Identity) -> None:
        self._endpoint = endpoint
        self.name = identity.name
        self.dimension = identity.dimension
        self.fingerprint = identity.fingerprint

    def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> list[Vector | None]:
        """One vector a text; None for a blank text and for a vector without a direction.

        Raises MnemonError(UNAVAILABLE): no answer, no such model, another build of it, or an answer that is not what
        was asked for. Blocks for `Limits.timeout_s` a batch, for QUERY_S at most when the purpose is a query.
        """
        before, batch = prefix(self.name, purpose), self._endpoint.limits.batch
        places = [place for place, text in enumerate(texts) if text.strip()]
        vectors: list[Vector | None] = [None] * len(texts)
        for start in range(0, len(places), batch):
            some = places[start : start + batch]
            raw = self._endpoint.vectors([before + texts[place] for place in some], purpose, self._is_made_by)
            for place, numbers in zip(some, raw, strict=True):
                vectors[place] = self._vector(numbers)
        return vectors

    def forget(self) -> None:
        """Nothing is kept."""

    def check(self) -> None:
        """Raises MnemonError(UNAVAILABLE) when the server does not answer, or has another build of the model."""
        if not self._is_made_by(self._endpoint.probe().digest):
            raise self._endpoint.other_build()

    def _is_made_by(self, digest: str) -> bool:
        return identify(self._endpoint.wire, digest, self.dimension).fingerprint == self.fingerprint

    def _vector(self, numbers: list[float]) -> Vector | None:
        shortened = self._endpoint.limits.dimensions == self.dimension < len(numbers)
        if len(numbers) != self.dimension and not shortened:
            raise self._endpoint.distrusted(f"gave {len(numbers)} dimensions where {self.dimension} were expected")
        return direction(numbers[: self.dimension])


def direction(numbers: list[float]) -> Vector | None:
    """`numbers` as float32 of length 1; None when there is no direction in them (all zero, or one not finite)."""
    wide = np.array(numbers, dtype=np.float64)
    largest = float(np.max(np.abs(wide), initial=0.0))
    if not 0.0 < largest < np.inf:
        return None
    return unit((wide / largest).astype(np.float32))  # scaled first: squares of float32 overflow early


def connect(endpoint: Endpoint) -> RemoteEmbedder:
    """The embedder of the model as it is now. Raises MnemonError(UNAVAILABLE).

    A dimension the server does not tell is learned by embedding one word.
    """
    described, wanted = endpoint.probe(), endpoint.limits.dimensions
    size = described.dimension
    if size is None:
        size = len(endpoint.vectors(["dimension"], "document", lambda _digest: True)[0])
    if not 0 < size <= LARGEST_DIMENSION:
        raise endpoint.distrusted(f"gave {size} dimensions, where 1 … {LARGEST_DIMENSION:,} can be used")
    if wanted is not None and size < wanted:
        raise endpoint.distrusted(f"gave {size} dimensions, fewer than embedding.dimensions = {wanted}")
    return RemoteEmbedder(endpoint, identify(endpoint.wire, described.digest, wanted or size))
