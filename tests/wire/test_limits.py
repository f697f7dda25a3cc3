"""What clients may take, as it is configured."""

from __future__ import annotations

import msgspec

from mnemond.config import settings
from mnemond.wire.limits import Limits


def test_every_limit_that_can_be_configured_is_taken_up() -> None:
    assert Limits.of(settings.ServerSettings()) == Limits()
    wanted = settings.ServerSettings(
        max_connections=3, max_open_stores=4, max_message_bytes=70_000, max_in_flight=5,
        first_byte_timeout_s=7.0, message_timeout_s=8.0,
        write_timeout_s=9.0, drain_s=1.5, hook_deadline_ms=125,
    )  # fmt: skip
    changed = msgspec.structs.asdict(Limits.of(wanted))
    usual = msgspec.structs.asdict(Limits())
    assert {name: value for name, value in changed.items() if value != usual[name]} == msgspec.structs.asdict(wanted)
    assert Limits.of(wanted).hook_s == 0.125
    assert len(msgspec.structs.fields(settings.ServerSettings)) == 9
