"""Files that are encrypted for recipients by age (age-encryption.org/v1), written and read as streams.

Encryption needs public keys alone. Secret keys are read by the client: they are in no request, no log and no message
of an error. The package pyrage, which does the work, is optional (`mnemond[age]`).
"""

from __future__ import annotations

import io
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any, Final

from mnemond.errors import INVALID_PARAMS, STORAGE, UNAVAILABLE, MnemonError, rejected

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAGIC: Final = b"age-encryption.org/v1\n"
ARMOR: Final = b"-----BEGIN AGE ENCRYPTED FILE-----"
HEAD: Final = max(len(MAGIC), len(ARMOR))
"""Bytes by which an encrypted file is recognised."""

SUFFIX: Final = ".age"

MAX_RECIPIENTS: Final = 64

MAX_KEYS: Final = 256 << 10
"""Bytes of a file of recipients or identities."""

Recipient = Any
"""A public key, parsed by pyrage."""

Identity = Any
"""A secret key, parsed by pyrage."""


def is_encrypted(head: bytes) -> bool:
    """Return True if a file that begins like this is one of age, binary or as text."""
    return head.startswith((MAGIC, ARMOR))


def _pyrage() -> Any:  # noqa: ANN401 - it has no types
    try:
        import pyrage
    except ImportError:
        hint = 'install it beside mnemond: pip install "mnemond[age]"'
        raise rejected(UNAVAILABLE, "encryption needs the package pyrage, which is not installed", hint) from None
    return pyrage


# Keys.


def recipients_of(names: Sequence[str]) -> list[Recipient]:
    """Parse public keys: `age1…`, `ssh-ed25519 …` and `ssh-rsa …`.

    Raises MnemonError: INVALID_PARAMS for one that is none, or too many; UNAVAILABLE without pyrage.
    """
    if len(names) > MAX_RECIPIENTS:
        raise rejected(INVALID_PARAMS, f"{len(names):,} recipients are too many; at most {MAX_RECIPIENTS} are possible")
    return [_recipient(name.strip()) for name in names]


def _recipient(name: str) -> Recipient:
    pyrage = _pyrage()
    if _is_secret(name):
        hint = "give its public key: `age-keygen -y FILE` shows it, for SSH it is in FILE.pub"
        raise rejected(INVALID_PARAMS, "a recipient is a secret key, which must stay secret", hint)
    try:
        if name.startswith("ssh-"):
            return pyrage.ssh.Recipient.from_str(name)
        if name.startswith("age1tag1"):
            return pyrage.tag.Recipient.from_str(name)
        if name.startswith("age1tagpq1"):
            return pyrage.tagpq.Recipient.from_str(name)
        return pyrage.x25519.Recipient.from_str(name)
    except pyrage.RecipientError as error:
        plugin = re.match(r"age1([a-z0-9-]+?)1", name)
        why = f"it belongs to the plugin {plugin[1]}, and plugins are not used" if plugin else str(error)
        hint = "a recipient is age1…, ssh-ed25519 …, ssh-rsa …, or @FILE with one a line"
        raise rejected(INVALID_PARAMS, f"{name[:24]!a} is no recipient of age: {why}", hint) from None


def _is_secret(text: str) -> bool:
    return text.upper().startswith("AGE-SECRET-KEY-") or "PRIVATE KEY" in text


def recipients_in(content: bytes, name: str) -> list[str]:
    """Return the public keys in a file with one a line; lines that begin with # are comments. Raises MnemonError."""
    lines = [line.strip() for line in _text(content, name).splitlines()]
    found = [line for line in lines if line and not line.startswith("#")]
    if any(map(_is_secret, found)):
        hint = "name the file of the public key: `age-keygen -y FILE` shows it, for SSH it is FILE.pub"
        raise rejected(INVALID_PARAMS, f"{name} has a secret key in the place of a recipient", hint)
    if not found:
        raise rejected(INVALID_PARAMS, f"{name} has no recipients", "one is age1…, ssh-ed25519 … or ssh-rsa …")
    return found


def identities_in(content: bytes, name: str) -> list[Identity]:
    """Parse the secret keys in a file: of age, one a line, or one of SSH. Raises MnemonError, without a part of it."""
    pyrage = _pyrage()
    if is_encrypted(content):
        raise rejected(
            INVALID_PARAMS, f"the identity {name} is protected by a passphrase, which is not asked for here",
            f"let age decrypt it into a pipe: age -d {name} | mnemonctl … --identity -",
        )  # fmt: skip
    if b"PRIVATE KEY-----" in content:
        try:
            return [pyrage.ssh.Identity.from_buffer(content)]
        except pyrage.IdentityError as error:
            if "decrypted" not in str(error):
                raise _no_identity(name, "its SSH key is damaged, or neither ed25519 nor rsa") from None
        raise rejected(
            INVALID_PARAMS, f"the identity {name} is an SSH key with a passphrase, which is not asked for here",
            "use a copy without one (ssh-keygen -p -N '' -f COPY), and remove it afterwards",
        )  # fmt: skip
    lines = [line.strip() for line in _text(content, name).splitlines()]
    found: list[Identity] = []
    for number, line in enumerate(lines, 1):
        if not line or line.startswith("#"):
            continue
        if line.startswith("AGE-PLUGIN-"):
            raise _no_identity(name, f"line {number} belongs to a plugin, and plugins are not used")
        if not line.upper().startswith("AGE-SECRET-KEY-"):
            raise _no_identity(name, f"line {number} is no secret key of age")
        try:
            found.append(pyrage.x25519.Identity.from_str(line))
        except pyrage.IdentityError:
            raise _no_identity(name, f"the secret key in line {number} is damaged, or of another kind") from None
    if not found:
        raise _no_identity(name, "it has no secret key")
    return found


