"""Serve the model that `benchmarks.llm.fetch` fetched, on the loopback interface, until it is interrupted.

    python -m benchmarks.llm.serve [--port 8089] [--threads 2]

The API is that of OpenAI: `llm.provider = "openai"`, `llm.endpoint = "http://127.0.0.1:8089"`.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
from pathlib import Path

from benchmarks.llm.fetch import MODEL, RUNNER

PORT = 8089
CONTEXT = 8192
"""Tokens of a question and its answer."""


def main(arguments: list[str] | None = None) -> None:
    """Serve in the environment of the server. SystemExit if it was not fetched."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.llm.serve", description=__doc__)
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--model", type=Path, default=MODEL, help="another GGUF file")
    options = parser.parse_args(arguments)
    if not options.model.is_file() or not (RUNNER / "ready").is_file():
        raise SystemExit("the model or its server is missing: python -m benchmarks.llm.fetch")
    if Path(sys.prefix) != RUNNER:
        python = str(RUNNER / "bin/python")
        os.execv(python, [python, "-m", "benchmarks.llm.serve", *(sys.argv[1:] if arguments is None else arguments)])
    serve(options.model, options.port, options.threads)


def serve(model: Path, port: int, threads: int) -> None:
    """Serve a model to one question after the other."""
    runtime = importlib.import_module("xllamacpp")
    params = runtime.CommonParams()
    params.model.path = str(model)
    params.n_parallel = 1
    params.n_ctx = CONTEXT
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.port = port
    params.warmup = False
    server = runtime.Server(params)
    print(f"{model.name} at {server.listening_address}", flush=True)
    signal.sigwait({signal.SIGINT, signal.SIGTERM})
    del server


if __name__ == "__main__":
    main()
