"""A disk that takes longer to flush: fsync and fdatasync of this process and of all it starts wait before they work.

The time of a flush differs between disks by a factor of a hundred. A library that is loaded before the C library does
the waiting, so the process sleeps, as on a disk.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static void wait_first(void) {
    long us = atol(getenv("BENCHMARK_FLUSH_US"));
    struct timespec time = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&time, NULL);
}

int fdatasync(int file) {
    wait_first();
    return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(file);
}

int fsync(int file) {
    wait_first();
    return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file);
}
"""

WAIT = "BENCHMARK_FLUSH_US"


def slow_down(module: str, arguments: Sequence[str], flush_ms: float) -> None:
    """Run `python -m module arguments` instead of this process, with every flush that many milliseconds longer; returns
    where that is so already.

    Raises SystemExit where there is no C compiler, or no Linux.
    """
    if WAIT in os.environ:
        return
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        raise SystemExit("a slower disk takes Linux and a C compiler (cc); leave --flush-ms out, or install one")
    directory = Path(tempfile.mkdtemp(prefix="mnemond-bench-"))
    library = directory / "slow_disk.so"
    try:
        build = [compiler, "-shared", "-fPIC", "-O2", "-x", "c", "-o", str(library), "-", "-ldl"]
        subprocess.run(build, input=SOURCE, text=True, check=True)
        # By its name: a path with a space in it would be two names, and no flush any longer.
        places = os.pathsep.join(filter(None, (str(directory), os.environ.get("LD_LIBRARY_PATH"))))
        environment = os.environ | {"LD_PRELOAD": library.name, "LD_LIBRARY_PATH": places}
        environment[WAIT] = str(int(flush_ms * 1000))
        code = subprocess.call([sys.executable, "-m", module, *arguments], env=environment)
    finally:
        shutil.rmtree(directory)
    raise SystemExit(code)
