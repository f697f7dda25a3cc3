"""Find passwords by their place: options of programs, cookies, cells of tables, sentences that end in their name.

Each function yields (start, end) of the values in a text, or says if a text may have one. Patterns start at fixed
strings and their repetitions are bounded, so the time is linear for any text.
"""

from __future__ import annotations

from collections.abc import Iterator

from mnemond.text.resources import regex
from mnemond.text.secret_values import (
    OF_FIELDS,
    RANDOM_CHANGES,
    is_bearer,
    is_code,
    is_password,
    is_random,
    is_recovery_code,
    is_varied,
    is_word,
    value_at,
)

MIXED_PASSWORD = 8
"""Characters of a password that only a preposition announces: "log in with password …"."""

MAX_ROWS = 200
"""Rows below the head of a table that are read."""

MAX_COOKIES = 4_096
"""Characters of a header with cookies (browsers send at most 4 KiB for one)."""

CODES_WITHIN = 240
"""Characters behind the name of recovery codes in which they stand; sixteen of them take 190."""

STRONG_BEFORE, STRONG_BEHIND = 40, 80
"""Characters of the line around the name of a password in which a word that only a password is is taken for it."""

BEFORE = 160
"""Characters before the name of a password that are searched for its value."""

# ---------------------------------------------------------------- options of programs

_CLIENTS = (
    (("redis-cli", "valkey-cli"), r"(?:redis|valkey)-cli", r"-a ?|--pass[ =]"),
    (("mysql", "mariadb"), r"mysql(?:dump|admin|import)?|mariadb(?:-dump|-admin)?", r"-p(?=\S)"),
    (
        ("mongo", "cqlsh", "sshpass", "rdesktop", " login"),
        r"mongosh|mongo(?:dump|restore|export|import)?|cqlsh|sshpass|rdesktop|az login|az acr login",
        r"-p ?",
    ),
    (("7z", "rar"), r"7z[ar]?|rar", r"-h?p(?=\S)"),
    ((" login",), r"(?:docker|podman|nerdctl|helm registry|oras|skopeo|oc) login", r"-p ?"),
    (("ldap",), r"ldap(?:search|modify|add|delete|passwd|compare|whoami)", r"-w ?"),
    (
        ("sqlcmd", "bcp", "zip", "mosquitto_", "ipmitool"),
        r"sqlcmd|bcp|unzip|zip|mosquitto_(?:pub|sub)|ipmitool",
        r"-P ?",
    ),
    (("smbclient", "rpcclient"), r"smbclient|rpcclient", r"-U ?[\"']?[\w.\\/-]{1,64}%"),
    (("plink", "pscp", "psftp"), r"plink|pscp|psftp", r"-pw "),
    (("snmp",), r"snmp(?:walk|get|set|bulkwalk)", r"-[AX] ?"),
    (("xfreerdp",), r"xfreerdp", r"/p:"),
    (("htpasswd",), r"htpasswd", r"-[A-Za-z]{0,6}b[A-Za-z]{0,6} \S{1,128} \S{1,64} "),
    (("rabbitmqctl",), r"rabbitmqctl (?:add_user|change_password|authenticate_user)", r"\S{1,64} "),
    (("net use",), r"net use", r"/user:\S{1,64} "),
    (("lftp",), r"lftp", r"-u [\w.@-]{1,64},"),
)
"""Words of which a text with the programs has one, the programs, and the options, or places, that take a password and
nothing else (their manuals)."""

_PROGRAMS = ("chpasswd", *(word for words, _, _ in _CLIENTS for word in words))
"""A text without any of these has none of those programs."""

_COMMAND = regex(
    r"(?:(?<=\s)-u|--user)[ =]?[\"']?[A-Za-z0-9_.@-]{1,64}:|"
    r"\becho [\"']?[\w.-]{1,32}:(?=[^\n|]{6,128}\|[ \t]?(?:sudo )?chpasswd)|"
    + "|".join(rf"\b(?:{programs})\b[^\n|;&]{{0,120}}?[ \t](?:{option})" for _, programs, option in _CLIENTS)
)
_WITH_SPACE = regex(r"\b(?:mysql(?:dump|admin|import)?|mariadb)\b[^\n|;&]{0,120}?[ \t]-p (?=[^\s-])")
"""`-p` and a space before a word: meant as a password, though MySQL asks for one and reads the word as a database."""


