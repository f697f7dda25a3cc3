"""Values that stand under the name of a secret: `password=…`, `"api_key": "…"`, `--token …`, `密码是…`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

from mnemond.text.secret_values import is_password, is_secret, is_strong_password
from mnemond.text.secret_words import is_word, is_words, says_so

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
_STARTS = re.compile(
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
_SAID = (
    r"[ \t]{1,2}(?:(?:(?:is|was|has been)[ \t])?(?:re)?(?:set|changed) to|is now|is|was|are|to|as)[ \t:]{1,3}|"
    r"(?:设为|設為|改为|改成|设置为|就是|是|为|為)[ \t:：]{0,2}"
)
_CLOSING = r"(?:</[a-z][a-z0-9]{0,9}>)"
_MARKED_UP = rf"{_CLOSING}[ \t]{{0,8}}(?:[:：]|<[a-z][a-z0-9]{{0,9}}>)"
"""`<b>Password</b>: …`, `<td>Password</td><td>…`."""

_SEPARATOR = (
    rf"\\?[\"'`\])}}”’」*]{{0,3}}{_SPACE}{{0,8}}"
    rf"(?:{_ANNOTATION}|:=|=>|\?=|<-|={{1,2}}|[:：＝]|{_MARKED_UP}|>|\(){_CLOSING}?(?:<!\[cdata\[)?"
    rf"{_SPACE}{{0,8}}(?:\*\*[ \t])?|{_SAID}"
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
_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "「": "」"}
_OPENING = {")": "(", "]": "[", "}": "{"}
_COMMAND = re.compile(
    r"(?:(?<=\s)-u|--user)[ =]?[\"']?[A-Za-z0-9_.@-]{1,64}:|\bsshpass -p ?|"
    r"\b(?:mysql(?:dump|admin|import)?|mariadb)\b[^\n|;&]{0,120}?\s-p(?=\S)|\baz login\b[^\n|;&]{0,120}?\s-p "
)
PROGRAMS = ("sshpass", "mysql", "mariadb", "az login")
"""Commands whose `-p` takes a password."""
_PAIR = re.compile(
    r"[;?&][a-z_.-]{0,20}$|(?:^|\s)[a-z_]{2,20}=[\w./:@-]{1,30} $|(?:^|\s)[a-z][\w-]{1,20}\.[\w-]{1,30}\.$"
)
_STRONG = re.compile(r"[^\s0-9]{0,256}[0-9]|[bru]{0,2}\\?[\"'`“‘「]")
"""What follows a name without a sign, if it is a strong password: a digit before the next space, or a quotation."""

_OPEN = re.compile(r"[bBrRuU]{0,2}\\?(?:(?:\"\"(?=\"))|(?:''(?=')))?([\"'`“‘「])")
_OPTION = re.compile(r"(?:^|[\s\"'`])--?[a-z0-9-]{0,24}$")
_UNQUOTED = re.compile(rf"[!#-&(-_a-~\u00c0-\u024f]{{1,{LONGEST_VALUE}}}")
_REST = re.compile(r"[A-Za-z0-9+/=_.~%-]+")
_END = re.compile(
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
        if name := _names().match(lowered, start.start()):
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


@cache
def _names() -> re.Pattern[str]:
    """A name, and what stands between it and the value; earlier redactions are passed over as a whole."""
    return re.compile(
        rf"\[redacted:\w{{1,24}}\]|"
        rf"(?:(?P<chosen>{_CHOSEN})|{_ISSUED}){_TAIL}(?:(?<=[码令碼])|(?![a-z_]))(?:{_OF}(?P<is>{_SEPARATOR})|(?P<apart>{_APART})|(?P<bare>{_BARE}))?"
    )


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
