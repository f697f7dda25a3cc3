"""Whether a value that stands where a secret would stand is one: not a placeholder, not code, mixed as chance mixes."""

from __future__ import annotations

import base64
import binascii
import re
from itertools import pairwise

SHORTEST_PASSWORD = 6
"""Characters; below it nothing tells a password from a word."""

SHORTEST_SECRET = 12
"""Characters of a value called secret, token or key: issuers hand out sixteen and more."""

LONGEST_SECRET = 4_096
"""Characters; longer ones are documents."""

LEAST_DIFFERENT = 7
"""Different characters of a token body. Sixteen hexadecimal digits drawn at random have about ten."""

LEAST_CHANGES = 0.25
"""Share of neighbours of different classes (capital, small letter, digit). Chance gives base62 0.62, hexadecimal 0.47,
base36 0.40; an identifier of words gives below 0.2, one in CamelCase about 0.3."""

LEAST_OF_EITHER_CASE = 0.22
"""The share that capitals have at least, and at most leave over, where there is no digit: chance gives one half, a name
in CamelCase about 0.15."""

LONGEST_SAMPLE = 128
"""Characters of a value whose mixture is measured."""

PLACEHOLDER_PARTS = (
    "example", "placeholder", "changeme", "change_me", "change-me", "replace", "redacted", "dummy", "sample", "insert",
    "xxxx", "****", "....", "####", "____", "your_", "your-", "yourpass", "yoursecret", "yourtoken", "yourkey", "my_",
    "my-secret", "my-token", "my-password", "mysecret", "mytoken", "mypass", "fake", "todo", "some_", "some-",
    "abcdefgh", "0123456789", "1234567890", "deadbeef", "not_a_", "not-a-", "notasecret", "_here", "-here", "testpass",
    "test_pass", "test-pass", "foobar",
)  # fmt: skip
"""Parts of the values that documentation uses, in lower case."""

PLACEHOLDERS = frozenset({
    "pass", "passw", "passwd", "password", "password1", "passw0rd", "p@ssw0rd", "p4ssw0rd", "pa55word", "passphrase",
    "pwd", "pw", "secret", "secrets", "s3cret", "s3cr3t", "token", "key", "apikey", "api_key", "credential",
    "credentials", "user", "username", "admin", "root", "guest", "test", "tests", "testing", "demo", "foo", "bar",
    "baz", "foobar", "qwerty", "letmein", "abc", "abcd", "abc123", "none", "null", "nil", "true", "false", "undefined",
    "empty", "unset", "required", "optional",
    "string", "str", "text", "bytes",
    "int", "value", "default", "hidden", "masked", "private", "public", "unknown", "disabled",
    "enabled", "prompt", "stdin", "keyring", "basic", "bearer", "digest", "utf-8", "utf8", "base64", "md5", "sha1",
    "sha256", "sha512", "hmac", "oauth1", "oauth2", "x509", "rs256", "hs256", "es256", "aes256", "http2", "argon2",
    "argon2id", "bcrypt", "pbkdf2", "scrypt",
})  # fmt: skip
"""Whole values that documentation, defaults and code use, in lower case."""

_NAME = r"(?:[a-z_]{2,}(?:[A-Z][a-z]+)*|(?:[A-Z][a-z]{2,})+|[A-Z_]{3,})"
"""What people call a variable or function: words, not letters at random."""

