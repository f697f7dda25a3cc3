"""What the rules take out of sessions of work, to be read by a judge.

    python -m benchmarks.quotes FILE … [--counts] [--classes CLASS …]

A file is a project: {"project", "sessions": [{"id", "date", "private", "exchanges": [{"minute", "prompt", "answer"}]}],
"standing": [{"session", "said", "everywhere", "must_contain": [[alternatives]]}]}. Prints every quote with its exchange
and class. Then per file: the quotes by class; standing instructions found (a quote of their session has one alternative
of each list), told unasked as such, and kept for all projects or for one as they were meant; and quotes that are not
faithful, of which there must be none.
With `--counts` only the numbers, for files that must not be looked at.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.report import say
from mnemond.config.writing import CLASSES
from mnemond.extract.facts import Context, Fact, Message
from mnemond.extract.quotes import RuleEngine
from mnemond.model.memory import parse_rfc3339
from mnemond.text.secrets import redact
from mnemond.text.transcripts import typed

ADDED = re.compile(
    r"\A\[[^\[\]]{1,60}\] | \(\d{4}-\d\d-\d\d(?: to \d{4}-\d\d-\d\d)?\)|（\d{4}-\d\d-\d\d(?: to \d{4}-\d\d-\d\d)?）"
)
"""What a quote has beside the words of its exchange."""

TOLD = ("instruction", "preference", "asked")
"""Classes of what is told unasked as an instruction."""

WORD = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+")


def is_faithful(content: str, said: str) -> bool:
    """Return True if the words of a quote stand in what was said in the same order, but for what is added."""
    words = iter(WORD.findall(said))
    return all(word in words for word in WORD.findall(ADDED.sub("", content)))


def quotes(project: dict[str, Any], classes: frozenset[str]) -> Iterator[tuple[str, str, Fact, str]]:
    """Yield session, exchange and fact of each quote, and what was said there."""
    for session in project["sessions"]:
        if session.get("private"):
            continue
        start = parse_rfc3339(session["date"])
        for at, each in enumerate(session["exchanges"]):
            prompt, answer = redact(typed(each["prompt"])).text, redact(each["answer"]).text
            said_us = start + each.get("minute", 0) * 60_000_000
            context = Context(observed_us=said_us, classes=classes)  # type: ignore[arg-type]
            messages = [Message("user", prompt), Message("assistant", answer)]
            for fact in RuleEngine().extract(messages, context).facts:
                yield session["id"], f"{session['id']}/{at}", fact, f"{prompt}\n{answer}"


def main() -> None:
    """Run the rules over files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--counts", action="store_true")
    parser.add_argument("--classes", nargs="+", default=list(CLASSES))
    asked = parser.parse_args()
    for path in asked.files:
        project = msgspec.json.decode(path.read_bytes())
        found = list(quotes(project, frozenset(asked.classes)))
        if not asked.counts:
            for _, exchange, fact, _ in found:
                everywhere = " everywhere" if fact.general else ""
                say(f"{exchange} {fact.family}{everywhere}: {fact.content}")
        hits = [
            [fact for session, _, fact, _ in found if session == each["session"] and _has(fact, each["must_contain"])]
            for each in project["standing"]
        ]
        told = sum(any(fact.family in TOLD for fact in each) for each in hits)
        general = sum(
            any(fact.general == each["everywhere"] for fact in facts)
            for facts, each in zip(hits, project["standing"], strict=True)
        )
        unfaithful = sum(not is_faithful(fact.content, said) for _, _, fact, said in found)
        say(
            f"{path.stem}: quotes {dict(Counter(fact.family for _, _, fact, _ in found))};"
            f" standing {sum(map(bool, hits))} of {len(hits)}, told as such {told}, place right {general};"
            f" unfaithful {unfaithful}")  # fmt: skip
        if not asked.counts:
            for each, facts in zip(project["standing"], hits, strict=True):
                if not facts:
                    say(f"  missed in {each['session']}: {each['said']}")


def _has(fact: Fact, groups: list[list[str]]) -> bool:
    text = fact.content.lower()
    return all(any(each.lower() in text for each in group) for group in groups)


if __name__ == "__main__":
    main()
