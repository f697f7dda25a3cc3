"""Telling a line of code ("store.py:42") from what only looks like one: a port, an image tag, a time, a setting."""

from __future__ import annotations

import re

from mnemond.text.cue_words import words_of

_CODE_SUFFIXES = words_of(
    "py pyi pyx go rs js jsx mjs cjs ts tsx vue svelte java kt kts scala groovy c h cc cpp cxx hpp hh m mm cs",
    "fs vb swift rb php pl pm lua r jl ex exs erl hs ml clj dart zig nim sol sh bash zsh fish ps1 sql html css",
    "scss less xml yaml yml toml json jsonl ini cfg conf md rst txt tex proto graphql tf hcl gradle cmake mk",
    "lock log csv ipynb diff patch",
)
"""File extensions: before a colon and a number they make it a line, whatever else it looks like."""

_HOST_SUFFIXES = words_of(
    "com org net edu gov io dev app ai co me tv info biz cloud local localhost internal lan home intranet test",
    "example invalid cn de uk fr jp kr ru in eu us ca au nl se no fi dk ch at be it es pt pl cz br mx tw hk sg",
    "svc cluster",
)
"""Last labels of host names that are no file extensions."""

_NOT_CODE = words_of(
    # hosts and services
    "localhost host hostname server client proxy gateway port ports ip db database broker node master primary",
    "replica",
    # images and databases that are written with a tag or a port
    "redis postgres postgresql mysql mariadb mongo mongodb memcached rabbitmq kafka zookeeper nats etcd consul",
    "vault nginx httpd apache caddy traefik haproxy envoy minio elasticsearch opensearch kibana grafana",
    "prometheus jaeger loki influxdb clickhouse cassandra neo4j qdrant milvus weaviate chroma ollama vllm",
    "alpine ubuntu debian centos fedora rockylinux busybox distroless amazonlinux jenkins gitlab sonarqube",
    "keycloak registry image tag latest app web api worker",
    # versions
    "v ver version release rev revision build python py node nodejs java jdk jre openjdk go golang rust ruby",
    "php perl dotnet kotlin scala swift elixir erlang gcc clang cuda django flask rails spring react vue",
    "angular terraform helm docker kubernetes k8s api_version schema protocol gpt claude llama llama2 llama3",
    "qwen mistral gemma phi deepseek",
    # settings and counts written key:value
    "step page pages score age id ids no nr num number issue pr mr ticket bug task level part chapter section",
    "verse day week month year hour minute note count total size length limit timeout ttl retries retry",
    "replicas qps rps max min avg top k n x y z width height depth weight priority importance rank ratio rate",
    "percent quality batch epoch seed lr loss dim threads workers cores cpu memory ram disk gpu uid gid user",
    "mode status code exit exitcode error http https rfc cve utf sha sha1 sha256 md5 type key value index",
    "offset pos position row col column line lines phase stage at time date default result results answer sum",
    "average mean median p50 p90 p95 p99 rating stars temp temperature",
)
"""Words that stand before a colon and a number without being the name of a place in code."""

_LONGER_NUMBER = re.compile(r"[A-Za-z0-9_]")
_TAGGED = re.compile(r"[.-]?[A-Za-z0-9_]|[@/%]")
_WORD = re.compile(r"[A-Za-z]+")
_SHORTEST_LINE, _LONGEST_PORTLESS = 2, 3


def is_line_reference(match: re.Match[str]) -> bool:
    """Whether `match`, of a name or path, a colon and a number, points into code. Bounded time.

    A file extension makes it so. Otherwise hosts, paths of images, known services, versions and settings do not
    count, nor does a bare word before one digit or before four, which is a port.
    """
    name, _, rest = match[0].partition(":")
    number = rest.partition(":")[0]
    suffix = name.rpartition(".")[2].lower()
    after = match.string[match.end() : match.end() + 2]
    if "." in name and suffix in _CODE_SUFFIXES and "://" not in match[0]:
        return _LONGER_NUMBER.match(after) is None
    if _TAGGED.match(after) or "/" in name or "\\" in name or ("." in name and suffix in _HOST_SUFFIXES):
        return False
    return _names_code(name.removesuffix("()"), called=name.endswith("()"), digits=len(number))


def _names_code(name: str, *, called: bool, digits: int) -> bool:
    if called or "." in name or "_" in name.strip("_") or _is_humped(name):
        return name.lower() not in _NOT_CODE
    plain = name.lower()
    return (
        _SHORTEST_LINE <= digits <= _LONGEST_PORTLESS and "-" not in name and plain not in _NOT_CODE and _is_word(name)
    )


def _is_humped(name: str) -> bool:
    """Mixed case inside a word, as in parseConfig or HttpServer."""
    return name[1:] != name[1:].lower() and not name.isupper()


def _is_word(name: str) -> bool:
    """Lower case from the start: a capital opens a heading or a name of something else ("Score:12", "Matthew:15")."""
    return name.islower() and _WORD.fullmatch(name) is not None
