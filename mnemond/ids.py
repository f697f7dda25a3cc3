"""The only source of randomness: identifiers. Everything else receives them as arguments."""

from __future__ import annotations

import uuid
from typing import Protocol


class Ids(Protocol):
    """Where new identifiers come from."""

    def new(self) -> str:
        """A fresh identifier nobody has seen."""
        ...


class RandomIds:
    """UUID version 4, in its usual lower-case form."""

    def new(self) -> str:
        """A fresh UUID4."""
        return str(uuid.uuid4())
