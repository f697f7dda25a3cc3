"""Values under the name of a secret, and tests that tell secrets from placeholders, code and prose.

A secret that a machine issued is recognised by its mixture of characters. Nothing tells a password of words from prose
and code, so there the way it is written must.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from itertools import pairwise

import msgspec

from mnemond.text.resources import on_first_use, read, regex

SHORTEST_PASSWORD = 6
"""Characters of a password; a shorter one cannot be told from a word."""

LONGEST_VALUE = 256
"""Characters by which a value is judged; a longer one is followed to its end once it is a secret."""

SHORTEST_SECRET = 12
"""Characters of a value called secret, token or key: issuers hand out sixteen and more."""

LONGEST_SECRET = 4_096
"""Characters; longer ones are documents."""

SHORTEST_BARE = 20
"""Characters of a secret beside its name without a sign between them."""

MIN_DIFFERENT = 7
"""Different characters of a token body. Sixteen hexadecimal digits drawn at random have about ten."""

MIN_CHANGES = 0.25
"""Share of neighbours of different classes (capital, small letter, digit) in a random value. Chance gives base62 0.62,
hexadecimal 0.47, base36 0.40; an identifier of words gives below 0.2, one in CamelCase about 0.3."""

RANDOM_CHANGES = 0.4
"""The same for a short value that stands beside a name and not under it: SignatureEd25519Size has 0.32."""

MIN_OF_EITHER_CASE = 0.22
"""Least share of capitals, and of small letters, in a random value without digits: chance gives one half, a name in
CamelCase about 0.15."""

LONGEST_SAMPLE = 128
"""Characters of a value whose mixture is measured."""

SHORTEST_SCRAMBLED = 8
"""Letters of a password of letters alone; shorter ones are abbreviations too often."""

SHORTEST_RECOVERY_CODE = 8
"""Digits of a code for one use (GitHub: ten characters, Google: eight digits)."""

FEWEST_WORDS = 4
"""Words with spaces between them that make a passphrase rather than a label."""

BEFORE = 200
"""Characters before a value in which an open bracket makes its name a parameter of code."""


class _SecretWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """data/secret_words.toml"""

    placeholders: frozenset[str]
    placeholder_parts: tuple[str, ...]
    states: frozenset[str]
    german_states: frozenset[str]
    function_words: frozenset[str]


@on_first_use
def _words() -> _SecretWords:
    return read("secret_words", _SecretWords)


# ---------------------------------------------------------------- values that a machine issued

_NAME = r"(?:[a-z_]{2,}(?:[A-Z][a-z]+)*|(?:[A-Z][a-z]{2,})+|[A-Z_]{3,})"
"""The name of a variable or function: words, not random letters."""

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
_GROUPS = regex(r"[0-9A-Z]{4,8}(?:-[0-9A-Z]{4,8}){3,7}")
_HEX = regex(r"[0-9a-f]{16,}$|[0-9A-F]{16,}$")
_DIGIT = regex(r"[0-9]")
_DATE = regex(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}")
_STRONG_SYMBOL = regex(r"[!@#$%^&*?+~|=]")
_SEPARATORS = regex(r"[^A-Za-z0-9]+")
_HOW_STORED = regex(r"(?i)[-_](?:encoded|hashed|based|encrypted|protected|salted|only)$")
_CLASSES = str.maketrans(
    {**dict.fromkeys(map(chr, range(65, 91)), "A"), **dict.fromkeys(map(chr, range(97, 123)), "a")}
    | dict.fromkeys("0123456789", "0")
)


def is_placeholder(value: str) -> bool:
    """Return True for a variable, a template, stars, and words that documentation uses."""
    lowered, words = value.lower(), _words()
    if lowered in words.placeholders or lowered.strip("!.,;:") in words.placeholders or "[redacted:" in lowered:
        return True
    if any(part in lowered for part in words.placeholder_parts):
        return True
    return _VARIABLE.match(value) is not None or _TEMPLATE.search(value) is not None or len(set(lowered)) < 3


def is_varied(body: str) -> bool:
    """Return True if the body of a token may be random: it has a digit or a capital, and is no xxxx or EXAMPLE. An
    alphabet in the form of a token counts: a later reader cannot tell that it was made up."""
    lowered = body.lower()
    if lowered == body and not _DIGIT.search(body):
        return False
    return len(set(body)) >= MIN_DIFFERENT and not any(
        part in lowered for part in ("example", "xxxxx", "....", "redacted")
    )


def is_random(value: str, least_changes: float = MIN_CHANGES) -> bool:
    """Return True if letters and digits are mixed as chance mixes them: no words, no identifier. The beginning
    decides."""
    plain = _SEPARATORS.sub("", value[:LONGEST_SAMPLE])
    classes = plain.translate(_CLASSES)
    kinds = set(classes)
    if len(plain) < 8 or len(set(plain)) < MIN_DIFFERENT or len(kinds) < 2:
        return False
    changes = sum(map(str.__ne__, classes, classes[1:])) / (len(classes) - 1)
    capitals = classes.count("A") / len(classes)
    is_even = "0" in kinds or MIN_OF_EITHER_CASE <= capitals <= 1 - MIN_OF_EITHER_CASE
    return is_even and changes >= least_changes


def is_hexadecimal(value: str) -> bool:
    """Return True for sixteen hexadecimal digits or more in one case, and for a UUID."""
    if _UUID.match(value):
        return True
    return _HEX.match(value) is not None and not value.isdigit() and not value.isalpha()


def is_password(value: str, quoted: bool) -> bool:
    """Return True if a value under the name password is one. Words alone are not: see `is_word`."""
    if not SHORTEST_PASSWORD <= len(value) <= LONGEST_VALUE or is_placeholder(value) or _is_reference(value, quoted):
        return False
    if value.isdigit():
        return not _is_sequence(value)
    if _HOW_STORED.search(value):
        return False
    if " " in value:  # a sentence in quotation marks
        return is_random(value)
    has_digit = any(letter.isdigit() for letter in value)
    has_letter = any(letter.isalpha() for letter in value)
    if has_digit and has_letter:
        return quoted or not _NUMBERED_WORD.match(value.lower())
    inside = value.strip(".,;:!?-_/ ")
    if has_letter and _STRONG_SYMBOL.search(inside):
        return quoted or sum(map(str.isalpha, value)) >= 4
    return is_random(value) or _is_passphrase(value) or _is_scrambled(inside)


def is_code(value: str) -> bool:
    """Return True for a number that may be a PIN, a PUK or the code of a door."""
    return not (value.isdigit() and _is_sequence(value))


def is_recovery_code(value: str) -> bool:
    """Return True for groups of letters and digits as chance mixes them, or of digits alone."""
    plain = _SEPARATORS.sub("", value)
    if plain.isdigit():
        return len(plain) >= SHORTEST_RECOVERY_CODE and not _is_sequence(plain) and _DATE.match(value) is None
    return is_random(value)


def is_strong_password(value: str, quoted: bool) -> bool:
    """Return True for a password that needs no sign between it and its name: mixed, or of letters, digits and signs."""
    if not is_password(value, quoted) or len(value) < 8 or value.isdigit():
        return False
    has_digit = any(letter.isdigit() for letter in value)
    return has_digit and (is_random(value) or _STRONG_SYMBOL.search(value[:-1]) is not None)


def is_secret(value: str, quoted: bool) -> bool:
    """Return True if a value under the name secret, token or key is one: issued by a machine, so long and random."""
    if not SHORTEST_SECRET <= len(value) <= LONGEST_SECRET:
        return False
    if is_hexadecimal(value):
        return not is_placeholder(value)
    if not is_random(value) or (len(value) < 16 and not any(map(str.isdigit, value))):
        return False
    return not (is_placeholder(value) or _is_reference(value, quoted) or (not quoted and _CAMEL_CASE.match(value)))


def is_strong_secret(value: str, quoted: bool) -> bool:
    """Return True for a secret that needs no sign between it and its name."""
    if not is_secret(value, quoted) or _PATH.match(value):
        return False
    return (len(value) >= SHORTEST_BARE and (is_hexadecimal(value) or _three_kinds(value))) or _GROUPS.fullmatch(
        value
    ) is not None


def is_high_entropy(value: str) -> bool:
    """Return True for a secret beside the word key, token, secret or password without an assignment."""
    if (
        is_placeholder(value)
        or value.startswith(("AAAA", "sha256-", "sha384-", "sha512-", "SHA256"))
        or _CAMEL_CASE.match(value)
        or _PATH.match(value)
    ):
        return False
    return not _UUID.match(value) and len(set(value)) >= 12 and _three_kinds(value) and is_random(value)


def is_bearer(value: str) -> bool:
    """Return True for a token after the word Bearer, which prose follows by words."""
    return len(value) >= 16 and not is_placeholder(value) and (is_hexadecimal(value) or is_random(value))


def is_basic(value: str) -> bool:
    """Return True for base64 of a name, a colon and a password (RFC 7617)."""
    try:
        plain = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return False
    name, colon, word = plain.partition(":")
    return bool(colon) and plain.isprintable() and not (is_placeholder(word) and is_placeholder(name))


def decoded(part: str) -> bytes:
    """The bytes of base64url without padding; empty if `part` is not base64url."""
    try:
        return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except binascii.Error:
        return b""


def _three_kinds(value: str) -> bool:
    return len(set(value.translate(_CLASSES)) & set("Aa0")) == 3


def _is_reference(value: str, quoted: bool) -> bool:
    """Return True for code, a path, a number or an address."""
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


def _is_scrambled(value: str) -> bool:
    """Letters of both cases as no name and no word has them."""
    if len(value) < SHORTEST_SCRAMBLED or not (value.isascii() and value.isalpha()) or _CAMEL_CASE.match(value):
        return False
    return not (value.islower() or value.isupper() or value[1:].islower())


def _is_sequence(digits: str) -> bool:
    steps = {ord(after) - ord(before) for before, after in pairwise(digits)}
    return len(steps) == 1 or len(set(digits)) < 2


# ---------------------------------------------------------------- passwords made of words
# In quotation marks, in an environment file, in a connection string or an option, a word is a value. Elsewhere it must
# end its clause and be no word about a password: its state, its type, an instruction.

_STATE_ENDINGS = ("ed", "ing", "ble", "ful", "ous", "ive", "less", "ly", "ent", "ant", "tion", "ment", "ness", "able")
_WORD = regex(rf"[A-Za-z\u00c0-\u024f]{{{SHORTEST_PASSWORD},64}}")
_HYPHENATED = regex(r"[A-Za-z]{3,24}(?:-[A-Za-z]{3,24}){2,9}")
_PHRASE = regex(rf"[a-z]{{3,24}}(?: [a-z]{{3,24}}){{{FEWEST_WORDS - 1},11}}")
OF_FIELDS = regex(
    r"(?i)pass|pwd|passwd|pswd|passwort|contrase|secret|token|key|cred|user|login|auth|hash|field|input|label|string|"
    r"param|value|enter|your|hidden|mask|crypt|sha|none|null|invalid|wrong|incorrect|exist|sensitive|require|default"
)
_CLAUSE_END = regex(r"[ \t]*(?:$|\n|[,;.!，。；！）)](?=\s|$|[^\x00-\x7f])|[，。；！、]|\\n|[ \t]#)")
_ASSIGNING = regex(r"(?:is|was|set to|changed to|is now|[是为為成]了?)[ \t:：]{0,3}$")
_BEING = regex(r"(?:ist|war)(?:[ \t][a-z ]{3,9})?[ \t:]{0,3}$")
_GERMAN_ENDINGS = (
    "en", "ert", "elt", "igt", "ngt", "cht", "tzt", "llt", "hnt", "nnt", "mmt", "sst", "ig", "lich", "isch", "bar",
    "los", "haft", "sam", "ung", "heit", "keit", "schaft", "weise", "ell", "iv", "är", "ös", "al", "ant", "ent",
)  # fmt: skip
"""Endings of German participles, adjectives and abstract nouns."""

_NAMING = regex(r"(?:lautete?|heißt|heisst)(?:[ \t][a-z ]{3,9})?[ \t:]{0,3}$")
"""German verbs that only a name or a value follows, so that any word does."""


def is_word(value: str) -> bool:
    """Return True for one word, or several with hyphens, that neither stands for a value nor names a field."""
    if not (_WORD.fullmatch(value) or _HYPHENATED.fullmatch(value)):
        return False
    return not (is_placeholder(value) or OF_FIELDS.search(value) or value.lower() in _words().states)


def is_words(value: str) -> bool:
    """Return True for a phrase of small letters without function words, which every sentence has."""
    if not _PHRASE.fullmatch(value) or is_placeholder(value) or OF_FIELDS.search(value):
        return False
    return _words().function_words.isdisjoint(value.split())


def _is_value_of(text: str, start: int, end: int, sign: str) -> bool:
    """Return True if the unquoted word `text[start:end]` can only be the value of the name before `sign`."""
    if not _CLAUSE_END.match(text, end) or text[start:end].endswith(_STATE_ENDINGS):
        return False
    if "=" in sign or _ASSIGNING.search(sign.strip(" \t")):
        return "=" not in sign
    before = text[max(0, start - BEFORE) : start].rpartition("\n")[2]
    return sign.strip(" \t*") in (":", "：") and "(" not in before


# ---------------------------------------------------------------- values under a name
# `password=…`, `"api_key": "…"`, `--token …`, `密码是…`

_STEMS = ("mot de passe", "pass", "pw", "psk", "kennwort", "senha", "identified by", "secret", "token", "credential")
_OTHER_PASSWORDS = ("contraseña", "пароль", "パスワード", "비밀번호")
_SPOKEN = ("community string", "security answer", "sicherheitsantwort")
_TRIGGERS = (*_STEMS, *_SPOKEN, "key", "masterauth", "schlüssel")
_FOREIGN_TRIGGERS = ("密码", "口令", "密碼", "密钥", "金鑰", "秘钥", "令牌", "凭证", *_OTHER_PASSWORDS)
"""A text in lower case without any of these names no secret."""

_CHINESE = ("密码", "口令", "密碼")
"""Names that a value may follow without a sign or a space."""

_PROGRAMS = ("storepass", "keypass", "requirepass", "masterauth")
"""Names of passwords in keytool and Redis, which name nothing else."""

_CHOSEN = (
    rf"pass(?:word|wd|phrase|code|wort|wörter)s?|mot de passe|senha|kennwort|pwd|"
    rf"{'|'.join(_PROGRAMS)}|pass(?<![a-z]pass)|pw(?<![a-z]pw)|"
    rf"psk(?<![a-z]psk)|identified by|密码|口令|密碼|{'|'.join((*_OTHER_PASSWORDS, *_SPOKEN))}"
)
_HOLDERS = (
    "api", "access", "auth", "private", "encryption", "signing", "master", "account", "service", "session", "app",
    "client", "consumer", "wlan", "wpa2", "subscription", "license", "licence",
    "product", "sign", "签名", "admin", "org", "organization", "server", "webhook", "shared", "ingest", "deploy",
    "instrumentation",
)  # fmt: skip
_KINDS_OF_SCHLUESSEL = ("api", "zugangs", "zugriffs", "geheim", "lizenz", "produkt", "sicherheits", "webhook")
_ISSUED = (
    rf"secret|token|(?:{'|'.join(_HOLDERS)})[_ -]?key|(?:{'|'.join(_KINDS_OF_SCHLUESSEL)})[ -]?schlüssel|credential|"
    r"密钥|金鑰|秘钥|令牌|凭证"
)
_STARTS = regex(
    "|".join((r"\[redacted:", *_STEMS, *_PROGRAMS, *_FOREIGN_TRIGGERS, *_SPOKEN))
    + "".join(f"|{holder}[_ -]?key" for holder in _HOLDERS)
    + "".join(f"|{kind}[ -]?schlüssel" for kind in _KINDS_OF_SCHLUESSEL)
)
"""The start of every match of `_NAMES`. Each alternative starts with a literal, which makes the search fast."""

_TAIL = (
    r"(?:[_ -]?(?:access|key|token|secret|value|base|prod|production|dev|live|test|staging)(?![a-z])|"
    r"[_-]?[0-9]{1,2}(?![a-z0-9])){0,3}"
)
_SPACE = "[ \t\u00a0\u3000]"
_ANNOTATION = r":[ \t]?&?[a-z][\w.\[\]|]{0,30}[ \t]?=(?=[ \t]?[bru]?[\"'`])"
_ASSIGNING_WORDS = (
    r"[ \t]{1,2}(?:(?:there|here|now|then|today|again|dort|hier|da)[ \t])?"
    r"(?:(?:(?:is|was|has been)[ \t])?(?:re)?(?:set|changed) to|is now|(?:is|was) (?:still|currently|just)|"
    r"is|was|are|to|as|es|est|é|è|"
    r"(?:ist|lautet|lautete|heißt|heisst|war|müsste|dürfte)"
    r"(?:[ \t](?:jetzt|nun|ab heute|ab sofort|wieder|früher|bisher|aktuell|derzeit|noch|weiterhin))?|"
    r"(?:wurde|ist|haben?|hab|hat)(?:[ \t][a-zäöüß]{2,16}){0,3}?[ \t]auf)[ \t:]{1,3}|"
    r"(?:我们?|现在|目前|已经|已|暂时|统一|默认|都|还){0,3}"
    r"(?:设为|設為|设成|改为|改成|设置为|换成|重置为|更新为|就是|是|为|為|用的是)了?[ \t:：]{0,2}|"
    r"['’]s[ \t]{1,2}(?=[^ \t])"
)
_CLOSING = r"(?:</[a-z][a-z0-9]{0,9}>)"
_MARKED_UP = rf"{_CLOSING}[ \t]{{0,8}}(?:[:：]|<[a-z][a-z0-9]{{0,9}}>)"
"""`<b>Password</b>: …`, `<td>Password</td><td>…`."""

_SEPARATOR = (
    rf"\\?[\"'`\])}}”’」*]{{0,3}}{_SPACE}{{0,8}}"
    rf"(?:{_ANNOTATION}|:=|=>|\?=|<-|={{1,2}}|[:：＝→]|(?<=[ \t])->(?=[ \t])|{_MARKED_UP}|>|\(){_CLOSING}?"
    rf"(?:<!\[cdata\[)?{_SPACE}{{0,8}}(?:\*\*[ \t])?|{_ASSIGNING_WORDS}"
)
_VALUE_OF = r"(?:value|body|default)\\?[\"']?[ \t]{0,4}[:=][ \t]{0,4}"
_APART = (
    rf"\\?[\"'`],?[ \t]{{0,4}}\\?[\"']?{_VALUE_OF}|\\?[\"'`],[ \t]{{0,4}}(?=[bru]?\\?[\"'`])|"
    rf"[\"']?[ \t]{{0,4}}\n[ \t]{{1,24}}{_VALUE_OF}"
)
"""Separates a name and a value that are two values themselves: `"DB_PASSWORD", "…"`, `key="Password" value="…"`, and in
the environment of a container `- name: DB_PASSWORD` with `value: …` on the next line."""
_OF = (
    r"(?:[ \t](?:for|of|on|in|at|für|vom|von|zum|zur|des|der|im|am|beim)(?:[ \t][\w.@/-]{1,30}){1,3}?|"
    r"[ \t](?:(?:that|which)[ \t])?(?:i|we|you|they|he|she)(?:[ \t][\w'’-]{1,20}){1,5}?|"
    r",[ \t]das[ \t][^,\n:=]{3,40},|(?<=wort)(?:,?[ \t][\w.-]{2,20}){1,4}?(?=[ \t]?[:：]))?"
    r"(?:[ \t]?[(（][^()（）\n]{1,30}[)）])?"
)
"""Which password it is, between its name and the sign: of a thing ("for the server"), of a person ("that I use"), and
more of it in brackets."""
_BARE = rf"{_SPACE}{{1,2}}(?:[-–—][ \t])?(?=[^ \t-])|(?<=[码令碼])(?=[!-~“「『])"
_NAMES = regex(
    rf"\[redacted:\w{{1,24}}\]|(?:(?P<chosen>{_CHOSEN})|{_ISSUED}){_TAIL}(?:(?<=[码令碼])|(?![a-z_]))"
    rf"(?:{_OF}(?P<is>{_SEPARATOR})|(?P<apart>{_APART})|(?P<bare>{_BARE}))?"
)
"""A name and the separator before its value; earlier redactions are passed over as a whole."""

_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "「": "」", "„": "“", "『": "』"}
_OPENING = {")": "(", "]": "[", "}": "{"}
_PAIR = regex(r"[;?&][a-z_.-]{0,20}$|(?:^|\s)[a-z_]{2,20}=[\w./:@-]{1,30} $|(?:^|\s)[a-z][\w-]{1,20}\.[\w-]{1,30}\.$")
_STRONG = regex(r"[^\s0-9]{0,256}[0-9]|[bru]{0,2}\\?[\"'`“‘「„『]")
"""The start of every strong password after a name without a sign: a digit before the next space, or a quotation."""

_OPEN = regex(r"[bBrRuU]{0,2}\\?(?:(?:\"\"(?=\"))|(?:''(?=')))?([\"'`“‘「„『])")
_OPTION = regex(r"(?:^|[\s\"'`])--?[a-z0-9-]{0,24}$")
_UNQUOTED = regex(rf"[!#-&(-_a-~\u00c0-\u024f]{{1,{LONGEST_VALUE}}}")
_REST = regex(r"[A-Za-z0-9+/=_.~%-]+")
_END = regex(
    r"[;,|](?=[A-Za-z_][A-Za-z_.-]{1,30}[=:])|&(?=[a-z][a-z_-]{1,30}=|(?:quot|apos|amp|lt|gt|#[0-9]{2,4});)|</"
)


def names_secret(text: str, lowered: str) -> bool:
    """Return True if the name of a secret may occur. `lowered`: the text in lower case."""
    if any(trigger in lowered for trigger in _TRIGGERS):
        return True
    return not text.isascii() and any(trigger in lowered for trigger in _FOREIGN_TRIGGERS)


def assigned(text: str, lowered: str) -> Iterator[tuple[str, int, int]]:
    """Yield ("password" or "secret", start, end) of every value under such a name, in order.

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
        start, end, quoted = value_at(text, name.end(), name["is"] or "")
        if name["bare"] is not None and name["chosen"] in _CHINESE and not (quoted or _CLAUSE_END.match(text, end)):
            judge = is_strong_password  # 密码SHA256加密
        if (name["is"] or "").startswith(("'", "’")) and not (quoted or _CLAUSE_END.match(text, end)):
            continue  # the password's base64-encoded form
        if judge(text[start:end], quoted) or _is_of_words(text, lowered, name, start, end, quoted):
            if end - start >= LONGEST_VALUE:
                end = _end_of_run(text, end)
            yield ("password" if name["chosen"] else "secret"), start, end
            place = end


