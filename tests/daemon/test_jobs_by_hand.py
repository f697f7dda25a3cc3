"""Background jobs of a real daemon, as its clients see them, over a restart."""

from __future__ import annotations

from pathlib import Path

from benchmarks.daemon_process import DaemonProcess


def test_jobs_are_run_listed_and_remembered(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[lifecycle]\nmax_insights = 4\nbackup_interval = 0\n")
    with DaemonProcess(tmp_path) as daemon, daemon.connect() as wire:
        for number in range(3):
            wire.call("remember", content=f"the ship called {number} sails at dawn", no_diff=True)
        assert wire.call("jobs.run", name="prune")["outcome"] == "nothing"
        said = wire.call("cli.run", argv=["jobs", "run", "graph-metrics"], tty=True)
        assert (said["exit_code"], said["stdout"]) == (0, "graph_metrics changed 3\n")
        jobs = {job["name"]: job for job in wire.call("jobs.list")["jobs"]}
        assert "backup" not in jobs
        assert jobs["graph_metrics"]["outcome"] == "done"
        assert wire.call("status")["questions"] == []
    with DaemonProcess(tmp_path) as again, again.connect() as wire:
        known = {job["name"]: job for job in wire.call("jobs.list")["jobs"]}
        for name in ("prune", "graph_metrics"):
            assert known[name]["last_run"] == jobs[name]["last_run"]
        said = wire.call("cli.run", argv=["jobs", "run", "prun"], tty=True)
        assert said["exit_code"] == 2
        assert "there is no job 'prun'" in said["stderr"]
