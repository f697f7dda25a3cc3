"""Texts put together from what secrets are made of and stand beside."""

from __future__ import annotations

from hypothesis import strategies as st

MIXED = "q7Rt2LmX9vKp4ZsW8bNc3YhD6fGj5TqV1wEaUoI0"
"""Forty characters without order; cut to length where less is needed."""

HEADER = "-----BEGIN " + "RSA PRIVATE KEY-----"
FOOTER = "-----END " + "RSA PRIVATE KEY-----"
LINE = (MIXED + MIXED)[:64]

_PIECES = st.sampled_from(
    [
        "password",
        "token",
        "密码",
        "key",
        "=",
        ": ",
        "是",
        '"',
        "'",
        "\\n",
        " ",
        "\n",
        "://",
        "@",
        ":",
        ".",
        "&a=",
        "Bearer ",
        HEADER,
        FOOTER,
        LINE,
        MIXED,
        MIXED[:20],
        "gh" + "p_",
        "gl" + "pat-",
        "AK" + "IA",
        "eyJ",
        "hbGciOiJIUzI1NiJ9",
        "[REDACTED:",
        "]",
        "winter94",
        "12345678",
        "sk" + "-",
        "AccountKey",
        "İ",
        "ſ",
        "$",
        "{",
        "<",
        "aws secret ",
        "S" + "G.",
        "ey",
        "ｐａｓｓｗｏｒｄ：",
        "Ａ１ｂ",
        "twilio ",
        "azure key ",
        "9f86d081884c7d659a2feaa0c55ad015",
        "UEFTU1dPUkQ9aHVudGVyMjM=",
        "UEFTU1dPUkQ9",
        "Passwort ist ",
        " -> ",
        "„",
    ]
)

HOSTILE_TEXTS = st.lists(_PIECES | st.text(max_size=4), max_size=30).map("".join)