def _is_of_words(text: str, lowered: str, name: re.Match[str], start: int, end: int, quoted: bool) -> bool:
    """Return True if the value is a password of words."""
    chosen, sign = name["chosen"], name["is"]
    if chosen is None and sign == "=" and text[name.start()].isupper() and end - start >= SHORTEST_SECRET:
        return is_word(text[start:end])
    if chosen == "passphrase" and quoted and sign is None:
        return is_words(text[start:end])
    if chosen is None or sign is None or sign.endswith("("):
        return False
    if chosen in ("pass", "pw") and text[name.start() - 1 : name.start()] not in ("_", "-", '"', "'"):
        return False  # a verb, most of the time
    value = text[start:end]
    if quoted:
        return is_word(value) or is_words(value)
    if chosen == "passphrase" and _ASSIGNING.search(sign) and (phrase := _PHRASE.match(text, start)):
        return is_words(phrase[0]) and _CLAUSE_END.match(text, phrase.end()) is not None
    if sign == "=" and (text[name.start()].isupper() or _is_parameter(lowered, name.start())):
        return is_word(value)
    if _NAMING.search(sign):
        return is_word(value) and _CLAUSE_END.match(text, end) is not None
    if _BEING.search(sign):
        told = value.lower() in _words().german_states or value.lower().endswith(_GERMAN_ENDINGS)
        return is_word(value) and not told and _CLAUSE_END.match(text, end) is not None
    return is_word(value) and value.islower() and _is_value_of(text, start, end, sign)


