"""A headless Chromium over the pipe of its DevTools protocol, for pages that were written to a file."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal

PROGRAMS: Final = ("chromium", "chromium-browser", "google-chrome")

FLAGS: Final = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-pipe",
)  # fmt: skip

ANSWER_S: Final = 60.0
"""Seconds that a command may take."""

Json = dict[str, Any]


def program() -> str | None:
    """Return the path of a Chromium, None if there is none."""
    return next((found for each in PROGRAMS if (found := shutil.which(each)) is not None), None)


class Page:
    """One tab. `requests`: the addresses it asked for, itself included; `problems`: what its console and log said."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._number = 0
        self._buffer = b""
        self._session: str | None = None
        self._events: list[str] = []
        self.requests: list[str] = []
        self.problems: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: object) -> Json:
        """Return the result of a command. Raises RuntimeError for its error, TimeoutError without an answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        ends = time.monotonic() + ANSWER_S
        while True:
            answer = self._next(ends)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: Json = answer["result"]
                return result

    def _next(self, ends: float) -> Json:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._from], [], [], max(0.0, ends - time.monotonic()))
            chunk = os.read(self._from, 1 << 20) if ready else b""
            if not chunk:
                raise TimeoutError("the browser does not answer")
            self._buffer += chunk
        first, _, self._buffer = self._buffer.partition(b"\0")
        message: Json = json.loads(first)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, params: Mapping[str, Any]) -> None:
        self._events.append(method)
        match method:
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case "Log.entryAdded":
                self.problems.append(params["entry"]["text"])
            case "Runtime.consoleAPICalled":
                self.problems.append(str(params["args"]))
            case "Runtime.exceptionThrown":
                self.problems.append(str(params["exceptionDetails"]))
            case "Page.javascriptDialogOpening":
                self.problems.append(f"dialog: {params['message']}")
                self.call("Page.handleJavaScriptDialog", accept=False)

    def open(self, file: Path, scripts: bool = True) -> None:
        """Load a file and wait until it is complete."""
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self._events.clear()
        self.call("Page.navigate", url=file.as_uri())
        ends = time.monotonic() + ANSWER_S
        while "Page.loadEventFired" not in self._events:
            self._next(ends)

    def show(self, width: int, height: int, scheme: Literal["light", "dark"]) -> None:
        """Set the size of the window and the preferred colours."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )  # fmt: skip
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def evaluate(self, expression: str) -> Any:  # noqa: ANN401 - any value of JSON
        """Return the value of an expression, of a promise the value that it has in the end. Raises RuntimeError."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(str(found["exceptionDetails"]))
        return found["result"].get("value")

    def mouse(self, kind: str, x: float, y: float, **more: object) -> None:
        """Send an event of the mouse: mousePressed, mouseMoved, mouseReleased or mouseWheel."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def key(self, name: str) -> None:
        """Press and release a key, as KeyboardEvent.key names it."""
        text = {"text": name} if len(name) == 1 else {"text": "\r"} if name == "Enter" else {}
        codes = {"Tab": 9, "Enter": 13, "Escape": 27}
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=name, windowsVirtualKeyCode=codes.get(name, 0),
                **(text if kind == "keyDown" else {}),
            )  # fmt: skip

    def screenshot(self, file: Path) -> None:
        """Write what is to be seen as PNG."""
        file.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))


@contextmanager
def browser(path: str) -> Iterator[Page]:
    """Start a browser with a profile of its own, and end it."""
    with tempfile.TemporaryDirectory(prefix="mnemond-chromium-", ignore_cleanup_errors=True) as profile:
        read_commands, write_commands = os.pipe()
        read_answers, write_answers = os.pipe()
        # The browser reads its descriptor 3 and writes 4, whatever the numbers are here.
        script = f'exec 3<&{read_commands} 4>&{write_answers}; exec "$0" "$@"'
        process = subprocess.Popen(
            ["/bin/bash", "-c", script, path, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(read_commands, write_answers), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(read_commands)
        os.close(write_answers)
        try:
            yield Page(write_commands, read_answers)
        finally:
            os.close(write_commands)
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            os.close(read_answers)
