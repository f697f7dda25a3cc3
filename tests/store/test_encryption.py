"""Files for recipients of age: keys, what is refused, streams that are never whole in memory, damage."""

from __future__ import annotations

import io
import sys
import threading
import tracemalloc
from collections.abc import Iterator

import pyrage
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond import encryption
from mnemond.encryption import decrypted, encrypt, identities_in, is_encrypted, recipients_in, recipients_of
from mnemond.errors import INVALID_PARAMS, STORAGE, UNAVAILABLE, MnemonError
from tests.tables import each_row

IDENTITY = pyrage.x25519.Identity.generate()
PUBLIC = str(IDENTITY.to_public())
SSH_PUBLIC = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ3h2HhD2dUF+rn4sKuJGnBJCvUKJ0vZ5cC8b8m1b2sH me@host"


def sealed(content: bytes, size: int = 10_000) -> bytes:
    made = io.BytesIO()
    encrypt((content[at : at + size] for at in range(0, len(content), size)), made.write, recipients_of([PUBLIC]))
    return made.getvalue()


def opened(content: bytes, identities: list[encryption.Identity] | None = None) -> bytes:
    with decrypted(io.BytesIO(content), [IDENTITY] if identities is None else identities, "x.age") as file:
        return file.read()


@given(st.binary(max_size=300_000), st.integers(1, 200_000))
def test_what_is_encrypted_is_read_again(content: bytes, size: int) -> None:
    made = sealed(content, size)
    assert is_encrypted(made)
    assert opened(made) == content


def test_other_forms_of_it_are_read() -> None:
    text = pyrage.encrypt(b"by another program", [IDENTITY.to_public()], armored=True)
    assert is_encrypted(text)
    assert opened(text) == b"by another program"


@given(st.floats(0, 1, exclude_max=True), st.booleans())
def test_no_part_of_a_damaged_file_is_passed_off_as_all_of_it(where: float, cut: bool) -> None:
    made = sealed(b"x" * 200_000)
    at = int(where * len(made))
    with pytest.raises(MnemonError, match="cannot be decrypted") as refused:
        opened(made[:at] if cut else made[:at] + bytes([made[at] ^ 1]) + made[at + 1 :])
    assert refused.value.kind in (STORAGE, INVALID_PARAMS)


def test_another_key_and_a_passphrase_are_named() -> None:
    with pytest.raises(MnemonError, match=r"x\.age cannot be decrypted: none of the identities is one of its recipie"):
        opened(sealed(b"a"), [pyrage.x25519.Identity.generate()])
    with pytest.raises(MnemonError, match="it is encrypted with a passphrase, not for recipients"):
        opened(pyrage.passphrase.encrypt(b"a", "secret"))


def test_neither_side_is_held_in_memory() -> None:
    parts = 400

    def plain() -> Iterator[bytes]:
        for _ in range(parts):
            yield bytes(1 << 16)

    with io.BytesIO() as made:
        encrypt(plain(), made.write, recipients_of([PUBLIC]))
        content = made.getvalue()
    tracemalloc.start()
    try:
        encrypt(plain(), lambda _: None, recipients_of([PUBLIC]))
        with decrypted(io.BytesIO(content), [IDENTITY], "x") as file:
            assert sum(len(part) for part in encryption.parts_of(file)) == parts << 16
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
    finally:
        tracemalloc.stop()


def test_reading_may_end_early() -> None:
    before = threading.active_count()
    file = io.BytesIO(sealed(bytes(1 << 20)))
    with decrypted(file, [IDENTITY], "x") as plain:
        assert plain.read(1) == b"\0"
    assert threading.active_count() == before
    assert file.closed


def test_errors_of_the_source_and_the_target_come_out_as_they_are() -> None:
    def broken() -> Iterator[bytes]:
        yield b"a"
        raise KeyError("source")

    def full(_: bytes) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(KeyError, match="source"):
        encrypt(broken(), lambda _: None, recipients_of([PUBLIC]))
    with pytest.raises(OSError, match="No space left") as disk:
        encrypt([b"a"], full, recipients_of([PUBLIC]))
    assert disk.value.errno == 28


@each_row(
    ("name", "why"),
    [
        ("age1xyz", "is no recipient of age"),
        ("age1yubikey1qwerty", "it belongs to the plugin yubikey, and plugins are not used"),
        ("ssh-dss AAAAB3NzaC1kc3M=", "is no recipient of age"),
        ("hello", "is no recipient of age"),
        pytest.param(str(IDENTITY), "a recipient is a secret key, which must stay secret", id="a secret key"),
    ],
)
def test_what_is_no_recipient(name: str, why: str) -> None:
    with pytest.raises(MnemonError, match=why) as refused:
        recipients_of([name])
    assert str(IDENTITY)[15:] not in f"{refused.value.message} {refused.value.hint}"


def test_a_file_of_recipients_has_one_a_line() -> None:
    assert recipients_in(f"# mine\n{PUBLIC}\n\n{SSH_PUBLIC}\n".encode(), "F") == [PUBLIC, SSH_PUBLIC]
    for content, why in (
        (b"# none\n", "F has no recipients"), (str(IDENTITY).encode(), "F has a secret key in the place"),
        (b"\xff", "F is no text"), (b"x" * 300_000, "F has more than 262,144 bytes"),
    ):  # fmt: skip
        with pytest.raises(MnemonError, match=why):
            recipients_in(content, "F")
    with pytest.raises(MnemonError, match="65 recipients are too many; at most 64"):
        recipients_of([PUBLIC] * 65)


def test_what_is_no_identity() -> None:
    protected = pyrage.passphrase.encrypt(str(IDENTITY).encode(), "secret")
    for content, why in (
        (protected, "the identity F is protected by a passphrase"),
        (b"-----BEGIN OPENSSH PRIVATE KEY-----\nxx\n-----END OPENSSH PRIVATE KEY-----\n", "its SSH key is damaged"),
        (b"# nothing\n", "it has no secret key"), (PUBLIC.encode(), "line 1 is no secret key of age"),
        (b"\nAGE-PLUGIN-YUBIKEY-1QQ\n", "line 2 belongs to a plugin"),
        (str(IDENTITY).encode()[:-3], "the secret key in line 1 is damaged"),
    ):  # fmt: skip
        with pytest.raises(MnemonError, match=why) as refused:
            identities_in(content, "F")
        assert "AGE-SECRET" not in f"{refused.value.message} {refused.value.hint}"
    assert len(identities_in(f"# created\n# public key: {PUBLIC}\n{IDENTITY}\n".encode(), "F")) == 1


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyrage", None)
    with pytest.raises(MnemonError, match="needs the package pyrage, which is not installed") as refused:
        recipients_of([PUBLIC])
    assert refused.value.kind is UNAVAILABLE
    assert refused.value.hint is not None
    assert "mnemond[age]" in refused.value.hint
