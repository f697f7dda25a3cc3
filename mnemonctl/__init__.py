"""mnemonctl: the thin client of mnemond. `run` composes both parts of it: `fast`, and `slow` where that is needed."""

# No `from __future__ import annotations`, and nothing that is not built in: see `fast`.
import posix
import sys


def main() -> None:
    """Run the command line of this process; never returns."""
    from mnemonctl import fast

    for descriptor in range(3):
        try:
            posix.fstat(descriptor)
        except OSError:  # closed, so that the socket would take its number: it is read only, and what is written fails
            posix.open("/dev/null", posix.O_RDONLY)
    try:
        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    except fast.OutputError as error:
        fast.write(2, f"mnemonctl: the command ran, but its output cannot be written: {error}\n".encode())
        code = 74  # EX_IOERR of sysexits.h
    posix._exit(code)


def run(argv: list[str], deadline: float | None = None) -> int:
    """Run one command line and return the exit status. `deadline` is in seconds; the default depends on the command."""
    from mnemonctl import fast

    done = fast.run(argv, deadline)
    if isinstance(done, int):
        return done
    fast.add_site_packages()
    from mnemonctl import slow

    return slow.finish(done)
