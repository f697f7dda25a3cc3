"""Every flag that Mem0's design publishes for extraction, through each way in: Python, the shell, MCP, Mem0's class.

`messages`, `user_id`, `session_id`, `agent_id` and `auto_resolve_conflicts`; and each setting of its configuration.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from benchmarks.daemon_process import DaemonProcess
from mnemonctl.client import Client
from mnemonctl.mem0 import Memory
from mnemond.api.types_extract import ExtractContext, MessageParam
from tests.daemon.test_dialects import asked, by_id, by_socket, lines
from tests.daemon.typed import Terminal

OLD, NEW = "I live in Lisbon.", "I live in Porto now."
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}

Extract = Callable[..., None]
"""(messages, store=…, and flags) without a result."""

FLAGS = {
    "user_id": "user-id", "session_id": "session-id", "agent_id": "agent-id",
    "auto_resolve_conflicts": "auto-resolve-conflicts",
}  # fmt: skip


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    place = tmp_path_factory.mktemp("daemon")
    (place / "config.toml").write_text('[mcp]\ntools = "full"\n')
    with DaemonProcess(place) as running:
        yield running


@pytest.fixture
def client(daemon: DaemonProcess) -> Iterator[Client]:
    with Client(data_dir=daemon.data_dir, start=False) as found:
        yield found


@pytest.fixture(params=["python", "shell", "mcp", "mem0"])
def extract(request: pytest.FixtureRequest, daemon: DaemonProcess, client: Client) -> Extract:
    def by_shell(messages: list[dict[str, str]], store: str, **flags: Any) -> None:
        switches = {True: "--{}", False: "--no-{}"}
        words = [switches.get(value, f"--{{}}={value}").format(FLAGS[name]) for name, value in flags.items()]
        said = shlex.quote(json.dumps(messages))
        shown = Terminal(daemon.data_dir).type(
            f"echo {said} | mnemonctl extract --messages - --store {store} {shlex.join(words)} -q"
        )
        assert len(shown.split()) == 1, shown

    def by_mcp(messages: list[dict[str, str]], store: str, **flags: Any) -> None:
        call = asked(2, "tools/call", name="memory_extract", arguments={"messages": messages, "store": store, **flags})
        begin = [asked(1, "initialize", **HELLO), {"jsonrpc": "2.0", "method": "notifications/initialized"}]
        answer = by_id(by_socket(daemon.socket_path, lines(*begin, call)))[2]
        assert answer["isError"] is False, answer

    def by_mem0(messages: list[dict[str, str]], store: str, **flags: Any) -> None:
        named = {{"session_id": "run_id"}.get(name, name): value for name, value in flags.items()}
        with Client(data_dir=daemon.data_dir, store=store, start=False) as of_store:
            (found,) = Memory(of_store).add(messages, **named)["results"]
        assert found["id"]

    def by_python(messages: list[dict[str, str]], store: str, **flags: Any) -> None:
        client.extract(messages=msgspec.convert(messages, tuple[MessageParam, ...]), store=store, **flags)

    found: dict[str, Extract] = {"python": by_python, "shell": by_shell, "mcp": by_mcp, "mem0": by_mem0}
    return found[request.param]


def stored(client: Client, store: str) -> dict[str, dict[str, str | None]]:
    """The scope of each active memory, by its text."""
    found = client.list(store=store, limit=50, all_sessions=True)
    return {each.content: _scope(client, store, each.id) for each in found.insights}  # type: ignore[union-attr]


def _scope(client: Client, store: str, memory_id: str) -> dict[str, str | None]:
    it = client.get(id=memory_id, store=store).insight
    return {name: value for name in FLAGS if (value := getattr(it, name, None)) is not None}


def turn(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


@pytest.fixture
def store(request: pytest.FixtureRequest, daemon: DaemonProcess) -> str:
    name = "".join(char for char in request.node.name if char.isalnum())[-40:]
    with daemon.connect() as wire:
        wire.call("store.create", name=name)
    return name


@pytest.mark.parametrize("names", [("user_id",), ("session_id",), ("agent_id",), ("user_id", "session_id", "agent_id")])
def test_a_scope_is_that_of_the_fact(extract: Extract, client: Client, store: str, names: tuple[str, ...]) -> None:
    scope = {name: f"the-{name[:4]}" for name in names}
    extract([*turn("Hello!"), {"role": "assistant", "content": "Hi."}, *turn(OLD)], store=store, **scope)
    assert stored(client, store) == {"[User] I live in Lisbon.": scope}


@pytest.mark.parametrize("resolves", [True, False, None])
def test_conflicts_are_resolved_as_the_flag_says(
    extract: Extract, client: Client, store: str, *, resolves: bool | None
) -> None:
    flag = {} if resolves is None else {"auto_resolve_conflicts": resolves}
    extract(turn(OLD), store=store, user_id="ana", **flag)
    extract(turn(NEW), store=store, user_id="ana", **flag)
    both = {"[User] I live in Lisbon.", "[User] I live in Porto now."}
    assert set(stored(client, store)) == (both if resolves is False else {"[User] I live in Porto now."})
    assert client.reviews(store=store).total == (resolves is False)


def test_another_user_s_fact_is_not_replaced(extract: Extract, client: Client, store: str) -> None:
    extract(turn(OLD), store=store, user_id="ana")
    extract(turn(NEW), store=store, user_id="bo")
    assert set(stored(client, store)) == {"[User] I live in Lisbon.", "[User] I live in Porto now."}


# Each setting of the published configuration has the effect that it names.


@pytest.fixture
def configured(tmp_path: Path) -> Iterator[Callable[[str], Client]]:
    running: list[DaemonProcess] = []
    clients: list[Client] = []

    def start(settings: str) -> Client:
        (tmp_path / "config.toml").write_text(f"[extraction]\n{settings}\n")
        running.append(DaemonProcess(tmp_path))
        running[-1].start()
        clients.append(Client(data_dir=tmp_path, start=False))
        return clients[-1]

    yield start
    for client in clients:
        client.close()
    for each in running:
        each.stop()


SAID = "I live in Lisbon. I prefer tabs over spaces. We decided to use Redis as the cache."


@pytest.mark.parametrize(("settings", "facts"), [("", 3), ("importance_threshold = 8", 0), ("max_facts = 2", 2)])
def test_settings_of_what_is_kept(configured: Callable[[str], Client], settings: str, facts: int) -> None:
    assert len(configured(settings).extract(messages=SAID).facts) == facts  # type: ignore[union-attr]


def test_the_window_is_context_of_the_latest_exchange(configured: Callable[[str], Client]) -> None:
    roles = ("user", "assistant")
    talk = tuple(MessageParam(role=roles[number % 2], content=f"Number {number}.") for number in range(8))
    shown = configured("message_window = 3").extract(messages=talk, show_context=True)
    assert isinstance(shown, ExtractContext)
    assert [each.content for each in shown.earlier] == [f"Number {number}." for number in (3, 4, 5)]
    assert [each.content for each in shown.latest] == ["Number 6.", "Number 7."]


@pytest.mark.parametrize(
    ("settings", "sentence"), [("enabled = false", "is false"), ('engine = "host"', "from the agent")]
)
def test_extraction_that_is_off_says_so(configured: Callable[[str], Client], settings: str, sentence: str) -> None:
    with pytest.raises(Exception, match=sentence):
        configured(settings).extract(messages=SAID)


def test_the_setting_is_what_a_call_without_the_flag_goes_by(configured: Callable[[str], Client]) -> None:
    client = configured("auto_resolve_conflicts = false")
    for text in (OLD, NEW):
        client.extract(messages=text)
    assert set(stored(client, "default")) == {"[User] I live in Lisbon.", "[User] I live in Porto now."}
    client.extract(messages="I live in Braga now.", auto_resolve_conflicts=True)
    assert "[User] I live in Braga now." in stored(client, "default")
    assert len(stored(client, "default")) < 3


def test_a_resolver_that_only_adds_replaces_nothing(configured: Callable[[str], Client]) -> None:
    client = configured('resolver = "add_only"')
    for text in (OLD, NEW):
        client.extract(messages=text)
    assert set(stored(client, "default")) == {"[User] I live in Lisbon.", "[User] I live in Porto now."}
    assert client.reviews().total == 0
