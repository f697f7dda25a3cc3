"""Published shapes of credentials that more than a prefix and an alphabet make: as patterns, each with its source."""

from __future__ import annotations

BASE64_URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
"""RFC 4648, section 5."""

PEM_BEGIN = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
PEM_END = r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
"""Textual encodings of RFC 7468; RFC 4880 writes BLOCK."""

_BREAK = r"(?:\s|\\[nrt]|\\\\[nrt])"
PEM_CUT = (
    rf"(?:{_BREAK}{{1,8}}[A-Za-z-]{{3,20}}+: [^\n\\]{{1,80}}+){{0,4}}"  # Proc-Type, DEK-Info, Version
    rf"(?:{_BREAK}{{1,80}}[A-Za-z0-9+/]{{16,}}+={{0,2}})+"
    rf"(?:(?:\n|\\n)[ \t]{{0,80}}[A-Za-z0-9+/]{{1,15}}={{0,2}}(?![A-Za-z0-9+/ ]))?"
)
"""What follows the header of a block that ends before its footer: lines of base64, the last one may be short."""

JWT = (
    r"e[yw][A-Za-z0-9](?<![A-Za-z0-9_-]e[yw].)[A-Za-z0-9_-]{8,}"
    r"\.[A-Za-z0-9_-]{2,}\.[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+){0,2}"
)
"""RFC 7519: base64url parts between dots; the fourth and fifth belong to an encrypted one (RFC 7516)."""

JWT_TRIGGERS = ("eyJ", "eyA", "ewo", "ew0")
"""Base64 of an opening brace with a quote, a space or a line break after it."""

TELEGRAM = r":(?<=[0-9]{8}:)[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"
"""core.telegram.org/bots/api, Authorizing your bot; detect-secrets: 8 to 10 digits, a colon, 35 characters."""

DISCORD = r"\.(?<=[A-Za-z0-9_-]{23}\.)[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,}"
"""discord.py, Tokens: the user number in base64 (17 to 19 digits), a time in 6 characters, an HMAC in 27 or 38."""

AZURE_ASSIGNED = (
    r"(?:AccountKey|SharedAccessKey|SharedSecretValue)=([A-Za-z0-9+/]{40,}={0,2})|"
    r"[?&;]sig=([A-Za-z0-9%+/]{40,}={0,2})"
)
"""learn.microsoft.com: connection strings of Azure Storage (64 bytes in base64), Service Bus (32), SAS signatures."""

AZURE_TRIGGERS = ("AccountKey", "SharedAccessKey", "SharedSecretValue", "sig=")

AWS_NAMED = (
    r"(?i:secret[_ .-]?access[_ .-]?key|aws[_ .-]?secret(?:[_ .-]?key)?|secret[_ .-]?key)"
    r"[^A-Za-z0-9/+\n]{0,12}(?:(?:is|was|to|are)[ :\"'`]{1,4})?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
)
"""docs.aws.amazon.com, IAM, Managing access keys: 40 characters of base64 beside the key's name."""

AWS_ALONE = r"(?<![A-Za-z0-9/+=_.-])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_.-])"
"""The same without a name, near an access key."""

USER_INFORMATION = r"://([^\s:/@?#\"'<>`]{0,128}):([^\s/\"'<>`]{1,256})@(?=[A-Za-z0-9\[$%{<_])"
"""RFC 3986, 3.2.1: user information before the host. An @ inside the password is not allowed, and frequent."""

NO_PASSWORDS = ("x-oauth-basic", "x-token-auth")
"""docs.github.com, support.atlassian.com: what stands for the password where a token stands for the user."""

USER_TOKEN = rf"://([A-Za-z0-9_.~-]{{20,256}})(:(?:{'|'.join(NO_PASSWORDS)})?)?@(?=[A-Za-z0-9\[$%{{<_])"
"""A token in the place of the user. Hexadecimal digits without the rest are what Sentry calls a public key."""

AUTHORIZATION = r"(?i:\bbearer|\bbasic)(?:[ \t]{1,4}|%20|\+)[\"']?([A-Za-z0-9._~+/-]{8,}={0,2})"
"""RFC 6750, 2.1 and RFC 7617: the scheme, a space, token68."""