_BEFORE_OPTION = (" -", "\t-", " /", "rabbitmqctl", "chpasswd")


def may_have_commands(text: str) -> bool:
    """Return False if `text` has no option or program that takes a password."""
    return "-u" in text or (any(each in text for each in _BEFORE_OPTION) and any(each in text for each in _PROGRAMS))


def on_command_lines(text: str) -> Iterator[tuple[int, int]]:
    """Yield passwords after a user and a colon of `-u`, and where some programs take one."""
    for pattern, words in ((_COMMAND, True), (_WITH_SPACE, False)):
        for found in pattern.finditer(text):
            start, end, quoted = value_at(text, found.end())
            value = text[start:end]
            is_option = words and not found[0].endswith(":")
            if not value.startswith("-") and (
                is_password(value, quoted or is_option) or (is_option and is_word(value))
            ):
                yield start, end


# ---------------------------------------------------------------- cookies

_COOKIES = regex(r"cookies?[\"']?[ \t]{0,2}[:=]|(?<=\s)-b[ =]?[\"']")
_PAIR = regex(r"([\w.!#$%&*+^`~-]{1,64})[\"']?[ \t]?[=:][ \t]?[\"']?([^\s;,\"'}\\]{6,4096})")
_OF_SESSION = regex(r"(?i)sess|sid\b|token|auth|jwt|remember|csrf|xsrf|__(?:host|secure)-")
_KNOWN = regex(
    r"(?:phpsessid|jsessionid|connect\.sid|asp\.net_sessionid|laravel_session|__(?:host|secure)-[\w.-]{1,40})"
    r"[\"']?[ \t]?[=:][ \t]?[\"']?(?=[\w%.+/-]{16})"
)
_VALUE = regex(r"[^\s;,\"'}&]{1,4096}")


def may_have_cookies(lowered: str) -> bool:
    """Return False if a text, in small letters, has no cookie of a session."""
    return any(each in lowered for each in ("cookie", "sess", "connect.sid", "-b", "__host-", "__secure-"))


def in_cookies(text: str, lowered: str) -> Iterator[tuple[int, int]]:
    """Yield the values of cookies that a session goes by: by the cookie's name, or random ones."""
    end = 0
    for head in _COOKIES.finditer(lowered):
        if head.start() < end:
            continue
        line = lowered.find("\n", head.end())
        end = min(len(text) if line < 0 else line, head.end() + MAX_COOKIES)
        for pair in _PAIR.finditer(text, head.end(), end):
            of_session = _OF_SESSION.search(pair[1]) is not None
            if is_bearer(pair[2]) or (of_session and is_password(pair[2], quoted=False)):
                yield pair.span(2)
    for known in _KNOWN.finditer(lowered):
        if (value := _VALUE.match(text, known.end())) and is_bearer(value[0]):
            yield value.span()


# ---------------------------------------------------------------- cells of a table

_NAME = r"(?:pass(?:word|wort|wd|phrase|code)s?|kennwort|pwd|mot de passe|contraseña|senha|密码|密碼|口令)"
_CELL = regex(rf"(?m)(?:^|[|\t,;])[ \t*_`\"]{{0,6}}(?:[\w.-]{{1,24}} ){{0,2}}{_NAME}[ *_`\"]{{0,6}}(?=[|\t,;\r\n]|$)")
_PLAIN_HEAD = regex(r"[\w .\"-]{1,32}(?:[\t,;][\w .\"-]{1,32}){1,31}")
_AROUND = " \t*_`\"'\r"


def may_have_tables(text: str) -> bool:
    """Return False if `text` has no sign that separates cells."""
    return "|" in text or ("\n" in text and any(each in text for each in "\t,;"))


