"""What was not tried is counted and said, with its reason: a missing program must not look like one that works."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.hosts.home import without_network

HERE = Path(__file__).parent.name


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line a reason."""
    skipped = [report for report in terminalreporter.stats.get("skipped", []) if f"tests/{HERE}/" in report.nodeid]
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"tests/{HERE}: {count} not tried: {reason}")
    tried = [report for report in terminalreporter.stats.get("passed", []) if f"tests/{HERE}/" in report.nodeid]
    if tried and not without_network():
        terminalreporter.write_line(f"tests/{HERE}: the network could not be taken away from these programs (unshare)")
