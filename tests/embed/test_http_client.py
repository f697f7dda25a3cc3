"""Requests end: in time, within bytes, at the server they were meant for, and without quoting anybody."""

from __future__ import annotations

import gzip
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.http import Deadline, HttpClient, NoAnswerError, Reply, parse
from tests.embed.servers import Answer, Request, Rule, Speaker, closed_port, has_address, serving, speaking
from tests.tables import each_row

ROOM = 1 << 20

PLENTY_S = 60.0
"""Seconds for what must be answered, on a machine that stops now and then."""


def client(url: str, bearer: str | None = None) -> HttpClient:
    return HttpClient(parse(url, "x"), "the service at", bearer)


def within(seconds: float) -> Deadline:
    return Deadline(time.monotonic, seconds)


def got(rule: Rule, max_bytes: int = ROOM, seconds: float = PLENTY_S) -> Reply:
    with serving(rule) as server:
        return client(server.url).get("/x", deadline=within(seconds), max_bytes=max_bytes)


def test_a_request_carries_what_it_needs_and_no_more() -> None:
    with serving(lambda request: Answer(201, b'{"a":1}')) as server:
        reply = client(server.url, "sesame").post("/v1/x", b'{"b":2}', deadline=within(PLENTY_S), max_bytes=ROOM)
    assert reply == Reply(201, b'{"a":1}')
    (request,) = server.requests
    assert (request.method, request.path, request.json) == ("POST", "/v1/x", {"b": 2})
    assert request.headers["authorization"] == "Bearer sesame"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["accept-encoding"] == "identity"
    assert request.headers["host"] == f"127.0.0.1:{server.port}"


def test_without_a_key_nothing_is_authorised() -> None:
    with serving(lambda request: Answer()) as server:
        client(server.url).get("/", deadline=within(PLENTY_S), max_bytes=ROOM)
    assert "authorization" not in server.requests[0].headers
    assert "content-type" not in server.requests[0].headers


@each_row("status", [200, 404, 500])
def test_any_status_is_an_answer(status: int) -> None:
    assert got(lambda request: Answer(status, b"x")) == Reply(status, b"x")


def test_localhost_is_asked_under_its_name() -> None:
    with serving(lambda request: Answer()) as server:
        reply = client(f"http://localhost:{server.port}").get("/", deadline=within(PLENTY_S), max_bytes=ROOM)
    assert reply.status == 200
    assert server.requests[0].headers["host"] == f"localhost:{server.port}"


def test_localhost_may_be_the_other_address() -> None:
    def answer(line: socket.socket) -> None:
        line.recv(65_536)
        line.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    if not has_address("::1"):
        pytest.skip("this machine has no ::1")
    with speaking(answer, "::1") as server:
        reply = client(f"http://localhost:{server.port}").get("/", deadline=within(PLENTY_S), max_bytes=ROOM)
    assert reply.body == b"{}"


def test_a_redirect_is_not_followed() -> None:
    with (
        serving(lambda request: Answer()) as other,
        serving(lambda request: Answer(307, b"", (("Location", f"{other.url}/stolen"),))) as server,
        pytest.raises(MnemonError, match="answered 307, a redirect, which is not followed") as caught,
    ):
        client(server.url).post("/", b"{}", deadline=within(PLENTY_S), max_bytes=ROOM)
    assert caught.value.kind is UNAVAILABLE
    assert other.requests == []


