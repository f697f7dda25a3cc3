"""The descriptions of agent programs."""

from __future__ import annotations

from pathlib import Path

from mnemond.config import hosts
from mnemond.config.hosts import Host, described, filled
from tests.tables import each_row


def test_each_host_has_a_description_and_each_description_a_host() -> None:
    folder = Path(hosts.__file__).parents[1] / "hosts"
    assert {path.name for path in folder.iterdir()} == {f"{host}.toml" for host in Host}


@each_row("host", Host)
def test_a_description_names_only_events_that_memory_handles(host: Host) -> None:
    about = described(host)
    named = [*about.context, *about.sources, *about.answers.at, *(about.setup.hooks if about.setup else ())]
    assert [event for event in named if event not in about.events] == []


def test_a_text_that_is_a_name_is_filled_once() -> None:
    assert filled({"a": ["{x}", 1, "{y}"], "b": {"c": "not {x}"}}, {"{x}": "{y}", "{y}": 2}) == {
        "a": ["{y}", 1, 2],
        "b": {"c": "not {x}"},
    }