def _text(content: bytes, name: str) -> str:
    if len(content) > MAX_KEYS:
        raise rejected(INVALID_PARAMS, f"{name} has more than {MAX_KEYS:,} bytes: it is no file of keys")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise rejected(INVALID_PARAMS, f"{name} is no text: it is no file of keys") from None


def _no_identity(name: str, why: str) -> MnemonError:
    hint = "an identity is a file of age-keygen, or a private SSH key (ed25519, rsa)"
    return rejected(INVALID_PARAMS, f"{name} cannot be used as an identity: {why}", hint)


# Encrypting.


class _Parts:
    """The plaintext, for pyrage, which reads 8 KiB at once. It turns an error here into one of its own; `error` keeps
    it."""

    def __init__(self, parts: Iterable[bytes]) -> None:
        self._parts = iter(parts)
        self._rest = memoryview(b"")
        self.error: BaseException | None = None

    def read(self, size: int) -> bytes:
        try:
            while not self._rest:
                if (part := next(self._parts, None)) is None:
                    return b""
                self._rest = memoryview(part)
        except BaseException as error:
            self.error = error
            raise
        found, self._rest = self._rest[:size], self._rest[size:]
        return bytes(found)


class _Output:
    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write
        self.error: BaseException | None = None

    def write(self, data: bytes) -> int:
        try:
            self._write(data)
        except BaseException as error:
            self.error = error
            raise
        return len(data)

    def flush(self) -> None:
        """Nothing waits here."""


def encrypt(parts: Iterable[bytes], write: Callable[[bytes], object], recipients: Sequence[Recipient]) -> None:
    """Encrypt `parts` for all of `recipients`, or leave them as they are without any, and hand it to `write`, which
    takes all it is given.

    64 KiB are held at once. Raises what `parts` and `write` raise.
    """
    if not recipients:
        for part in parts:
            write(part)
        return
    pyrage = _pyrage()
    source, output = _Parts(parts), _Output(write)
    try:
        pyrage.encrypt_io(source, output, list(recipients))
    except (pyrage.EncryptError, OSError) as error:
        raise (source.error or output.error or error) from None
    if output.error is not None:  # pyrage passes over an error of its last write
        raise output.error


# Decrypting.


def decrypted(file: IO[bytes], identities: Sequence[Identity], name: str) -> io.BufferedReader:
    """Return the plaintext of a file, which is closed at the end, as a stream that cannot seek.

    It is decrypted in a thread and passes through a pipe: nothing is written to the disk. What was read before an error
    is authentic, and not all. Reading raises MnemonError: INVALID_PARAMS if it is not for these keys, STORAGE if it is
    damaged; OSError.
    """
    return io.BufferedReader(_Decrypted(file, identities, name), 64 << 10)


class _Decrypted(io.RawIOBase):
    def __init__(self, file: IO[bytes], identities: Sequence[Identity], name: str) -> None:
        self._pyrage = _pyrage()
        self._name = name
        self._error: BaseException | None = None
        self._head = b""
        out, into = os.pipe()
        self._pipe = open(out, "rb", buffering=0)  # noqa: SIM115 - closed by `close`
        self._thread = threading.Thread(target=self._run, args=(file, into, list(identities)), daemon=True)
        self._thread.start()

    def _run(self, file: IO[bytes], into: int, identities: list[Identity]) -> None:
        try:
            with file, open(into, "wb", buffering=0) as pipe:
                self._head = file.read(len(_BY_PASSPHRASE))
                file.seek(0)
                self._pyrage.decrypt_io(file, pipe, identities)
        except BaseException as error:  # noqa: ASYNC103 - in a thread; raised where the plaintext is read
            self._error = error

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        found = self._pipe.readinto(buffer)
        if not found:
            self._thread.join()
            if self._error is not None:
                raise self._reason(self._error) from None
        return found or 0

    def _reason(self, error: BaseException) -> BaseException:
        if isinstance(error, OSError) and error.errno is not None:
            return error
        if "No matching keys" in str(error):
            if self._head == _BY_PASSPHRASE:
                why, hint = "it is encrypted with a passphrase, not for recipients", "decrypt it first: age -d"
            else:
                why, hint = "none of the identities is one of its recipients", "name another with --identity"
            return rejected(INVALID_PARAMS, f"{self._name} cannot be decrypted: {why}", hint)
        if isinstance(error, (self._pyrage.DecryptError, OSError)):
            why = "it was cut off or changed" if isinstance(error, OSError) else f"its header is damaged ({error})"
            return rejected(STORAGE, f"{self._name} cannot be decrypted: {why}", "use another copy of the file")
        return error

    def close(self) -> None:
        """End the thread, whose next write fails."""
        if not self.closed:
            self._pipe.close()
            self._thread.join()
        super().close()


_BY_PASSPHRASE: Final = MAGIC + b"-> scrypt "


def parts_of(file: IO[bytes], size: int = 64 << 10) -> Iterator[bytes]:
    """Yield what is read from a file. Raises OSError."""
    while part := file.read(size):
        yield part
