"""Secrets that were remembered, or given as names: none is in any file of the data directory."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from mnemond.api.types_memories import RememberParams
from mnemond.api.types_stores import StoreCreateParams
from mnemond.errors import INVALID_PARAMS, MnemonError
from tests.api.factories import CALL, bench
from tests.tables import each_row
from tests.text.secret_attack import attacks

SECRET = "ghp_" + "a8Kd93jfLs02mNq7Rt5Vx1Zb4Cw6Ye3Gh9Jk"
FRAGMENT = 12
"""Characters of a part by which a secret could be recognised."""


def bytes_in(path: Path) -> bytes:
    """All names and contents below a directory."""
    files = [file for file in path.rglob("*") if file.is_file()]
    return b"".join((*(str(each).encode() for each in path.rglob("*")), *(file.read_bytes() for file in files)))


@pytest.mark.check_all
async def test_eighty_secrets_leave_nothing_whole_in_any_file(tmp_path: Path) -> None:
    known, refused = attacks(2061), 0
    async with bench(tmp_path) as over:
        for text, secret in known:
            note = RememberParams(content=f"{text} (a note of the operations team)", no_diff=True)
            await over.remembering.remember(CALL, note)
            noted = RememberParams(content="A note", metadata={"note": text, "password": secret}, no_diff=True)
            await over.remembering.remember(CALL, noted)
            with suppress(MnemonError):
                await over.remembering.remember(CALL, RememberParams(content="Named", op_id=text, no_diff=True))
                refused -= 1
            refused += 1
    stored = bytes_in(tmp_path)
    whole = [secret for _, secret in known if secret.encode() in stored]
    parts = [
        secret for _, secret in known
        if any(secret[at : at + FRAGMENT].encode() in stored for at in range(max(1, len(secret) - FRAGMENT + 1)))
    ]  # fmt: skip
    assert whole == []
    assert len(parts) <= 4
    assert refused >= 76


@each_row("name", [SECRET, "password-kT9wQx3vLm2p"])
async def test_no_store_is_called_by_a_secret(tmp_path: Path, name: str) -> None:
    async with bench(tmp_path) as over:
        with pytest.raises(MnemonError, match="looks like a secret") as caught:
            await over.named.create(CALL, StoreCreateParams(name=name))
        assert (caught.value.kind, caught.value.problems[0].field) == (INVALID_PARAMS, "store")
        assert name not in caught.value.message
        with pytest.raises(MnemonError, match="looks like a secret") as caught:
            await over.remembering.remember(CALL, RememberParams(content="tea at four", store=name))
        assert name not in f"{caught.value.message} {caught.value.hint}"
        await over.named.create(CALL, StoreCreateParams(name="password-manager"))
    assert name.encode() not in bytes_in(tmp_path)