def in_tables(text: str, lowered: str) -> Iterator[tuple[int, int]]:
    """Yield passwords in the cell behind one that names a password, and in the column below it."""
    for found in _CELL.finditer(lowered):
        first = lowered[found.start()]
        sign = first if first in "|\t,;" else lowered[found.end() : found.end() + 1]
        if sign not in ("|", "\t", ",", ";"):
            continue
        start = lowered.rfind("\n", 0, found.start() + 1) + 1
        end = _line_end(text, start)
        if sign != "|" and not _PLAIN_HEAD.fullmatch(lowered[start:end].strip("\r")):
            continue
        column = lowered.count(sign, start, found.end()) - text.startswith(sign, start)
        head = _cells(text, start, end, sign)
        if sign in "|\t" and column + 1 < len(head):
            yield from _if_password(text, *head[column + 1])
        for _ in range(MAX_ROWS):
            start, end = end + 1, _line_end(text, end + 1)
            row = _cells(text, start, end, sign)
            if len(row) != len(head):
                break
            yield from _if_password(text, *row[column])


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _cells(text: str, start: int, end: int, sign: str) -> list[tuple[int, int]]:
    """(start, end) of the cells of a line, without the signs at its ends."""
    line = text[start:end].rstrip()
    if sign == "|":
        start += line.startswith(sign)
        line = line.removeprefix(sign).removesuffix(sign)
    cells = []
    for part in line.split(sign)[:64]:
        cells.append((start, start + len(part)))
        start += len(part) + 1
    return cells


