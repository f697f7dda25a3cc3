"""Published shapes of credentials: the formats of data/secret_formats.toml, and those that need rules of their own.

What a prefix and an alphabet do not describe is a pattern here, with its source.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from mnemond.text.resources import on_first_use, read, regex


class TokenFormat(NamedTuple):
    """Tokens of one kind; data/secret_formats.toml describes the fields. Group 1 of `pattern` is the body."""

    kind: str
    triggers: tuple[str, ...]
    pattern: re.Pattern[str]
    random: bool
    source: str


class _Row(msgspec.Struct, forbid_unknown_fields=True):
    kind: str
    triggers: tuple[str, ...]
    body: str
    source: str
    prefix: str = ""
    random: bool = False


@on_first_use
def token_formats() -> tuple[TokenFormat, ...]:
    """Every format, in the order in which they are tried."""
    rows = read("secret_formats", dict[str, list[_Row]])["format"]
    return tuple(TokenFormat(row.kind, row.triggers, _pattern(row), row.random, row.source) for row in rows)


def _pattern(row: _Row) -> re.Pattern[str]:
    """No letter or digit precedes a token, unless it ends an escape (\\n, %3D)."""
    prefix = row.prefix or re.escape(row.triggers[0])
    alone = rf"(?:(?<![A-Za-z0-9]{prefix})|(?<=\\[nrt]{prefix})|(?<=%[0-9A-Fa-f][0-9A-Fa-f]{prefix}))"
    return regex(f"{prefix}{alone}({row.body})", re.ASCII)


BASE64_URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
"""RFC 4648, section 5."""

PEM_BEGIN = regex(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----", re.ASCII)
PEM_END = regex(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----", re.ASCII)
"""Textual encodings of RFC 7468; RFC 4880 writes BLOCK."""

_BREAK = r"(?:\s|\\[nrt]|\\\\[nrt])"
PEM_CUT = regex(
    rf"(?:{_BREAK}{{1,8}}[A-Za-z-]{{3,20}}+: [^\n\\]{{1,80}}+){{0,4}}"  # Proc-Type, DEK-Info, Version
    rf"(?:{_BREAK}{{1,80}}[A-Za-z0-9+/]{{16,}}+={{0,2}})+"
    rf"(?:(?:\n|\\n)[ \t]{{0,80}}[A-Za-z0-9+/]{{1,15}}={{0,2}}(?![A-Za-z0-9+/ ]))?",
    re.ASCII,
)
"""The lines behind the header of a block without a footer: base64, the last line may be short."""

JWT = regex(
    r"e[yw][A-Za-z0-9](?<![A-Za-z0-9_-]e[yw].)[A-Za-z0-9_-]{8,}"
    r"\.[A-Za-z0-9_-]{2,}\.[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+){0,2}",
    re.ASCII,
)
"""RFC 7519: base64url parts between dots; the fourth and fifth belong to an encrypted one (RFC 7516)."""

JWT_TRIGGERS = ("eyJ", "eyA", "ewo", "ew0")
"""Base64 of an opening brace with a quote, a space or a line break after it."""

TELEGRAM = regex(r":(?<=[0-9]{8}:)[A-Za-z0-9_-]{33,38}(?![A-Za-z0-9_-])", re.ASCII)
"""core.telegram.org/bots/api, Authorizing your bot; detect-secrets: 8 to 10 digits, a colon, 35 characters. A few more
or less are accepted, as nothing documents the length."""

DISCORD = regex(r"\.(?<=[A-Za-z0-9_-]{23}\.)[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,}", re.ASCII)
"""discord.py, Tokens: the user number in base64 (17 to 19 digits), a time in 6 characters, an HMAC in 27 or 38."""

AZURE_ASSIGNED = regex(
    r"(?:AccountKey|SharedAccessKey|SharedSecretValue)=([A-Za-z0-9+/]{40,}={0,2})|"
    r"[?&;]sig=([A-Za-z0-9%+/]{40,}={0,2})",
    re.ASCII,
)
"""learn.microsoft.com: connection strings of Azure Storage (64 bytes in base64), Service Bus (32), SAS signatures."""

AZURE_TRIGGERS = ("AccountKey", "SharedAccessKey", "SharedSecretValue", "sig=")

AZURE_DEVOPS = regex(r"(?<![A-Za-z0-9])(?:[a-z2-7]{52}|[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4})(?![A-Za-z0-9])", re.ASCII)
"""learn.microsoft.com, Azure DevOps: a personal access token had 52 characters of base32 and has 84 since 2024."""

AZURE_ALONE = regex(
    r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{86}==|(?i:key|schlüssel|密钥)[^\n]{0,24}?(?<![A-Za-z0-9])([0-9a-f]{32})(?![A-Za-z0-9])"
)
"""Keys of Azure beside its name: 64 bytes in base64 (Storage, Cosmos DB); 32 hexadecimal digits after the word key
(Azure AI services)."""

AZURE_WORDS = ("azure", "devops")
"""In small letters; without one of them 52 characters are no token."""

TWILIO_TOKEN = regex(r"(?<![A-Za-z0-9])[0-9a-f]{32}(?![A-Za-z0-9])", re.ASCII)
"""twilio.com/docs, Auth tokens: 32 hexadecimal digits, so the words beside it must say what it is."""

TWILIO_MARK = regex(r"twilio|(?<![a-z0-9])ac[0-9a-f]{32}(?![a-z0-9])", re.ASCII)
"""The name, or the identifier of an account, in a text in small letters."""

ENCODED = regex(
    r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{20,}={0,2}"
    r"(?:\r?\n[ \t]{0,40}[A-Za-z0-9+/_-]{4,}={0,2}(?=[\s\"'`,;)]|$))*",
    re.ASCII,
)
"""RFC 4648: base64 in either alphabet, in lines if need be. The shortest one is `PASSWORD=` with six characters."""

ENCODED_LINE = regex(r"[A-Za-z0-9+/_-]{20,}={0,2}", re.ASCII)

AWS_NAMED = regex(
    r"(?i:secret[_ .-]?access[_ .-]?key|aws[_ .-]?secret(?:[_ .-]?key)?|secret[_ .-]?key)"
    r"[^A-Za-z0-9/+\n]{0,12}(?:(?:is|was|to|are)[ :\"'`]{1,4})?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
    re.ASCII,
)
"""docs.aws.amazon.com, IAM, Managing access keys: 40 characters of base64 beside the key's name."""

