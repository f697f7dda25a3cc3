"""The options --encrypt-to and --identity. The client reads the keys: the daemon gets public ones alone."""

from __future__ import annotations

from typing import Annotated

from mnemond.wire.params import about

EncryptTo = Annotated[
    list[str] | None,
    about("encrypt for this public key: age1…, ssh-ed25519 …, ssh-rsa …, or @FILE of them; may be repeated",
          metavar="RECIPIENT"),
]  # fmt: skip

IdentityFile = Annotated[
    str | None, about("your secret key, for what is encrypted: a file of age-keygen or an SSH key", metavar="FILE")
]