def _if_password(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    cell = text[start:end]
    value = cell.strip(_AROUND)
    if value and not any(map(str.isspace, value)) and is_password(value, quoted=False):
        start += cell.index(value)
        yield start, start + len(value)


# ---------------------------------------------------------------- sentences with the value before its name

_BESIDE = regex(
    r"passw|passphrase|\bpass\b|\bpwd?\b|kennwort|密码|密碼|口令|log(?:ged)? ?-?in\b|creds\b|credentials|zugang|einlogg"
    r"|登录"
)
_STRONG = regex(
    r"(?<![\w./:@%$=\\<({\[\"'`&#?!*+~-])[A-Za-z0-9][A-Za-z0-9!#$%*?+~_@-]{7,40}(?![\w!#$%*?+~@/=(\[{<:\"'`\\&-])"
)
_SIGN = regex(r"[!#$%*+~]")
"""A word that only a password is: letters of both cases, digits and one of the signs that names do not have."""

_PROSE = regex(r"pass(?:word|wort|phrase|code)|kennwort|密码|密碼|口令")
_BEFORE = regex(
    r"(?:^|(?<=\s))(\S{6,64}) (?:(?:is|was|as|ist|war|als) "
    r"(?:the|our|my|your|his|her|its|their|a|new|das|unser|mein|dein|sein|ihr|neues)|as|als)"
    r"(?: (?!wh|how|that|for|to|and|well)[\w'’.-]{1,24}){0,3}? $"
    r"|(?<=[用以将把])[ ]?([!-~]{6,64}?)[ ]?(?:作为|当作|设为|做|为)$|([!-~]{6,64})[ ]?是$"
)
"""A value, a verb, and up to three words that say which password it is."""
_BEHIND = regex(
    r"[ \t]{0,2}(?:[.,;:!?)。，；！）\n]|$)"
    r"|[ \t](?:for|of|on|to|at|in|and|but|now|again|für|vom|von|zum|des|der|auf|und)\b"
)
_WITH = regex(r"\b(?:with|using|by|mit)(?: [\w-]{1,20}){0,2}? $")
_CHANGING = regex(r"\b(?:änder|setz|stell|wechs|geändert|gesetzt)\w{0,4}\b[^\n.]{0,60}$")
_LOGIN = regex(
    r"(?:\b(?:log(?:ged)? ?-?in|sign(?:ed)? in|credentials|creds|zugang|zugangsdaten|anmeldung|einloggen|wifi|wlan)\b|"
    r"登录|账号|账户|帐号)[^\n/]{0,24}?[ :：][\w.@-]{2,40}( / |/|:)(?=\S)"
)
_USER = regex(
    r"\b(?:user(?:name)?|login|nutzer|benutzer(?:name)?|account)[ :=]{1,3}[\w.@-]{2,40}[ ,/]{1,3}"
    r"(?:(?:pass(?:word|wort)?|pwd?)[ :=]{1,3})?(?=\S)"
)


def before_names(text: str, lowered: str) -> Iterator[tuple[int, int]]:
    """Yield passwords of sentences: "… is the root password", "with password …", "ändere das Passwort auf …"."""
    for name in _PROSE.finditer(lowered):
        window = lowered[max(0, name.start() - BEFORE) : name.start()]
        if _BEHIND.match(lowered, name.end()) and (found := _BEFORE.search(window)):
            group = next(each for each in (1, 2, 3) if found[each])
            start = name.start() - len(window) + found.start(group)
            yield from _if_stated(text, start, found[group], quoted=group > 1)
        elif lowered.startswith(" auf ", name.end()) and _CHANGING.search(window):
            yield from _if_mixed(text, name.end() + 5, shortest=6)
        elif lowered.startswith(" ", name.end()) and _WITH.search(window):
            yield from _if_mixed(text, name.end() + 1, shortest=MIXED_PASSWORD)


def after_logins(text: str, lowered: str) -> Iterator[tuple[int, int]]:
    """Yield passwords behind the name of a user, and a stroke or "pass": "log in with ana / …"; and strong ones beside
    a name."""
    for found in _LOGIN.finditer(lowered):
        for start, end in _if_mixed(text, found.end(), shortest=MIXED_PASSWORD):
            if found[1] == " / " or _is_of_both_cases(text[start:end]):
                yield start, end
    for found in _USER.finditer(lowered):
        for start, end in _if_mixed(text, found.end(), shortest=MIXED_PASSWORD):
            if _is_of_both_cases(text[start:end]) and is_random(text[start:end], RANDOM_CHANGES):
                yield start, end
    searched = 0
    for name in _BESIDE.finditer(lowered):
        start = max(searched, lowered.rfind("\n", searched, name.start()) + 1, name.start() - STRONG_BEFORE)
        end = lowered.find("\n", name.end(), name.end() + STRONG_BEHIND)
        searched = end if end >= 0 else min(len(text), name.end() + STRONG_BEHIND)
        for run in _STRONG.finditer(text, start, searched):
            value = run[0].rstrip("?")
            if _is_of_both_cases(value) and _SIGN.search(value) and is_password(value, quoted=False):
                yield run.start(), run.start() + len(value)
            searched = max(searched, run.end())


def _is_of_both_cases(value: str) -> bool:
    return all(any(map(test, value)) for test in (str.islower, str.isupper, str.isdigit))


def may_have_logins(lowered: str) -> bool:
    """Return False if a text, in small letters, speaks neither of a login nor of a password."""
    return " / " in lowered or any(
        each in lowered
        for each in (
            "pass",
            "pw",
            "user",
            "nutzer",
            "account",
            "login",
            "log in",
            "logged in",
            "cred",
            "kennwort",
            "zugang",
            "密",
            "登录",
            "账",
        )
    )


def _if_stated(text: str, start: int, run: str, *, quoted: bool) -> Iterator[tuple[int, int]]:
    value = run.strip("\"'`“”‘’„「」")
    start += run.index(value)
    original = text[start : start + len(value)]
    quoted = quoted or len(value) < len(run)
    if is_password(original, quoted) or (quoted and is_word(original)):
        yield start, start + len(value)


def _if_mixed(text: str, start: int, *, shortest: int) -> Iterator[tuple[int, int]]:
    start, end, quoted = value_at(text, start)
    value = text[start:end]
    is_mixed = len(value) >= shortest and any(map(str.isdigit, value)) and not value.isdigit()
    if is_mixed and is_password(value, quoted) and not OF_FIELDS.search(value):
        yield start, end


# ---------------------------------------------------------------- numbers to type, codes for one use, seeds

_CODES = regex(
    r"(?:recovery|backup|scratch|rescue|emergency|one-time)[ -]?codes?|"
    r"(?:wiederherstellungs|ersatz|notfall|backup-?)codes?|recovery key|恢复码|恢复代码|备用码|备用代码|备份码"
)
_CODE = regex(r"(?<![\w-])(?:[0-9A-Za-z]{4,10}(?:[- ][0-9A-Za-z]{4,10}){1,7}|[0-9A-Za-z]{8,20})(?![\w-])")
_NUMBERS = regex(
    r"(?<![a-z0-9_])(?:pin|puk)(?:[ -]?(?:code|number|nummer))?(?![a-z0-9_])|"
    r"geheimzahl|pin码|门禁码|门禁密码|取款密码|"
    r"(?:zugangs|zutritts|haustür|tür|tor|alarm|tresor)-?code|"
    r"(?:door|gate|alarm|access|entry|safe|lock|garage)[ -](?:pin|code)|combination|kombination|"
    r"code (?:for|to|of|für|zu|zum|zur|der|des|vom)(?: (?:the|our|my|die|das|der|den|dem))?(?: [\w-]{2,12}){0,1}? "
    r"(?:door|gate|alarm|safe|garage|building|office|tür|haustür|tor|tresor|büro|keller)"
)
_NUMBER = regex(
    r"(?:[ \t](?:for|of|on|to|at|für|der|des|vom|von|zum|zur|am|im|beim|[mdsu]\w{2,4}e[sr])"
    r"(?:[ \t][\w./-]{1,24}){1,3}?)?"
    r"(?:[ \t]?[:：=][ \t]?|[ \t](?:is|was|ist|lautet|war)(?:[ \t](?:now|jetzt|still|nun))?[ \t:]{1,2}|[是为][ ：:]?)"
    r"([0-9]{4,12}|[0-9]{1,2}(?:-[0-9]{1,2}){2,3})(?![\w.,]?[0-9A-Za-z])"
)
_SEEDS = regex(r"2fa|totp|(?<![a-z])otp|mfa|two[- ]factor|authenticator|zwei-faktor|两步验证|双因素")
_SEED = regex(
    r"(?<![A-Za-z0-9+/=_-])"
    r"(?:[A-Z2-7]{16,64}|[A-Z2-7]{4}(?: [A-Z2-7]{4}){3,15}|[a-z2-7]{4}(?: [a-z2-7]{4}){3,15})"
    r"(?![A-Za-z0-9+/=_-])"
)
"""RFC 4648, section 6: the key of one-time passwords in base32, as applications show it, often in groups of four."""

_PHRASES = regex(
    r"(?:seed|recovery|mnemonic|secret|backup)[ -](?:phrase|words)|mnemonic|wiederherstellungs(?:phrase|wörter)|助记词"
)
_PHRASE = regex(
    r"[ \t]{0,3}(?:is|are|ist|lautet|sind|是|为)?[ \t:：\"'`“=]{1,4}([a-z]{3,8}(?:[ ,]{1,2}[a-z]{3,8}){11,23})(?![\w-])"
)
"""BIP 39: twelve to twenty-four words of three to eight letters."""

_OF_CODES = (
    "code", "pin", "puk", "combination", "kombination", "recovery", "2fa", "otp", "mfa", "factor", "faktor",
    "authenticator", "geheimzahl", "phrase", "words", "mnemonic",
)  # fmt: skip
"""In small letters; without one of them none of these names occurs."""


def may_have_codes(text: str, lowered: str) -> bool:
    """Return False if a text has no name of a code, a number to type or a seed."""
    return any(each in lowered for each in _OF_CODES) or (
        not text.isascii() and any(each in text for each in ("码", "助记词", "两步验证", "双因素"))
    )


def behind_codes(text: str, lowered: str) -> Iterator[tuple[int, int]]:
    """Yield numbers to type ("the PIN is …"), recovery codes, seeds of one-time passwords and phrases of wallets."""
    for name in _NUMBERS.finditer(lowered):
        if (found := _NUMBER.match(lowered, name.end())) and is_code(found[1]):
            yield found.span(1)
    for name in _CODES.finditer(lowered):
        for code in _CODE.finditer(text, name.end(), name.end() + CODES_WITHIN):
            if is_recovery_code(code[0]):
                yield code.span()
    for name in _SEEDS.finditer(lowered):
        for seed in _SEED.finditer(text, name.end(), name.end() + BEFORE):
            if is_varied(seed[0].upper()) and any(map(str.isdigit, seed[0])):
                yield seed.span()
    for name in _PHRASES.finditer(lowered):
        if phrase := _PHRASE.match(text, name.end()):
            yield phrase.span(1)