AWS_ALONE = regex(r"(?<![A-Za-z0-9/+=_.-])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_-]|\.[A-Za-z0-9])", re.ASCII)
"""A secret key without a name, near an access key."""

USER_INFORMATION = regex(r"://([^\s:/@?#\"'<>`]{0,128}):([^\s/\"'<>`]{1,256})@(?=[A-Za-z0-9\[$%{<_])", re.ASCII)
"""RFC 3986, 3.2.1: user information before the host. An @ inside the password is forbidden, but frequent."""

NO_PASSWORDS = ("x-oauth-basic", "x-token-auth")
"""docs.github.com, support.atlassian.com: the password beside a token that is given as the user."""

USER_TOKEN = regex(
    rf"://([A-Za-z0-9_.~-]{{20,256}})(:(?:{'|'.join(NO_PASSWORDS)})?)?@(?=[A-Za-z0-9\[$%{{<_])", re.ASCII
)
"""A token in the place of the user. Hexadecimal digits without group 2 are a public key of Sentry."""

PARAMETER = regex(r"[?&](?:key|auth|sig|signature|code|hash|k)=([A-Za-z0-9_.~-]{20,512})", re.ASCII)
"""Parameters of addresses that carry a key or a signature and are not called a secret."""

AUTHORIZATION = regex(r"(?i:\bbearer|\bbasic)(?:[ \t]{1,4}|%20|\+)[\"']?([A-Za-z0-9._~+/-]{8,}={0,2})", re.ASCII)
"""RFC 6750, 2.1 and RFC 7617: the scheme, a space, token68."""
