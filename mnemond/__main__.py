"""`mnemond`: run the daemon in the foreground until it is told to stop."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

# OpenBLAS reads this when numpy is first imported. With two threads on a busy machine one product of 10,000 × 384 took
# 25 ms at the median, with one 0.8 – 2 ms (reliability section 3).
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from mnemond.app import check_config, run
from mnemond.errors import DATA_DIR, MnemonError
from mnemond.logs import LEVELS, configure
from mnemond.protocol.version import SERVER_VERSION

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
    parser.add_argument("--log-level", choices=list(LEVELS), default="info", help="default: info")
    parser.add_argument(
        "--check-config", action="store_true", help="read the configuration, say what is wrong with it, and leave"
    )
    parser.add_argument("--version", action="version", version=f"mnemond {SERVER_VERSION}")
    return parser.parse_args(argv)


def _data_dir(given: Path) -> Path:
    """The directory meant, absolute. Raises MnemonError(DATA_DIR) for a path that cannot be used or shown."""
    try:
        path = given.expanduser().absolute()
        str(path).encode()
    except (RuntimeError, UnicodeEncodeError) as error:
        raise MnemonError(DATA_DIR, f"the data directory {str(given)!a} cannot be used: {error}") from error
    return path


def main(argv: list[str] | None = None) -> int:
    """Run; the process's exit status."""
    options = _arguments(argv)
    log = configure(options.log_level)
    try:
        data_dir = _data_dir(options.data_dir)
        if options.check_config:
            check_config(data_dir)
        else:
            run(data_dir, log)
    except MnemonError as error:
        hint = f"\n  {error.hint}" if error.hint else ""
        sys.stderr.write(f"mnemond: {error.message}{hint}\n")
        return error.kind.exit
    return 0


if __name__ == "__main__":
    sys.exit(main())
