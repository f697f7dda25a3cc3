"""`mnemond`: run the daemon in the foreground until it is stopped."""

from __future__ import annotations

import argparse
import faulthandler
import gc
import os
import sys
from pathlib import Path

# OpenBLAS reads this when numpy is first imported. With two threads on a busy machine one product of 10,000 × 384 took
# 25 ms at the median, with one 0.8 – 2 ms.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Collections while modules are imported take 25 ms and find nothing: what an import creates stays. Nor need later ones
# look at it.
gc.disable()

from mnemond.config.settings import LEVELS, PROFILES
from mnemond.daemon import CliOverrides, check_config, run
from mnemond.errors import DATA_DIR, MnemonError
from mnemond.logs import PRIORITIES, Logs, is_journal, write_stderr
from mnemond.wire.params import SERVER_VERSION

gc.freeze()
gc.enable()

EXAMPLES = """examples:
  mnemond                          serve ~/.mnemon until SIGTERM or Ctrl-C
  mnemond --data-dir /tmp/try      serve another data directory
  mnemonctl daemon start           the usual way: in the background, when it is needed

exit status: 0 clean stop, 2 bad configuration or refused data directory, 75 another daemon holds the lock
"""


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="mnemond",
        description="The memory daemon. It serves one data directory over the Unix socket DATA_DIR/sock.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=Path(os.environ.get("MNEMON_DATA_DIR") or "~/.mnemon"),
        help="where everything lives (default: $MNEMON_DATA_DIR, else ~/.mnemon)",
    )
    parser.add_argument("--log-level", choices=list(LEVELS), help="instead of `log.level` in config.toml")
    parser.add_argument("--config", type=Path, metavar="FILE", help="instead of config.toml in the data directory")
    parser.add_argument("--profile", choices=list(PROFILES), help="a named set of other defaults")
    parser.add_argument(
        "--set", action="append", default=[], metavar="SETTING=VALUE", help="such as diff.update=0.7; may be repeated"
    )
    parser.add_argument(
        "--check-config", action="store_true", help="read the configuration, report what is wrong with it, and exit"
    )
    parser.add_argument("--listening", type=int, help=argparse.SUPPRESS)  # by mnemonctl: see `daemon.run`
    parser.add_argument("--version", action="version", version=f"mnemond {SERVER_VERSION}")
    return parser.parse_args(argv)


def _data_dir(given: Path) -> Path:
    """Return the absolute path of the directory. Raises MnemonError(DATA_DIR) if it cannot be used or shown."""
    try:
        path = given.expanduser().absolute()
        str(path).encode()
    except (RuntimeError, UnicodeEncodeError) as error:
        raise MnemonError(DATA_DIR, f"the data directory {str(given)!a} cannot be used: {error}") from error
    return path


def _overrides(options: argparse.Namespace) -> CliOverrides:
    """Configuration given as options; --profile is a setting."""
    profile = [] if options.profile is None else [f"profile={options.profile}"]
    return CliOverrides(options.config and options.config.expanduser().absolute(), (*options.set, *profile))


def _print_error(error: MnemonError) -> None:
    """Print the sentence with the code of its kind, by which the client knows it, and the hint below."""
    lines = [f"mnemond: {error.message} [{error.kind.name}]", *([f"  {error.hint}"] if error.hint else [])]
    level = f"<{PRIORITIES['error']}>" if is_journal(os.environ, 2) else ""
    write_stderr("".join(f"{level}{line}\n" for line in lines).encode("utf-8", "backslashreplace"))


def main(argv: list[str] | None = None) -> int:
    """Run, and return the process's exit status."""
    options = _arguments(argv)
    if sys.stderr is not None:
        faulthandler.enable()  # prints the functions in which a daemon was that its watchdog ended, and no values
    try:
        data_dir = _data_dir(options.data_dir)
        overrides = _overrides(options)
        if options.check_config:
            check_config(data_dir, overrides)
        else:
            run(data_dir, Logs(options.log_level), overrides, options.listening)
    except MnemonError as error:
        _print_error(error)
        return error.kind.exit
    return 0


if __name__ == "__main__":
    sys.exit(main())