_VARIABLE = re.compile(
    r"<[^<>]{1,80}>|\{\{?[ A-Za-z_.!:\[\]()\"']{0,40}\}|\[[A-Za-z _-]{2,40}\]$"  # <password>, {pw}, [your password]
    r"|\*{3}|•|●|…|\.{3}|-{3}|%[sdr](?![A-Za-z0-9])|%\(|%[A-Za-z_]+%$|\?$"  # ***, %s, %(password)s, %PASSWORD%, ?
    rf"|\$(?:{_NAME}\d?$|[A-Z_]{{4}}|[{{(\[])|#\{{|\$env:"  # $PASSWORD, ${TOKEN}, $(pass show), #{token}
    rf"|[@:&]{_NAME}$"  # names bound by SQL, a reference in Go
)
_TEMPLATE = re.compile(r"\$\{[A-Za-z_][\w.:-]{0,60}\}|\{\{[ \w.]{0,60}\}\}")
_CALL = re.compile(rf"{_NAME}\d?(?:\.{_NAME}\d?){{0,6}}[(\[]|(?:{_NAME}\d?\.){{1,6}}{_NAME}\d?$")
_CAMEL_CASE = re.compile(r"[a-z]{0,20}(?:[A-Z]{1,4}[a-z]{2,20}|[A-Z]{1,2}[0-9]{2,5}){1,12}[0-9]{0,4}[A-Z]{0,3}$")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)*$")
_NUMBERED_WORD = re.compile(
    r"(?:[a-z]{1,20}_){0,4}(?:pass|pwd|token|tok|key|secret|user|name|arg|param|val|str|byte|base|sha|utf|hash|text|data|"
    r"buf|bit|line|path|file|type|uint|float|ctx|self|test|hex|field|state|node|item|tmp|var)[a-z_]{0,12}\d{1,3}[a-z_]{0,8}$"
)
_PATH = re.compile(r"(?:[~.\w@-]{0,40}+[/\\]){2,}[\w.@-]{0,60}$|~?\.{0,2}/[\w.-]{1,60}$|[A-Za-z]:\\")
_FILE = re.compile(
    r"[\w./-]{1,80}\.(?:pem|key|crt|cer|txt|json|ya?ml|toml|ini|env|py|js|ts|go|rs|md|html?|cfg|conf|asc|gpg|p12|pfx|jks)$"
)
_NUMBER = re.compile(r"[\d.,:/ ×x%+-]*[\d.,:/-](?:[a-zA-Z%]{1,3})?$")
_ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4}$|(?:[a-z][a-z0-9+-]{1,15}:)?//")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")
_HEX = re.compile(r"[0-9a-f]{16,}$|[0-9A-F]{16,}$")
_DIGIT = re.compile(r"[0-9]")
_STRONG_SYMBOL = re.compile(r"[!@#$%^&*?+~|=]")
_SEPARATORS = re.compile(r"[^A-Za-z0-9]+")
_CLASSES = str.maketrans(
    {**dict.fromkeys(map(chr, range(65, 91)), "A"), **dict.fromkeys(map(chr, range(97, 123)), "a")}
    | dict.fromkeys("0123456789", "0")
)


def is_placeholder(value: str) -> bool:
    """A value that stands for one: a variable, a template, stars, a word that documentation uses."""
    lowered = value.lower()
    if lowered in PLACEHOLDERS or lowered.strip("!.,;:") in PLACEHOLDERS or "[redacted:" in lowered:
        return True
    if any(part in lowered for part in PLACEHOLDER_PARTS):
        return True
    return _VARIABLE.match(value) is not None or _TEMPLATE.search(value) is not None or len(set(lowered)) < 3


def is_varied(body: str) -> bool:
    """The body of a token with a published format is drawn by chance, not xxxx and not EXAMPLE: it has a digit or a
    capital, too."""
    lowered = body.lower()
    if lowered == body and not _DIGIT.search(body):
        return False
    return len(set(body)) >= LEAST_DIFFERENT and not any(
        part in lowered for part in ("example", "xxxxx", "....", "0123456789", "1234567890", "abcdefgh", "redacted")
    )


def is_random(value: str) -> bool:
    """Letters and digits are mixed as chance mixes them: no words, no identifier. The beginning decides."""
    plain = _SEPARATORS.sub("", value[:LONGEST_SAMPLE])
    classes = plain.translate(_CLASSES)
    kinds = set(classes)
    if len(plain) < 8 or len(set(plain)) < LEAST_DIFFERENT or len(kinds) < 2:
        return False
    changes = sum(map(str.__ne__, classes, classes[1:])) / (len(classes) - 1)
    capitals = classes.count("A") / len(classes)
    is_even = "0" in kinds or LEAST_OF_EITHER_CASE <= capitals <= 1 - LEAST_OF_EITHER_CASE
    return is_even and changes >= LEAST_CHANGES


def is_hexadecimal(value: str) -> bool:
    """Sixteen hexadecimal digits or more in one case, or a UUID."""
    if _UUID.match(value):
        return True
    return _HEX.match(value) is not None and not value.isdigit() and not value.isalpha()


