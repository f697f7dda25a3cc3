"""Whatever a home holds: set up, set up again, take back. What belongs to others is the same to the byte."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mnemonctl.setup.entries import ALIAS
from mnemonctl.setup.json_edit import append_item, parse
from tests.examples import examples
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


@examples(100, least=25)
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
            path.write_bytes(edited(path.read_bytes(), value, first=first))
        code, _ = run(place, target=[target], eject=True)
        assert code == 0
        assert ours_in(place, target) == 0
        for name, content in before.items():
            expected, left = edited(content, value, first=first), (place.home / name).read_bytes()
            assert parsed(left) == parsed(expected)
            assert left == expected or not parsed(content), "only what was empty may be laid out otherwise"


def edited(content: bytes, value: object, *, first: bool) -> bytes:
    """With one more member, at the beginning or the end: what a person does in an editor."""
    text = content.decode("utf-8", "surrogatepass")
    if not first:
        bare = text.removeprefix("\ufeff")
        text = text[: len(text) - len(bare)] + append_item(bare, (), "added by somebody", value, JSONC)
    else:
        brace = text.index("{", len(text) - len(text.lstrip("\ufeff")))
        comma = "," if parsed(content) else ""
        text = f'{text[: brace + 1]}"added by somebody": {json.dumps(value)}{comma}{text[brace + 1 :]}'
    return text.encode("utf-8", "surrogatepass")


def parsed(content: bytes) -> object:
    return parse(content.decode("utf-8", "surrogatepass").removeprefix("\ufeff"), JSONC).plain()


@examples(60, least=15)
@given(data=st.data(), target=TARGETS)
def test_a_host_may_write_its_file_anew_in_between(data: Any, target: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = fill(Path(folder), data, target)
        foreign = {
            name: parsed((place.home / name).read_bytes()) for name in FILES[target] if (place.home / name).exists()
        }
        run(place, target=[target])
        for name in FILES[target]:
            path = place.home / name
            path.write_text(json.dumps(parsed(path.read_bytes()), indent=7, sort_keys=True), "utf-8")
        assert run(place, target=[target])[1]["status"] == "unchanged"
        assert run(place, target=[target], eject=True)[0] == 0
        for name, value in foreign.items():
            assert parsed((place.home / name).read_bytes()) == value
        assert not [name for name in FILES[target] if name not in foreign and (place.home / name).exists()]


@examples(100, least=25)
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