def _is_parameter(lowered: str, place: int) -> bool:
    """Return True if the `name=` at `place` belongs to an option, a connection string (`;Password=…;`, `user=…
    password=…`) or a properties file (`spring.datasource.password=…`)."""
    return _PAIR.search(lowered, max(0, place - 60), place) is not None or _is_option(lowered, place)


def _next_name(lowered: str, place: int) -> re.Match[str] | None:
    """The first name from `place` on. Searching for starts first is many times as fast as the whole pattern."""
    while start := _STARTS.search(lowered, place):
        if name := _NAMES.match(lowered, start.start()):
            return name
        place = start.start() + 1
    return None


def _judge(name: re.Match[str], lowered: str) -> Callable[[str, bool], bool] | None:
    """The test for a value after `name`; None if no value follows."""
    if (between := name["apart"]) is not None:
        given = between.rstrip()[-1:] in ":="  # announces a value itself
        return is_secret if not name["chosen"] else is_password if given else is_strong_password
    if name["is"] is None and (name["bare"] is None or not _is_option(lowered, name.start())):
        if name["bare"] is not None and (name["chosen"] == "passcode" or name["chosen"] in _CHINESE):
            return is_password
        if name["bare"] is not None and not name["chosen"]:
            return is_strong_secret
        is_verb = name["chosen"] == "pass"
        return is_strong_password if name["bare"] is not None and name["chosen"] and not is_verb else None
    return is_password if name["chosen"] else is_secret


def _is_option(text: str, place: int) -> bool:
    """Return True if the word at `place` belongs to an option of a command line: `--db-password`."""
    return (
        text.rfind("-", max(0, place - 30), place) >= 0 and _OPTION.search(text, max(0, place - 30), place) is not None
    )


def value_at(text: str, start: int, separator: str = "") -> tuple[int, int, bool]:
    """(start, end, True if quotation marks delimit it) of the value behind `separator`."""
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
    """`value` without the full stop of its sentence and without brackets that were opened before it."""
    while value and (value[-1] in ".,;:" or (value[-1] in _OPENING and _OPENING[value[-1]] not in value)):
        value = value[:-1]
    return value


def _end_of_run(text: str, end: int) -> int:
    """The end of a secret that was cut at the longest value."""
    rest = _REST.match(text, end)
    return rest.end() if rest else end
