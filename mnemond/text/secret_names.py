"""Values that stand under the name of a secret: `password=…`, `"api_key": "…"`, `--token …`, `密码是…`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

from mnemond.text.secret_values import is_password, is_secret, is_strong_password

TRIGGERS = ("pass", "pwd", "secret", "token", "key", "credential", "pw")
CHINESE_TRIGGERS = ("密码", "口令", "密碼", "密钥", "金鑰", "秘钥", "令牌", "凭证")
"""A text in lower case without any of them names no secret."""

LONGEST_VALUE = 256
"""Characters by which a value is judged; a longer one is followed to its end once it is a secret."""

_CHOSEN = r"pass(?:word|wd|phrase|code|wort)|pwd|pass(?<![a-z]pass)|pw(?<![a-z]pw)|密码|口令|密碼"
_ISSUED = (
    r"secret|token|(?:api|access|auth|private|encryption|signing|master|account|service|session)[_ -]?key|credential|"
    r"密钥|金鑰|秘钥|令牌|凭证"
)
_TAIL = (
    r"(?:[_ -]?(?:access|key|token|secret|value|base|prod|production|dev|live|test|staging)(?![a-z])|"
    r"[_-]?[0-9]{1,2}(?![a-z0-9])){0,3}"
)
_ANNOTATION = r":[ \t]?[a-z][\w.\[\]|]{0,30}[ \t]?=(?=[ \t]?[bru]?[\"'`])"
_SAID = (
    r"[ \t]{1,2}(?:is|was|are|to|as|set to|is set to|changed to|is now)[ \t:]{1,3}|"
    r"(?:是|为|為|设为|設為|改为|改成|设置为|就是)[ \t:：]{0,2}"
)
_SEPARATOR = (
    rf"\\?[\"'`\])}}”’」*]{{0,3}}[ \t]{{0,8}}(?:{_ANNOTATION}|:=|=>|={{1,2}}|[:：＝]|>|\()[ \t]{{0,8}}(?:\*\*[ \t])?|"
    rf"{_SAID}"
)
_OF = r"(?:[ \t](?:for|of|on|in|at)(?:[ \t][\w.@/-]{1,30}){1,3}?|[ \t]?[(（][^()（）\n]{1,30}[)）])?"
_BARE = r"[ \t]{1,2}(?=[^ \t-])|(?<=[码令碼])(?=[!-~])"
_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "「": "」"}
_OPENING = {")": "(", "]": "[", "}": "{"}
_COMMAND = re.compile(r"(?:(?<=\s)-u|--user)[ =]?[\"']?[A-Za-z0-9_.@-]{1,64}:|\bsshpass -p ?")
_OPEN = re.compile(r"[bBrRuU]{0,2}\\?([\"'`“‘「])")
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
    return not text.isascii() and any(trigger in text for trigger in CHINESE_TRIGGERS)


def assigned(text: str, lowered: str) -> Iterator[tuple[str, int, int]]:
    """(`password` or `secret`, start, end) of every value under such a name, in order.

    `lowered`: the text in lower case, character by character.
    """
    place = 0
    while name := _names().search(lowered, place):
        place = name.end()
        judge = _judge(name, lowered)
        if judge is None:
            continue
        start, end, quoted = _value(text, name.end(), name["is"] or "")
        if judge(text[start:end], quoted):
            if end - start >= LONGEST_VALUE:
                end = _end_of_run(text, end)
            yield ("password" if name["chosen"] else "secret"), start, end
            place = end


def on_command_lines(text: str) -> Iterator[tuple[str, int, int]]:
    """(`password`, start, end) of what follows a user and a colon after `-u`, and of `sshpass -p`."""
    if "-u" in text or "sshpass" in text:
        for found in _COMMAND.finditer(text):
            start, end, quoted = _value(text, found.end(), "")
            if is_password(text[start:end], quoted):
                yield "password", start, end


def _judge(name: re.Match[str], lowered: str) -> Callable[[str, bool], bool] | None:
    """What a value must be after `name`; None where no value follows."""
    if name["is"] is None and (name["bare"] is None or not _is_option(lowered, name.start())):
        is_verb = name["chosen"] == "pass"
        return is_strong_password if name["bare"] is not None and name["chosen"] and not is_verb else None
    return is_password if name["chosen"] else is_secret


@cache
def _names() -> re.Pattern[str]:
    """A name, and what stands between it and the value; earlier redactions are passed over as a whole."""
    return re.compile(
        rf"\[redacted:\w{{1,24}}\]|"
        rf"(?:(?P<chosen>{_CHOSEN})|{_ISSUED}){_TAIL}(?:(?<=[码令碼])|(?![a-z_]))(?:{_OF}(?P<is>{_SEPARATOR})|(?P<bare>{_BARE}))?"
    )


def _is_option(text: str, place: int) -> bool:
    """Whether the word at `place` belongs to an option of a command line: `--db-password`."""
    return _OPTION.search(text, max(0, place - 30), place) is not None


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
