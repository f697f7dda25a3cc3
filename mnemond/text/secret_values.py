"""Whether a value that stands where a secret would stand is one: not a placeholder, not code, mixed as chance mixes."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from mnemond.text.resources import regex

SHORTEST_PASSWORD = 6
"""Characters; below it nothing tells a password from a word."""

SHORTEST_SECRET = 12
"""Characters of a value called secret, token or key: issuers hand out sixteen and more."""

LONGEST_SECRET = 4_096
"""Characters; longer ones are documents."""

MIN_DIFFERENT = 7
"""Different characters of a token body. Sixteen hexadecimal digits drawn at random have about ten."""

MIN_CHANGES = 0.25
"""Share of neighbours of different classes (capital, small letter, digit). Chance gives base62 0.62, hexadecimal 0.47,
base36 0.40; an identifier of words gives below 0.2, one in CamelCase about 0.3."""

MIN_OF_EITHER_CASE = 0.22
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

_VARIABLE = regex(
    r"<[^<>]{1,80}>|\{\{?[ A-Za-z_.!:\[\]()\"']{0,40}\}|\[[A-Za-z _-]{2,40}\]$"  # <password>, {pw}, [your password]
    r"|\*{3}|•|●|…|\.{3}|-{3}|%[sdr](?![A-Za-z0-9])|%\(|%[A-Za-z_]+%$|\?$"  # ***, %s, %(password)s, %PASSWORD%, ?
    rf"|\$(?:{_NAME}\d?$|[A-Z_]{{4}}|[{{(\[])|#\{{|\$env:"  # $PASSWORD, ${TOKEN}, $(pass show), #{token}
    rf"|[@:&]{_NAME}$"  # names bound by SQL, a reference in Go
)
_TEMPLATE = regex(r"\$\{[A-Za-z_][\w.:-]{0,60}\}|\{\{[ \w.]{0,60}\}\}")
_CALL = regex(rf"{_NAME}\d?(?:\.{_NAME}\d?){{0,6}}[(\[]|(?:{_NAME}\d?\.){{1,6}}{_NAME}\d?$")
_CAMEL_CASE = regex(r"[a-z]{0,20}(?:[A-Z]{1,4}[a-z]{2,20}|[A-Z]{1,2}[0-9]{2,5}){1,12}[0-9]{0,4}[A-Z]{0,3}$")
_IDENTIFIER = regex(r"[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)*$")
_NUMBERED_WORD = regex(
    r"(?:[a-z]{1,20}_){0,4}(?:pass|pwd|token|tok|key|secret|user|name|arg|param|val|str|byte|base|sha|utf|hash|text|data|"
    r"buf|bit|line|path|file|type|uint|float|ctx|self|test|hex|field|state|node|item|tmp|var)[a-z_]{0,12}\d{1,3}[a-z_]{0,8}$"
)
_PATH = regex(r"(?:[~.\w@-]{0,40}+[/\\]){2,}[\w.@-]{0,60}$|~?\.{0,2}/[\w.-]{1,60}$|[A-Za-z]:\\")
_FILE = regex(
    r"[\w./-]{1,80}\.(?:pem|key|crt|cer|txt|json|ya?ml|toml|ini|env|py|js|ts|go|rs|md|html?|cfg|conf|asc|gpg|p12|pfx|jks)$"
)
_NUMBER = regex(r"[\d.,:/ ×x%+-]*[\d.,:/-](?:[a-zA-Z%]{1,3})?$")
_ADDRESS = regex(r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4}$|(?:[a-z][a-z0-9+-]{1,15}:)?//")
_UUID = regex(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")
_HEX = regex(r"[0-9a-f]{16,}$|[0-9A-F]{16,}$")
_DIGIT = regex(r"[0-9]")
_STRONG_SYMBOL = regex(r"[!@#$%^&*?+~|=]")
_SEPARATORS = regex(r"[^A-Za-z0-9]+")
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
    return len(set(body)) >= MIN_DIFFERENT and not any(
        part in lowered for part in ("example", "xxxxx", "....", "0123456789", "1234567890", "abcdefgh", "redacted")
    )


def is_random(value: str) -> bool:
    """Letters and digits are mixed as chance mixes them: no words, no identifier. The beginning decides."""
    plain = _SEPARATORS.sub("", value[:LONGEST_SAMPLE])
    classes = plain.translate(_CLASSES)
    kinds = set(classes)
    if len(plain) < 8 or len(set(plain)) < MIN_DIFFERENT or len(kinds) < 2:
        return False
    changes = sum(map(str.__ne__, classes, classes[1:])) / (len(classes) - 1)
    capitals = classes.count("A") / len(classes)
    is_even = "0" in kinds or MIN_OF_EITHER_CASE <= capitals <= 1 - MIN_OF_EITHER_CASE
    return is_even and changes >= MIN_CHANGES


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


# Passwords made of words. Nothing in them tells them from prose and code, so the way they are written must.
#
# In quotation marks, in an environment file, in a connection string or an option, a word is a value. Elsewhere it
# must end its clause and be no word that says something about a password: its state, its type, what is to be done
# with it.


SHORTEST_WORD = 6
"""Letters, as of every password."""

FEWEST_WORDS = 4
"""Words with spaces between them that make a passphrase and no label."""

BEFORE = 200
"""Characters before a value in which an open bracket makes its name a parameter of code."""

STATES = frozenset({
    "accepted", "account", "active", "after", "again", "always", "anonymous", "another", "anything", "argument",
    "ascii", "asked", "automatic", "because", "before", "better", "binary", "blank", "boolean", "buffer",
    "bytearray", "callable", "cannot", "case", "change", "changes", "changing", "clear", "cleartext", "client",
    "column", "common", "complete", "compulsory", "config", "confirm", "correct", "create", "current", "database",
    "delete", "deprecated", "different", "digits", "document", "easily", "easy", "either", "elsewhere", "encoded",
    "enough", "enter", "environment", "everything", "exactly", "except", "expire", "expired", "expires", "external",
    "false", "field", "filled", "filter", "first", "fixed", "forgotten", "function", "global", "gone", "good",
    "hardcoded", "hashed", "here", "hidden", "ignored", "important", "incorrect", "inherit", "initial", "input",
    "insecure", "integer", "internal", "invalid", "invisible", "keychain", "known", "later", "leaked", "length",
    "letters", "local", "longer", "longtext", "lost", "manager", "mandatory", "manual", "master", "member",
    "method", "minimum", "missing", "mixed", "model", "models", "needed", "neither", "never", "nobody", "nonempty",
    "nothing", "nullable", "number", "numeric", "object", "obsolete", "okay", "omitted", "option", "other",
    "outdated", "output", "parameter", "plaintext", "policy", "process", "prompted", "property", "public", "python",
    "random", "randomly", "readonly", "record", "recovery", "remove", "request", "required", "reset", "response",
    "result", "right", "rotate", "rotation", "safe", "salted", "second", "secure", "sensitive", "server", "setting",
    "settings", "shared", "shorter", "should", "similar", "simple", "something", "somewhere", "source", "special",
    "stale", "static", "stolen", "strength", "strict", "strong", "stronger", "symbol", "system", "target",
    "temporary", "theirs", "there", "third", "twice", "unchanged", "unicode", "unique", "unless", "update",
    "validate", "varchar", "variable", "vault", "verify", "virtual", "visible", "wanted", "weak", "weaker",
    "within", "without", "written", "wrong", "yours",
})  # fmt: skip
"""What prose, types and code say where a password would stand, beside the placeholders of every value."""

_STATE_ENDINGS = ("ed", "ing", "ble", "ful", "ous", "ive", "less", "ly", "ent", "ant", "tion", "ment", "ness", "able")
_FUNCTION_WORDS = frozenset({
    "again", "and", "any", "are", "but", "can", "characters", "does", "each", "enter", "few", "for", "from", "had",
    "has", "have", "how", "into", "its", "least", "like", "long", "may", "more", "must", "new", "nor", "not", "off",
    "old", "one", "only", "our", "please", "same", "set", "shall", "should", "some", "such", "than", "that", "the",
    "their", "them", "then", "these", "they", "this", "those", "too", "type", "use", "used", "using", "very", "was",
    "were", "what", "when", "where", "which", "who", "will", "with", "without", "would", "you", "your",
})  # fmt: skip
_WORD = regex(rf"[A-Za-z\u00c0-\u024f]{{{SHORTEST_WORD},64}}")
_HYPHENATED = regex(r"[A-Za-z]{3,24}(?:-[A-Za-z]{3,24}){2,9}")
_PHRASE = regex(rf"[a-z]{{3,24}}(?: [a-z]{{3,24}}){{{FEWEST_WORDS - 1},11}}")
_OF_FIELDS = regex(
    r"(?i)pass|pwd|passwd|pswd|passwort|contrase|secret|token|key|cred|user|login|auth|hash|field|input|label|string|"
    r"param|value|enter|your|hidden|mask|crypt|sha|none|null|invalid|wrong|incorrect|exist|sensitive|require|default"
)
_CLAUSE_END = regex(r"[ \t]*(?:$|\n|[,;.!，。；！）)](?=\s|$|[^\x00-\x7f])|[，。；！、]|\\n|[ \t]#)")
_SECRET_WORDS_SAID = regex(r"(?:is|was|set to|changed to|is now|[是为為成])[ \t:：]{0,3}$")


def is_word(value: str) -> bool:
    """One word or several with hyphens, and none of those that stand for a value or name a field."""
    if not (_WORD.fullmatch(value) or _HYPHENATED.fullmatch(value)):
        return False
    return not (is_placeholder(value) or _OF_FIELDS.search(value) or value.lower() in STATES)


def is_words(value: str) -> bool:
    """A phrase of small letters without the words that sentences cannot do without."""
    if not _PHRASE.fullmatch(value) or is_placeholder(value) or _OF_FIELDS.search(value):
        return False
    return _FUNCTION_WORDS.isdisjoint(value.split())


def says_so(text: str, start: int, end: int, sign: str) -> bool:
    """Whether the word `text[start:end]`, without quotation marks, can only be what is named before `sign`."""
    if not _CLAUSE_END.match(text, end) or text[start:end].endswith(_STATE_ENDINGS):
        return False
    if "=" in sign or _SECRET_WORDS_SAID.search(sign.strip(" \t")):
        return "=" not in sign
    before = text[max(0, start - BEFORE) : start].rpartition("\n")[2]
    return sign.strip(" \t*") in (":", "：") and "(" not in before


# Values that stand under the name of a secret: `password=…`, `"api_key": "…"`, `--token …`, `密码是…`.


_STEMS = ("pass", "pw", "psk", "kennwort", "identified by", "secret", "token", "credential")
_OTHER_PASSWORDS = ("contraseña", "пароль", "パスワード", "비밀번호")
TRIGGERS = (*_STEMS, "key", "masterauth")
FOREIGN_TRIGGERS = ("密码", "口令", "密碼", "密钥", "金鑰", "秘钥", "令牌", "凭证", *_OTHER_PASSWORDS)
"""A text in lower case without any of them names no secret."""

LONGEST_VALUE = 256
"""Characters by which a value is judged; a longer one is followed to its end once it is a secret."""

_PROGRAMS = ("storepass", "keypass", "requirepass", "masterauth")
"""What keytool and Redis call a password; nothing else is called so."""

_CHOSEN = (
    rf"pass(?:word|wd|phrase|code|wort)s?|kennwort|pwd|{'|'.join(_PROGRAMS)}|pass(?<![a-z]pass)|pw(?<![a-z]pw)|"
    rf"psk(?<![a-z]psk)|identified by|密码|口令|密碼|{'|'.join(_OTHER_PASSWORDS)}"
)
_HOLDERS = (
    "api", "access", "auth", "private", "encryption", "signing", "master", "account", "service", "session", "app",
    "client", "consumer", "wlan", "wpa2",
)  # fmt: skip
_ISSUED = rf"secret|token|(?:{'|'.join(_HOLDERS)})[_ -]?key|credential|密钥|金鑰|秘钥|令牌|凭证"
_STARTS = regex(
    "|".join((r"\[redacted:", *_STEMS, *_PROGRAMS, *FOREIGN_TRIGGERS))
    + "".join(f"|{holder}[_ -]?key" for holder in _HOLDERS)
)
"""What every match of the pattern of names starts with. Each choice starts with a letter, which makes it fast."""

_TAIL = (
    r"(?:[_ -]?(?:access|key|token|secret|value|base|prod|production|dev|live|test|staging)(?![a-z])|"
    r"[_-]?[0-9]{1,2}(?![a-z0-9])){0,3}"
)
_SPACE = "[ \t\u00a0\u3000]"
_ANNOTATION = r":[ \t]?&?[a-z][\w.\[\]|]{0,30}[ \t]?=(?=[ \t]?[bru]?[\"'`])"
_ASSIGNING_WORDS = (
    r"[ \t]{1,2}(?:(?:(?:is|was|has been)[ \t])?(?:re)?(?:set|changed) to|is now|is|was|are|to|as)[ \t:]{1,3}|"
    r"(?:设为|設為|改为|改成|设置为|就是|是|为|為)[ \t:：]{0,2}"
)
_CLOSING = r"(?:</[a-z][a-z0-9]{0,9}>)"
_MARKED_UP = rf"{_CLOSING}[ \t]{{0,8}}(?:[:：]|<[a-z][a-z0-9]{{0,9}}>)"
"""`<b>Password</b>: …`, `<td>Password</td><td>…`."""

_SEPARATOR = (
    rf"\\?[\"'`\])}}”’」*]{{0,3}}{_SPACE}{{0,8}}"
    rf"(?:{_ANNOTATION}|:=|=>|\?=|<-|={{1,2}}|[:：＝]|{_MARKED_UP}|>|\(){_CLOSING}?(?:<!\[cdata\[)?"
    rf"{_SPACE}{{0,8}}(?:\*\*[ \t])?|{_ASSIGNING_WORDS}"
)
_VALUE_OF = r"(?:value|body|default)\\?[\"']?[ \t]{0,4}[:=][ \t]{0,4}"
_APART = (
    rf"\\?[\"'`],?[ \t]{{0,4}}\\?[\"']?{_VALUE_OF}|\\?[\"'`],[ \t]{{0,4}}(?=[bru]?\\?[\"'`])|"
    rf"[\"']?[ \t]{{0,4}}\n[ \t]{{1,24}}{_VALUE_OF}"
)
"""Between a name and a value that are two values themselves: `"DB_PASSWORD", "…"`, `key="Password" value="…"`, and the
environment of a container, `- name: DB_PASSWORD` with `value: …` on the next line."""
_OF = r"(?:[ \t](?:for|of|on|in|at)(?:[ \t][\w.@/-]{1,30}){1,3}?|[ \t]?[(（][^()（）\n]{1,30}[)）])?"
_BARE = rf"{_SPACE}{{1,2}}(?=[^ \t-])|(?<=[码令碼])(?=[!-~])"
_NAMES = regex(
    rf"\[redacted:\w{{1,24}}\]|(?:(?P<chosen>{_CHOSEN})|{_ISSUED}){_TAIL}(?:(?<=[码令碼])|(?![a-z_]))"
    rf"(?:{_OF}(?P<is>{_SEPARATOR})|(?P<apart>{_APART})|(?P<bare>{_BARE}))?"
)
"""A name, and what stands between it and the value; earlier redactions are passed over as a whole."""

_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "「": "」"}
_OPENING = {")": "(", "]": "[", "}": "{"}
_COMMAND = regex(
    r"(?:(?<=\s)-u|--user)[ =]?[\"']?[A-Za-z0-9_.@-]{1,64}:|\bsshpass -p ?|"
    r"\b(?:mysql(?:dump|admin|import)?|mariadb)\b[^\n|;&]{0,120}?\s-p(?=\S)|\baz login\b[^\n|;&]{0,120}?\s-p "
)
PROGRAMS = ("sshpass", "mysql", "mariadb", "az login")
"""Commands whose `-p` takes a password."""
_PAIR = regex(r"[;?&][a-z_.-]{0,20}$|(?:^|\s)[a-z_]{2,20}=[\w./:@-]{1,30} $|(?:^|\s)[a-z][\w-]{1,20}\.[\w-]{1,30}\.$")
_STRONG = regex(r"[^\s0-9]{0,256}[0-9]|[bru]{0,2}\\?[\"'`“‘「]")
"""What follows a name without a sign, if it is a strong password: a digit before the next space, or a quotation."""

_OPEN = regex(r"[bBrRuU]{0,2}\\?(?:(?:\"\"(?=\"))|(?:''(?=')))?([\"'`“‘「])")
_OPTION = regex(r"(?:^|[\s\"'`])--?[a-z0-9-]{0,24}$")
_UNQUOTED = regex(rf"[!#-&(-_a-~\u00c0-\u024f]{{1,{LONGEST_VALUE}}}")
_REST = regex(r"[A-Za-z0-9+/=_.~%-]+")
_END = regex(
    r"[;,|](?=[A-Za-z_][A-Za-z_.-]{1,30}[=:])|&(?=[a-z][a-z_-]{1,30}=|(?:quot|apos|amp|lt|gt|#[0-9]{2,4});)|</"
)


def names_secret(text: str, lowered: str) -> bool:
    """Whether a name of secrets occurs at all. `lowered`: the text in lower case."""
    if any(trigger in lowered for trigger in TRIGGERS):
        return True
    return not text.isascii() and any(trigger in lowered for trigger in FOREIGN_TRIGGERS)


def assigned(text: str, lowered: str) -> Iterator[tuple[str, int, int]]:
    """(`password` or `secret`, start, end) of every value under such a name, in order.

    `lowered`: the text in lower case, character by character.
    """
    place = 0
    while name := _next_name(lowered, place):
        place = name.end()
        judge = _judge(name, lowered)
        if judge is None:
            continue
        if judge is is_strong_password and not _STRONG.match(lowered, name.end()):
            continue
        start, end, quoted = _value(text, name.end(), name["is"] or "")
        if judge(text[start:end], quoted) or _is_of_words(text, lowered, name, start, end, quoted):
            if end - start >= LONGEST_VALUE:
                end = _end_of_run(text, end)
            yield ("password" if name["chosen"] else "secret"), start, end
            place = end


def on_command_lines(text: str) -> Iterator[tuple[str, int, int]]:
    """(`password`, start, end) of what follows a user and a colon after `-u`, and of `-p` of some programs."""
    for found in _COMMAND.finditer(text):
        start, end, quoted = _value(text, found.end(), "")
        if is_password(text[start:end], quoted):
            yield "password", start, end


def _is_of_words(text: str, lowered: str, name: re.Match[str], start: int, end: int, quoted: bool) -> bool:
    """Whether the value is a password of words, which the way it is written must tell."""
    chosen, sign = name["chosen"], name["is"]
    if chosen is None or sign is None or sign.endswith("("):
        return False
    if chosen in ("pass", "pw") and text[name.start() - 1 : name.start()] not in ("_", "-", '"', "'"):
        return False  # a verb, most of the time
    value = text[start:end]
    if quoted:
        return is_word(value) or is_words(value)
    if sign == "=" and (text[name.start()].isupper() or _is_parameter(lowered, name.start())):
        return is_word(value)
    return is_word(value) and value.islower() and says_so(text, start, end, sign)


def _is_parameter(lowered: str, place: int) -> bool:
    """Whether the `name=` at `place` is of an option, of a connection string (`;Password=…;`, `user=… password=…`), or
    of a file of properties (`spring.datasource.password=…`)."""
    return _PAIR.search(lowered, max(0, place - 60), place) is not None or _is_option(lowered, place)


def _next_name(lowered: str, place: int) -> re.Match[str] | None:
    """The first name from `place` on. Starts are searched first: many times as fast as the whole pattern."""
    while start := _STARTS.search(lowered, place):
        if name := _NAMES.match(lowered, start.start()):
            return name
        place = start.start() + 1
    return None


def _judge(name: re.Match[str], lowered: str) -> Callable[[str, bool], bool] | None:
    """What a value must be after `name`; None where no value follows."""
    if (between := name["apart"]) is not None:
        given = between.rstrip()[-1:] in ":="  # it says itself that a value follows
        return is_secret if not name["chosen"] else is_password if given else is_strong_password
    if name["is"] is None and (name["bare"] is None or not _is_option(lowered, name.start())):
        is_verb = name["chosen"] == "pass"
        return is_strong_password if name["bare"] is not None and name["chosen"] and not is_verb else None
    return is_password if name["chosen"] else is_secret


def _is_option(text: str, place: int) -> bool:
    """Whether the word at `place` belongs to an option of a command line: `--db-password`."""
    return (
        text.rfind("-", max(0, place - 30), place) >= 0 and _OPTION.search(text, max(0, place - 30), place) is not None
    )


def _value(text: str, start: int, separator: str) -> tuple[int, int, bool]:
    """Where the value starts and ends, and whether quotation marks say so."""
    if opening := _OPEN.match(text, start):
        start = opening.end()
        end = text.find(_QUOTES[opening[1]], start, start + LONGEST_VALUE)
        if end >= 0:
            end -= opening[0].startswith("\\") and text[end - 1] == "\\"  # quotation marks inside quotation marks
            return (start, end, True) if text.find("\n", start, end) < 0 else (start, start, True)
    if separator.endswith("("):
        return start, start, False
    run = _UNQUOTED.match(text, start)
    value = run[0] if run else ""
    if any(mark in value for mark in "&;,|<") and (cut := _END.search(value)):
        value = value[: cut.start()]
    return start, start + len(_without_close(value)), False


def _without_close(value: str) -> str:
    """Without the full stop of the sentence and the brackets that were opened before the value."""
    while value and (value[-1] in ".,;:" or (value[-1] in _OPENING and _OPENING[value[-1]] not in value)):
        value = value[:-1]
    return value


def _end_of_run(text: str, end: int) -> int:
    """Where a secret ends that was cut at the longest value."""
    rest = _REST.match(text, end)
    return rest.end() if rest else end