def is_password(value: str, quoted: bool) -> bool:
    """A value under the name password. Words alone are not: nothing tells them from prose and identifiers."""
    if not SHORTEST_PASSWORD <= len(value) <= 256 or is_placeholder(value) or _is_reference(value, quoted):
        return False
    if value.isdigit():
        return not _is_sequence(value)
    if " " in value:  # a sentence in quotation marks
        return is_random(value)
    has_digit = any(letter.isdigit() for letter in value)
    has_letter = any(letter.isalpha() for letter in value)
    if has_digit and has_letter:
        return quoted or not _NUMBERED_WORD.match(value.lower())
    inside = value.strip(".,;:!?-_/ ")
    if has_letter and _STRONG_SYMBOL.search(inside):
        return quoted or sum(map(str.isalpha, value)) >= 4
    return is_random(value) or _is_passphrase(value)


def is_strong_password(value: str, quoted: bool) -> bool:
    """A password that shows without a sign between it and its name: mixed, or of letters, digits and signs."""
    if not is_password(value, quoted) or len(value) < 8 or value.isdigit():
        return False
    has_digit = any(letter.isdigit() for letter in value)
    return has_digit and (is_random(value) or _STRONG_SYMBOL.search(value[:-1]) is not None)


def is_secret(value: str, quoted: bool) -> bool:
    """A value under the name secret, token or key: issued by a machine, so long and random."""
    if not SHORTEST_SECRET <= len(value) <= LONGEST_SECRET:
        return False
    if is_hexadecimal(value):
        return not is_placeholder(value)
    if not is_random(value) or (len(value) < 16 and not any(map(str.isdigit, value))):
        return False
    return not (is_placeholder(value) or _is_reference(value, quoted) or (not quoted and _CAMEL_CASE.match(value)))


def is_high_entropy(value: str) -> bool:
    """A long run beside the word key, token, secret or password, without an assignment."""
    if (
        is_placeholder(value)
        or value.startswith(("AAAA", "sha256-", "sha384-", "sha512-", "SHA256"))
        or _CAMEL_CASE.match(value)
        or _PATH.match(value)
    ):
        return False
    return not _UUID.match(value) and len(set(value)) >= 12 and _three_kinds(value) and is_random(value)


def is_bearer(value: str) -> bool:
    """What follows the word Bearer: prose goes on with words."""
    return len(value) >= 16 and not is_placeholder(value) and (is_hexadecimal(value) or is_random(value))


def is_basic(value: str) -> bool:
    """Base64 of a name, a colon and a password (RFC 7617)."""
    try:
        plain = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return False
    name, colon, word = plain.partition(":")
    return bool(colon) and plain.isprintable() and not (is_placeholder(word) and is_placeholder(name))


def decoded(part: str) -> bytes:
    """Base64url without padding; empty for what is none."""
    try:
        return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except binascii.Error:
        return b""


def _three_kinds(value: str) -> bool:
    return len(set(value.translate(_CLASSES)) & set("Aa0")) == 3


def _is_reference(value: str, quoted: bool) -> bool:
    """Says where the value is, or is none: code, a path, a number, an address."""
    if _NUMBER.match(value) and not value.isdigit():
        return True
    if len(value) <= LONGEST_SAMPLE and _FILE.match(value):
        return True
    if _ADDRESS.match(value) or (_PATH.match(value) and not is_random(value)):
        return True
    if quoted or len(value) > LONGEST_SAMPLE:
        return False
    if (call := _CALL.match(value)) and not is_random(call[0]):
        return True
    return (
        _IDENTIFIER.match(value) is not None
        and ("." in value or "::" in value or "_" in value)
        and not is_random(value)
    )


def _is_passphrase(value: str) -> bool:
    """Words with hyphens between them, as diceware writes them."""
    words = value.split("-")
    return len(words) >= 4 and len(value) >= 20 and all(word.isalpha() and len(word) >= 3 for word in words)


def _is_sequence(digits: str) -> bool:
    steps = {ord(after) - ord(before) for before, after in pairwise(digits)}
    return len(steps) == 1 or len(set(digits)) < 2
