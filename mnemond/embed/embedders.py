"""Every embedder a configuration allows. A new kind of server is a file beside this and a line below."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Final

from mnemond.config import Embedding
from mnemond.embed import ollama, openai_compatible, registry
from mnemond.embed.embedder import Embedder
from mnemond.embed.outcome import sentence
from mnemond.embed.registry import DEFAULT, NAMES, create
from mnemond.embed.remote import SWITCH, Endpoint, Identity, Limits, RemoteEmbedder, Wire, connect
from mnemond.errors import CONFIG, UNAVAILABLE, MnemonError
from mnemond.outbound.address import Address, parse

WIRES: Final[dict[str, Callable[[Address, str | None, str, int | None], Wire]]] = {
    "ollama": ollama.wire,
    "openai": openai_compatible.wire,
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

    def __init__(self, settings: Embedding, environment: Mapping[str, str], now_s: Callable[[], float]) -> None:
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
            registry.check(settings.model or DEFAULT)
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


def check(embedder: Embedder) -> None:
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
