"""Every embedder that the configuration allows: built-in models by name, and models behind a server."""

from __future__ import annotations

import difflib
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from mnemond.config.reading import EmbeddingSettings
from mnemond.embed.e5_model import NAME as E5
from mnemond.embed.e5_model import E5Model
from mnemond.embed.embedder import Embedder, sentence
from mnemond.embed.onnx_model import OnnxModel
from mnemond.embed.remote import SWITCH, Endpoint, Identity, RemoteEmbedder, connect
from mnemond.embed.static_model import StaticModel
from mnemond.errors import CONFIG, UNAVAILABLE, MnemonError
from mnemond.http import key_of, parse
from mnemond.model_servers import SERVERS

DEFAULT: Final = "minilm_static_256_int8"

MODELS: Final = Path(__file__).parent / "models"

_BUILDERS: Final[dict[str, Callable[[Path], Embedder]]] = {
    DEFAULT: StaticModel,
    "minilm_l6_v2_int8": OnnxModel,
    E5: E5Model,
}

WEIGHTS: Final = "models"
"""Directory in the data directory, for weights that come with another package."""

NAMES: Final = tuple(_BUILDERS)
"""The built-in models, the default first."""

SERVICES: Final = {"ollama": "Ollama at", "openai": "the embedding server at"}
"""By provider, the name of its server in errors."""

OLLAMA_DEFAULT: Final = "nomic-embed-text"
"""The default model of Ollama, as in mnemon."""


def create(name: str, weights: Path = MODELS) -> Embedder:
    """Load a built-in model: milliseconds for the default, a second for a transformer.

    `weights`: the directory in which a model keeps the weights that it takes from another package. Raises MnemonError:
    CONFIG for an unknown name (it says the nearest), UNAVAILABLE if a package or a file is missing.
    """
    check_name(name)
    return _BUILDERS[name]((weights if name == E5 else MODELS) / name)


def check_name(name: str) -> None:
    """Raise MnemonError(CONFIG), which says the nearest name, if there is no built-in model called `name`."""
    if name not in _BUILDERS:
        nearest = difflib.get_close_matches(name, NAMES, n=1, cutoff=0.0)
        raise MnemonError(
            CONFIG,
            f'embedding.model: there is no embedding model "{name[:80]}"',
            hint=f"did you mean {nearest[0]}? Known: {', '.join(NAMES)}",
        )


def check_available(embedder: Embedder) -> None:
    """Raise MnemonError(UNAVAILABLE) if the server of an embedder does not answer now; may block."""
    if isinstance(embedder, RemoteEmbedder):
        embedder.check()


def provider_of(fingerprint: str) -> str:
    """Return the provider of the embedder with this fingerprint: "builtin", or a name in SERVERS."""
    provider = fingerprint.partition(":")[0]
    return provider if provider in SERVERS else "builtin"


class Embedders:
    """Every embedder that a configuration allows: that of new stores, and those existing stores were made with.

    For any thread without an event loop; everything but the constructor may block. Models and endpoints are shared:
    a model holds megabytes, and an endpoint knows the state of its server.
    """

    def __init__(
        self,
        settings: EmbeddingSettings,
        environment: Mapping[str, str],
        now_s: Callable[[], float],
        weights: Path = MODELS,
    ) -> None:
        """Check the settings, without contacting a server. `now_s` is a monotonic clock in seconds; see `create`.

        Raises MnemonError(CONFIG) for an invalid endpoint, model or key.
        """
        self._settings = settings
        self._now_s = now_s
        self._weights = weights
        self._endpoints: dict[tuple[str, str], Endpoint] = {}
        self._loaded: dict[str, Embedder] = {}
        self._lacking: str | None = None
        self._lock = threading.Lock()
        if settings.provider == "builtin":
            check_name(settings.model or DEFAULT)
        if settings.provider == "openai" and settings.model is None:
            raise MnemonError(
                CONFIG, 'embedding.model: the provider "openai" needs the name of a model', hint="set embedding.model"
            )
        offline = settings.provider in ("builtin", "none")
        self._address = None if offline else parse(settings.endpoint, "embedding.endpoint")
        self._key = key_of(settings.api_key_env, environment, "embedding.api_key_env")

    @property
    def wants(self) -> bool:
        """Return True if new stores get an embedder."""
        return self._settings.provider != "none"

    @property
    def lacking(self) -> str | None:
        """The reason why `preferred` failed the last time; None if it did not."""
        return self._lacking

    def preferred(self) -> Embedder | None:
        """Return the embedder of new stores; None if they get none.

        A server is probed, within `probe_timeout_s`. Raises MnemonError(UNAVAILABLE).
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

    def _automatic(self, model: str | None) -> Embedder:
        """Return Ollama's model if it answers and has it, else a built-in one."""
        built_in = model if model in NAMES else None
        try:
            return connect(self._endpoint("ollama", OLLAMA_DEFAULT if model is None or built_in else model))
        except MnemonError:
            return self._built_in(built_in or DEFAULT)

    def named(self, provider: str, model: str | None) -> Embedder:
        """Return a requested embedder; `model` None means the configured one of the provider, or its default.

        Raises MnemonError(CONFIG) if the configuration does not let memories go there or there is no such model,
        MnemonError(UNAVAILABLE) if the server does not answer.
        """
        configured = self._settings.model
        if provider == "builtin":
            return self._built_in(model or (configured if configured in NAMES else None) or DEFAULT)
        if not self._allows(provider):
            raise MnemonError(
                CONFIG,
                f'"{self._settings.provider}" is configured; memories go to a server only when embedding.provider'
                " names it",
                hint=f'set embedding.provider = "{provider}" and embedding.endpoint, then: mnemonctl daemon restart',
            )
        own = None if configured in NAMES else configured
        return connect(self._endpoint(provider, model or own or OLLAMA_DEFAULT))

    def of_record(self, name: str, dimension: int, fingerprint: str) -> Embedder:
        """Return the embedder a store was made with, from what the store recorded about it.

        A server is not contacted: its embedder answers, or fails, when it embeds. Raises MnemonError(UNAVAILABLE) if
        the configuration does not allow the provider, or a built-in model cannot be loaded.
        """
        provider = provider_of(fingerprint)
        if provider not in SERVERS:
            return self._built_in_of(name, fingerprint)
        if not self._allows(provider):
            configured = self._settings.provider
            raise MnemonError(
                UNAVAILABLE,
                f'this store was made with {name} of the provider "{provider}", and "{configured}" is configured',
                hint=f'set embedding.provider = "{provider}", or {SWITCH}',
            )
        return RemoteEmbedder(self._endpoint(provider, name), Identity(name, dimension, fingerprint))

    def clear_cache(self) -> None:
        """Clear the cache of every loaded model; those behind a server have none."""
        for embedder in list(self._loaded.values()):
            embedder.clear_cache()

    def _allows(self, provider: str) -> bool:
        configured = self._settings.provider
        return configured == provider or (configured, provider) == ("auto", "ollama")

    def _endpoint(self, provider: str, model: str) -> Endpoint:
        with self._lock:
            found = self._endpoints.get((provider, model))
            if found is None:
                settings = self._settings
                address = self._address or parse(settings.endpoint, "embedding.endpoint")
                api = SERVERS[provider](address, self._key, model, SERVICES[provider], settings.dimensions)
                found = self._endpoints[provider, model] = Endpoint(api, settings, self._now_s)
            return found

    def _built_in(self, name: str) -> Embedder:
        with self._lock:
            if name not in self._loaded:
                self._loaded[name] = create(name, self._weights)
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