@pytest.mark.parametrize("variable", ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"])
def test_no_proxy_of_the_environment_sees_it(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    with serving(lambda request: Answer(299)) as proxy:
        monkeypatch.setenv(variable, proxy.url)
        assert got(lambda request: Answer()).status == 200
    assert proxy.requests == []


def test_no_more_is_read_than_there_is_room_for() -> None:
    assert got(lambda request: Answer(body=b"x" * 1000), max_bytes=1000).body == b"x" * 1000
    with pytest.raises(MnemonError, match="answered with more than 1,000 bytes"):
        got(lambda request: Answer(body=b"x" * 1001), max_bytes=1000)
    with pytest.raises(MnemonError, match="more than 1,000 bytes"):
        got(lambda request: Answer(body=b"x" * (8 << 20)), max_bytes=1000)


def test_a_small_body_that_grows_is_refused() -> None:
    bomb = Answer(body=gzip.compress(b"0" * ROOM), headers=(("Content-Encoding", "gzip"),))
    with pytest.raises(MnemonError, match="compressed"):
        got(lambda request: bomb)


def test_a_silent_server_is_given_up() -> None:
    with pytest.raises(NoAnswerError, match=r"the service at http://127\.0\.0\.1:\d+ did not answer within 0\.2 s"):
        got(lambda request: Answer(hang=True), seconds=0.2)


def given_up(server: Speaker, max_bytes: int = ROOM) -> None:
    """A request ends in time. One whose time was over before it reached the server showed nothing, and has more."""
    for seconds in (0.3, 3.0, 30.0):
        with pytest.raises(NoAnswerError, match=rf"did not answer within {seconds} s"):
            client(server.url).get("/", deadline=within(seconds), max_bytes=max_bytes)
        if server.reached.is_set():
            return
    pytest.fail("the server was never reached")


def test_a_server_that_trickles_is_given_up_as_well() -> None:
    """Each byte comes in time, the whole never does."""
    over = threading.Event()

    def trickle(line: socket.socket) -> None:
        line.sendall(b"HTTP/1.1 200 OK\r\nX: ")
        while not over.wait(0.01):
            line.sendall(b"x")

    with speaking(trickle) as server:
        try:
            given_up(server)
        finally:
            over.set()


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
FLOODS = {
    "interim responses": (b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
    "early hints": (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
    "chunks of one byte": (CHUNKED, b"1\r\nx\r\n"),
    "chunks with long extensions": (CHUNKED, b"1;" + b"e" * 8_000 + b"\r\nx\r\n"),
}
MOST_OF_A_FLOOD = 1 << 30
"""Bytes after which the server itself gives up: a client without a deadline fails the test instead of hanging it."""


@each_row("flood", sorted(FLOODS))
def test_a_server_that_floods_is_given_up_as_well(flood: str) -> None:
    """There is always something to read, in as many pieces as possible, and never an end."""
    first, again = FLOODS[flood]
    piece = again * (65_536 // len(again))

    def pour(line: socket.socket) -> None:
        line.sendall(first)
        for _ in range(MOST_OF_A_FLOOD // len(piece)):
            line.sendall(piece)

    with speaking(pour) as server:
        begun = time.thread_time()
        given_up(server, MOST_OF_A_FLOOD)
        assert time.thread_time() - begun < 5, "what one read brings takes no longer than that"


def test_chunks_of_one_byte_fill_the_room_as_others_do() -> None:
    def pour(line: socket.socket) -> None:
        line.recv(65_536)
        line.sendall(CHUNKED + b"1\r\nx\r\n" * 5_000)

    with speaking(pour) as server, pytest.raises(MnemonError, match="more than 1,000 bytes"):
        client(server.url).get("/", deadline=within(PLENTY_S), max_bytes=1000)


def test_a_deadline_that_is_over_sends_nothing() -> None:
    with serving(lambda request: Answer()) as server, pytest.raises(NoAnswerError):
        client(server.url).get("/", deadline=within(0), max_bytes=ROOM)
    assert server.requests == []


@each_row("host", ["127.0.0.1", "localhost"])
def test_nobody_there(host: str) -> None:
    with pytest.raises(NoAnswerError, match=r"cannot be reached \(connection refused\)") as caught:
        client(f"http://{host}:{closed_port()}").get("/", deadline=within(PLENTY_S), max_bytes=ROOM)
    assert caught.value.__cause__ is None


@each_row("said", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"])
def test_a_line_that_breaks(said: bytes) -> None:
    def speak(line: socket.socket) -> None:
        line.recv(65_536)
        line.sendall(said)

    with speaking(speak) as server, pytest.raises(NoAnswerError, match="cannot be reached"):
        client(server.url).get("/", deadline=within(PLENTY_S), max_bytes=ROOM)


def test_a_server_without_a_certificate_gets_nothing() -> None:
    with serving(lambda request: Answer()) as server, pytest.raises(NoAnswerError) as caught:
        client(f"https://127.0.0.1:{server.port}").post("/", b"canary", deadline=within(PLENTY_S), max_bytes=ROOM)
    assert server.requests == []
    assert "cannot be reached (wrong version number)" in caught.value.message or "ssl" in caught.value.message


def test_errors_quote_neither_side() -> None:
    def echo(request: Request) -> Answer:
        return Answer(302, request.body, (("Location", "http://canary.example"),))

    with serving(echo) as server, pytest.raises(MnemonError) as caught:
        client(server.url, "canary-key").post("/", b"canary text", deadline=within(PLENTY_S), max_bytes=ROOM)
    assert "canary" not in f"{caught.value.message}{caught.value.hint}"


def test_threads_may_share_a_client() -> None:
    with serving(lambda request: Answer(body=request.path.encode())) as server:
        shared = client(server.url)
        found: list[bytes] = []

        def ask(number: int) -> None:
            found.append(shared.get(f"/{number}", deadline=within(PLENTY_S), max_bytes=ROOM).body)

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(found) == [f"/{number}".encode() for number in range(8)]


def test_the_library_is_loaded_only_for_a_client() -> None:
    """A daemon with a model of its own never pays for it."""
    source = (
        "import sys, mnemond.daemon, mnemond.embed.registry\n"
        "from mnemond import http\n"
        "assert 'httpx' not in sys.modules\n"
        "http.HttpClient(http.parse('http://localhost:1', 'x'), 'x')\n"
        "assert 'httpx' in sys.modules\n"
    )
    finished = subprocess.run(
        [sys.executable, "-c", source], cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr
