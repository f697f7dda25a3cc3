"""Other names of the same thing, as data that a user may extend.

A key is a folded name (`mnemond.text.tokens.fold`, blanks single), a value the spelling it stands for. Short forms
that are also ordinary words or units in technical text ("ts", "node", "tf", "es") are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from mnemond.text.tokens import fold

_SPELLINGS: Final = {
    "Airflow": "apache airflow",
    "AWS": "amazon web services",
    "C#": "csharp|c sharp",
    "C++": "cpp|cplusplus",
    "Elasticsearch": "elastic search|elastic-search",
    "Express": "express.js|expressjs",
    "GitHub Actions": "gh actions|gha",
    "GitHub": "gh",
    "Go": "golang",
    "Google Cloud": "gcp|google cloud platform",
    "Hugging Face": "huggingface",
    "JavaScript": "js|ecmascript",
    "Kafka": "apache kafka",
    "Kubernetes": "k8s|kube",
    "macOS": "mac os|osx|os x",
    "MongoDB": "mongo",
    "Next.js": "nextjs",
    "Node.js": "nodejs|node js",
    "Objective-C": "objc|objective c",
    "PostgreSQL": "postgres|psql|postgre|pgsql|postgre sql",
    "Protocol Buffers": "protobuf|protobufs",
    "Python": "python3|cpython",
    "PyTorch": "torch",
    "RabbitMQ": "rabbit mq",
    "React": "react.js|reactjs",
    "Ruby on Rails": "rails|ror",
    "scikit-learn": "sklearn|scikit learn",
    "Spark": "apache spark",
    "SQL Server": "mssql|ms sql",
    "SQLite": "sqlite3",
    "Tailwind CSS": "tailwind|tailwindcss",
    "TypeScript": "typescriptlang",
    "Visual Studio Code": "vscode|vs code",
    "Vue": "vue.js|vuejs",
    "WebAssembly": "wasm",
    "YAML": "yml",
}


def extended(extra: Mapping[str, str]) -> Mapping[str, str]:
    """`ALIASES` with a user's own aliases, which win where the two disagree.

    `extra` maps any spelling of an alias to the spelling it stands for. Chains are followed to their end, so that one
    look-up resolves a name. Where a built-in alias and the user's would make a circle, the user's stay; a circle
    among the user's own means nothing.
    """
    own = {_key(alias): right for alias, right in extra.items() if _key(alias) and _key(right)}
    links = {**ALIASES, **own}
    for alias in sorted({_key(right) for right in own.values()} & (ALIASES.keys() - own.keys())):
        if _key(_end_of(alias, links)) == alias:
            del links[alias]
    resolved = {alias: _end_of(alias, links) for alias in links}
    return MappingProxyType({alias: right for alias, right in resolved.items() if _key(right) != alias})


def _key(name: str) -> str:
    return " ".join(fold(name).split())


def _end_of(alias: str, links: Mapping[str, str]) -> str:
    right, seen = links[alias], {alias}
    while (key := _key(right)) in links and key not in seen:
        seen.add(key)
        right = links[key]
    return right


def _built_in() -> Mapping[str, str]:
    return MappingProxyType({alias: right for right, forms in _SPELLINGS.items() for alias in forms.split("|")})


ALIASES: Final[Mapping[str, str]] = _built_in()
"""The built-in table: folded alias → the spelling it stands for (spec 6.3)."""
