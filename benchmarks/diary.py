"""Memories as people and agents leave them: sessions about one topic, two speakers, names, reasons, second thoughts.

From a seed, without outside data. No two texts are equal; links come from the words they share.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import accumulate, count, islice

from benchmarks.synthetic import FUNCTION_WORDS, TOPIC_SHARE, TOPIC_WORDS, TOPICS, ZIPF_SHIFT, vocabulary
from benchmarks.wire import Json

SHORTEST, LONGEST = 8, 24
"""Words of a memory before names and reasons."""

SESSION = 20
"""Memories of one conversation."""

SOURCES = ("user", "agent")

CATEGORIES = ("fact", "decision", "insight", "context", "preference", "general")

NAMES = (
    "Priya", "Mateo", "SQLite", "Redis", "Kubernetes", "PostgreSQL", "GitHub", "Docker", "Kafka", "Terraform",
    "Grafana", "Nginx", "Berlin", "Dublin", "OpenSSL", "RabbitMQ", "Elasticsearch", "TypeScript", "FastAPI", "Jenkins",
    "Prometheus", "GraphQL", "MongoDB", "Ansible", "DynamoDB", "BigQuery", "PyTorch", "NumPy", "WebAssembly", "CI/CD",
    "ADR-12", "billing-service", "auth-gateway", "ingest-worker", "search-api",
)  # fmt: skip

HOW_MANY_NAMES = (0, 1, 1, 2, 3)
REASON_SHARE = 0.15
DATE_SHARE = 0.1
SECOND_THOUGHT_SHARE = 0.08
"""Share of memories that repeat an earlier one of their session in partly other words."""
KEPT = 0.75
"""Words of a memory that its second thought keeps."""


class Diary:
    """An endless, reproducible supply of parameters for remember."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._words = vocabulary()
        self._weights = list(accumulate(1 / (rank + ZIPF_SHIFT) for rank in range(len(self._words))))
        self._topics = [self._random.choices(self._words[FUNCTION_WORDS:], k=TOPIC_WORDS) for _ in range(TOPICS)]
        self._names = list(accumulate(1 / (rank + ZIPF_SHIFT) for rank in range(len(NAMES))))
        self._written: set[str] = set()
        self._entries = self._write()

    def take(self, number: int) -> list[Json]:
        """The next `number` memories."""
        return list(islice(self._entries, number))

    def _write(self) -> Iterator[Json]:
        for session in count():
            topic = self._random.choice(self._topics)
            said: list[list[str]] = []
            for turn in range(SESSION):
                content = self._new(said, topic)
                yield {
                    "content": content,
                    "category": self._random.choice(CATEGORIES),
                    "source": SOURCES[turn % len(SOURCES)],
                    "conversation_id": f"session-{session}",
                }

    def _new(self, said: list[list[str]], topic: list[str]) -> str:
        """Return a new text; `said` are the words of each text of its session, these included."""
        while True:
            words = self._said_again(said) if self._chance(SECOND_THOUGHT_SHARE) and said else self._said(topic)
            content = self._sentence(words, topic)
            if content not in self._written:
                self._written.add(content)
                said.append(words)
                return content

    def _said(self, topic: list[str]) -> list[str]:
        size = self._random.randint(SHORTEST, LONGEST)
        of_topic = int(size * TOPIC_SHARE)
        words = self._random.choices(self._words, cum_weights=self._weights, k=size - of_topic)
        words += self._random.choices(topic, k=of_topic)
        words += self._random.choices(NAMES, cum_weights=self._names, k=self._random.choice(HOW_MANY_NAMES))
        self._random.shuffle(words)
        return words

    def _said_again(self, said: list[list[str]]) -> list[str]:
        return [
            word if self._chance(KEPT) else self._random.choices(self._words, cum_weights=self._weights)[0]
            for word in self._random.choice(said)
        ]

    def _sentence(self, words: list[str], topic: list[str]) -> str:
        text = " ".join(words)
        if self._chance(REASON_SHARE):
            text += f" because the {self._random.choice(topic)} {self._random.choice(topic)} is {words[0]}"
        if self._chance(DATE_SHARE):
            text += f" on 2026-{self._random.randint(1, 12):02}-{self._random.randint(1, 28):02}"
        return f"{text[0].upper()}{text[1:]}."

    def _chance(self, share: float) -> bool:
        return self._random.random() < share
