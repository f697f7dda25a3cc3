"""The conformance suite of MCP: all that two revisions require of a server, over a bridge (`bridge.py`).

Most of its scenarios call tools, prompts and resources that a server must have for the suite alone; mnemond has not.
What fails for that reason says so itself; every other failure is named below, with why it is none of the daemon's.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.hosts import programs
from tests.hosts.home import ended, home, without_network

pytestmark = pytest.mark.hosts

FIXTURE: Final = re.compile(
    r"there is no (tool|prompt) '(test_|slow_compute|failing_job|protocol_error_job|greet|confirm_delete|multi_input)"
    r"|there is no such resource|[Nn]ot testable|'json_schema_2020_12_tool' not found"
)
"""How the suite says that something of its own is not there."""

NOT_OURS: Final = {
    "completion-complete": "not declared among the capabilities, so not to be asked for",
    "resources-subscribe": "not declared among the capabilities",
    "resources-unsubscribe": "not declared among the capabilities",
    "localhost-host-rebinding-rejected": "of HTTP, which is spoken by the bridge alone",
    "sep-2575-http-server-header-mismatch-400": "of HTTP",
    "sep-2575-http-server-method-not-found-404-ping": "ping is a method of mnemond's own as well, and refuses _meta",
    "sep-2243-server-reject-invalid-headers": "of HTTP; its calls lack an argument, which a model is told in a result",
    "sep-2322-multi-round-r1": "its fixture is missing, and it does not say so",
    "sep-2322-reject-tampered-state": "its fixture is missing",
}
"""Checks by their names, and why the daemon does not meet them."""

EXTENSION: Final = "tasks-"
"""Scenarios of an extension (SEP-2663) that mnemond does not offer."""

MET: Final = {"2025-11-25": 42, "2026-07-28": 93}
"""Checks that are met, at least; raise it, never lower it."""


def checks(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each with the scenario that it belongs to."""
    for path in sorted(folder.glob("*/checks.json")):
        scenario = re.sub(r"-\d{4}-\d\d-\d\dT.*", "", path.parent.name).removeprefix("server-")
        for check in json.loads(path.read_text("utf-8")):
            yield scenario, check


@pytest.mark.parametrize("revision", MET)
def test_nothing_fails_but_for_a_reason(revision: str, tmp_path: Path) -> None:
    suite = str(programs.program("conformance"))
    with home(tmp_path) as at:
        results = tmp_path / "results"
        bridge = [*without_network(), sys.executable, "-m", "tests.hosts.bridge", str(at.directory / "sock"), suite]
        asked = ["server", "--url", "{bridge}", "--requirements", revision, "-o", str(results)]
        environ = {**at.environ(), "PYTHONPATH": str(programs.ROOT)}
        status, _, stderr = ended([*bridge, *asked], environ, at.work)
        assert status in (0, 1), stderr
    found = list(checks(results))
    failed = [(scenario, each) for scenario, each in found if each["status"] == "FAILURE"]
    unexplained = [
        (scenario, each["id"], each.get("errorMessage"))
        for scenario, each in failed
        if each["id"] not in NOT_OURS
        and not FIXTURE.search(each.get("errorMessage", ""))
        and not scenario.startswith(EXTENSION)
    ]
    assert unexplained == []
    met = [each["id"] for _, each in found if each["status"] == "SUCCESS"]
    assert len(met) >= MET[revision]
    schema = {each["status"] for _, each in found if each["id"] == "wire-schema-valid"}
    assert schema == {"SUCCESS"}, "a message is not what the schema of its revision wants"
