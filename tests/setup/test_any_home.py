"""Whatever a home holds: set up, set up again, take back. What belongs to others is the same to the byte."""

from __future__ import annotations

import json
import math
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from mnemonctl.setup.entries import ALIAS, OurPrograms
from mnemonctl.setup.json_edit import Node, Pointer, append_item, parse, remove_item, replace_value
from tests.examples import examples, few_or_many
from tests.setup.homes import FILES, contents, everything, home_at, run, without_backups
from tests.setup.json_files import JSONC

TARGETS = st.sampled_from(sorted(FILES))


def fill(root: Path, data: Any, target: str) -> Any:
    """A home with some of the target's files, each perhaps behind a link, with a mode of its own."""
    place = home_at(root)
    for name in FILES[target]:
        if not data.draw(st.sampled_from([True, True, False])):
            continue
        path = place.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if data.draw(st.booleans()):
            real = place.home / "dotfiles" / name.replace("/", "-")
            real.parent.mkdir(exist_ok=True)
            path.symlink_to(real)
            path = real
        path.write_bytes(data.draw(contents(name)))
        path.chmod(data.draw(st.sampled_from([0o600, 0o644, 0o640])))
    return place


def ours_in(place: Any, target: str) -> int:
    """How often our programs are named in the files of a target."""
    there = [(place.home / name).read_bytes() for name in FILES[target] if (place.home / name).exists()]
    return sum(content.count(str(place.directory / "bin").encode()) for content in there)


