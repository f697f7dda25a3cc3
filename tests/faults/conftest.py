"""What tests of whole daemons share."""

from __future__ import annotations

import mnemond.store.connection  # noqa: F401 - whoever opens a store in this process writes checksums from here on