@examples(100)
@given(data=st.data(), target=TARGETS)
def test_set_up_twice_and_taken_back_everything_is_as_it_was(data: Any, target: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = fill(Path(folder), data, target)
        before = everything(place)
        code, said = run(place, target=[target])
        assert (code, said["targets"][target]["error"]) == (0, None)
        assert ours_in(place, target) > 0
        installed = everything(place)
        code, said = run(place, target=[target])
        assert (code, said["status"]) == (0, "unchanged")
        assert everything(place) == installed
        code, said = run(place, target=[target], eject=True)
        assert code == 0
        assert everything(place) == before
        assert run(place, target=[target], eject=True)[1]["status"] == "unchanged"


@pytest.mark.check_all
@examples(80, least=20)
@given(data=st.data(), target=TARGETS, value=st.sampled_from([1, "x", {"a": [True]}, []]), first=st.booleans())
def test_what_somebody_adds_in_between_stays_and_the_rest_is_as_it_was(
    data: Any, target: str, value: object, first: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = fill(Path(folder), data, target)
        before = {name: (place.home / name).read_bytes() for name in FILES[target] if (place.home / name).exists()}
        run(place, target=[target])
        for name in before:
            path = place.home / name
            path.write_bytes(edited(name, path.read_bytes(), value, first=first))
        code, _ = run(place, target=[target], eject=True)
        assert code == 0
        assert ours_in(place, target) == 0
        for name, content in before.items():
            expected, left = edited(name, content, value, first=first), (place.home / name).read_bytes()
            assert parsed(name, left) == parsed(name, expected)
            assert left == expected or not parsed(name, content), "only what was empty may be laid out otherwise"


def edited(name: str, content: bytes, value: object, *, first: bool) -> bytes:
    """With one more member, at the beginning or the end: what a person does in an editor."""
    text = content.decode("utf-8", "surrogatepass")
    bare = text.removeprefix("\ufeff")
    if name.endswith(".toml"):
        newline = "\r\n" if "\r\n" in bare else "\n"
        new = f"added = 1{newline}{bare}" if first else f"{bare}{newline}[added]"
    elif first:
        brace = bare.index("{")
        comma = "," if parsed(name, content) else ""
        new = f'{bare[: brace + 1]}"added by somebody": {json.dumps(value)}{comma}{bare[brace + 1 :]}'
    else:
        new = append_item(bare, (), "added by somebody", value, JSONC)
    return f"{text[: len(text) - len(bare)]}{new}".encode("utf-8", "surrogatepass")


def number(text: str) -> float:
    """One object for nan, which is then equal to itself in a container."""
    value = float(text)
    return math.nan if math.isnan(value) else value


def parsed(name: str, content: bytes) -> Any:
    text = content.decode("utf-8", "surrogatepass").removeprefix("\ufeff")
    return tomllib.loads(text, parse_float=number) if name.endswith(".toml") else parse(text, JSONC).plain()


@pytest.mark.check_all
@pytest.mark.attack
@few_or_many(25, 2000)
@given(data=st.data(), target=st.sampled_from(["gemini", "cursor", "copilot-cli"]))
def test_any_edits_in_between_stay(data: Any, target: str) -> None:
    """Those of Codex's TOML are in test_toml_entries.py."""
    with tempfile.TemporaryDirectory() as folder:
        place = fill(Path(folder), data, target)
        run(place, target=[target])
        name = data.draw(st.sampled_from(FILES[target]))
        path = place.home / name
        mode = path.stat().st_mode
        text = path.read_bytes().decode("utf-8", "surrogatepass")
        start = len(text) - len(text.removeprefix("\ufeff"))
        new, notes = data.draw(edits(text[start:], place.ours, comments=target in ("gemini", "cursor")))
        path.write_bytes(f"{text[:start]}{new}".encode("utf-8", "surrogatepass"))
        assert run(place, target=[target], eject=True)[0] == 0
        left = path.read_bytes().decode("utf-8", "surrogatepass")[start:] if path.exists() else "{}"
        assert pruned(parse(left, JSONC).plain(), place.ours) == pruned(parse(new, JSONC).plain(), place.ours)
        assert ours_in(place, target) == 0
        assert [note for note in notes if note.strip() not in left] == []
        assert not path.exists() or path.stat().st_mode == mode


@st.composite
def edits(draw: Any, text: str, ours: OurPrograms, *, comments: bool) -> tuple[str, list[str]]:
    """The text after a few edits of a person outside of our entries, and the comments that they wrote."""
    notes = []
    for number in range(draw(st.integers(1, 4))):
        places = list(foreign(parse(text, JSONC), ours))
        pointer, node, at = draw(st.sampled_from(places))
        action = draw(st.sampled_from(["add", "change", "remove", "note", "note"]))
        if action == "add" and node.kind != "scalar":
            key = f"added {number}" if node.kind == "object" else None
            text = append_item(text, pointer, key, draw(st.sampled_from([1, "x", {"a": [True]}, []])), JSONC)
        elif action == "change" and node.kind == "scalar":
            text = replace_value(text, pointer, f"changed {number}", JSONC)
        elif (
            action == "remove"
            and len(pointer) > 1
            and not any(
                each is not node and each_pointer[: len(pointer)] == pointer for each_pointer, each, _ in places
            )
        ):
            text = remove_item(text, pointer, JSONC)
        elif action == "note" and comments:
            notes.append(draw(st.sampled_from(["// note {}\n", "/* note {} */"])).format(number))
            text = text[:at] + notes[-1] + text[at:]
    return text, notes


def foreign(
    node: Node, ours: OurPrograms, pointer: Pointer = (), start: int = 0
) -> Iterator[tuple[Pointer, Node, int]]:
    """Values that are not part of our entries, with the place where each item begins."""
    if ours.is_handler(node.plain()) or ours.is_server(node.plain()) or pointer == ("version",):
        return
    plain = node.plain()
    handlers = plain.get("hooks") if isinstance(plain, dict) else None
    if handlers and isinstance(handlers, list) and all(map(ours.is_handler, handlers)):
        return  # a group of ours
    yield pointer, node, start
    for item in node.items:
        yield from foreign(item.node, ours, (*pointer, item.key), item.start)


def pruned(value: Any, ours: OurPrograms) -> Any:
    """Without our entries, empty containers, and the version that one of our files may need."""
    if isinstance(value, list):
        kept = [pruned(each, ours) for each in value if not ours.is_handler(each)]
        return [each for each in kept if each not in ({}, [])]
    if not isinstance(value, dict):
        return value
    members = {key: pruned(each, ours) for key, each in value.items() if key != "version" and not ours.is_server(each)}
    return {key: each for key, each in members.items() if each not in ({}, [])}


@pytest.mark.check_all
@examples(60, least=15)
@given(data=st.data(), target=TARGETS)
def test_a_host_may_write_its_file_anew_in_between(data: Any, target: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = fill(Path(folder), data, target)
        foreign = {
            name: parsed(name, (place.home / name).read_bytes())
            for name in FILES[target]
            if (place.home / name).exists()
        }
        run(place, target=[target])
        for name in FILES[target]:
            path = place.home / name
            plain = parsed(name, path.read_bytes())
            anew = tomlkit.dumps(plain) if name.endswith(".toml") else json.dumps(plain, indent=7, sort_keys=True)
            path.write_text(anew, "utf-8")
        assert run(place, target=[target])[1]["status"] == "unchanged"
        assert run(place, target=[target], eject=True)[0] == 0
        for name, value in foreign.items():
            left = parsed(name, (place.home / name).read_bytes())
            assert left == value or {"mcp_servers": {}, **left} == {"mcp_servers": {}, **value}
        assert not [name for name in FILES[target] if name not in foreign and (place.home / name).exists()]


@examples(100)
@given(data=st.data(), target=TARGETS)
def test_what_does_not_fit_is_refused_with_a_sentence_and_nothing_is_touched(data: Any, target: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = home_at(Path(folder))
        name = data.draw(st.sampled_from(FILES[target]))
        path = place.home / name
        path.parent.mkdir(parents=True)
        content = data.draw(contents(name))
        path.write_bytes(data.draw(broken(content, name)))
        before = everything(place)
        code, said = run(place, target=[target])
        error = said["targets"][target]["error"]
        assert code == 2
        assert str(path) in error["message"]
        assert error["message"].endswith("it was left as it is")
        assert without_backups(everything(place)) == everything(place) == before


@st.composite
def broken(draw: Any, content: bytes, name: str) -> bytes:
    """No settings, or such as our entries do not fit into."""
    if name.endswith(".toml"):
        return bytes(draw(st.sampled_from([
            b"a = ", b"{}", b"a = 1\na = 2", b"\xff\xfe", b"[mcp_servers.mnemond]\nurl = 1", b"mcp_servers = 7",
            b"[[mcp_servers]]", b"a = '" + b" " * (1 << 20) + b"'", b"a\rb = 1", b"mcp_servers.mnemond = []",
        ])))  # fmt: skip
    wrong: list[bytes] = [
        b"", b" \r\n", b"[]", b"null", content + b"}", content.rstrip() [:-1], b"\xff\xfe{}\x00", content + b'"\xe9"',
        b'{"a": 1,, "b": 2}', b"{'a': 1}", b"{" + b" " * (1 << 20) + b"}", b'{"a":' * 70 + b"1" + b"}" * 70,
    ]  # fmt: skip
    if "mcp" not in name:
        wrong += [b'{"hooks": []}', b'{"hooks": {}, "hooks": {}}', b'{"version": 1, "hooks": "none"}']
    if "hooks" in name and "codex" not in name:
        wrong += [b'{"version": 2}', b'{"version": "1"}', b'{"version": 1, "version": 1}']
    if "mcp" in name or "gemini" in name:
        wrong += [b'{"mcpServers": {"%s": {"command": "/other"}}}' % ALIAS.encode(), b'{"mcpServers": 7}']
    chosen: bytes = draw(st.sampled_from(wrong))
    return chosen
