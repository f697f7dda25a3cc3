"""Secrets in a text: found by published formats of tokens, by the names of values, and by the mixture of characters.

A rule is tried only if the text has a string that the rule needs (`Hints`). Patterns start at a fixed string and repeat
one set of characters up to an end that the set does not contain, so the time is linear for any text. The text is in
normal form C already. Full-width and mathematical letters are read as the ASCII that they stand for (NFKC, character by
character, so that places stay); a run of base64 is read as what it encodes, and is a secret if that contains one.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import groupby, islice

import msgspec

from mnemond.text import secret_formats as formats
from mnemond.text.resources import on_first_use, regex
from mnemond.text.secret_formats import TokenFormat, token_formats
from mnemond.text.secret_places import (
    after_logins,
    before_names,
    behind_codes,
    in_cookies,
    in_tables,
    may_have_codes,
    may_have_commands,
    may_have_cookies,
    may_have_logins,
    may_have_tables,
    on_command_lines,
)
from mnemond.text.secret_values import (
    RANDOM_CHANGES,
    assigned,
    decoded,
    is_basic,
    is_bearer,
    is_hexadecimal,
    is_high_entropy,
    is_placeholder,
    is_random,
    is_varied,
    names_secret,
)

SHORTEST_TOKEN = 17
"""Characters without a space of the shortest token that a published format describes."""

LONG_RUN = 20
"""Characters of the shortest run that is random enough to be a secret beside a name alone."""

SURE_RUN = 32
"""Characters from which a run beside a name need not be more random than a name in CamelCase with a number."""

BESIDE = 48
"""Characters before a long run in which the word key, token, secret or password makes it a secret."""

BESIDE_AFTER = 20
"""The same after it."""

NEAR_ACCESS_KEY = 160
"""Characters between an AWS access key and the secret key that belongs to it."""

MAX_ACCESS_KEYS = 16
"""Access keys of a text that are searched around for a secret key without a name."""

MIN_DIGITS = 3
"""Digits of a token of Azure DevOps: of 52 characters of base32 drawn at random ten are."""

NEAR_TWILIO = 160
"""Characters between the name or an account of Twilio and the token that belongs to it."""

MAX_TWILIO = 16
"""Places of that kind that are searched around."""

_MARK = "[REDACTED:"

_INVISIBLE = regex(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff]++"
)
"""Runs of characters that do not show. Web pages and chat programs put some into a long word to let it break; they are
copied with the word and hide it from every rule."""


_WIDE = regex("[\uff01-\uff5e\U0001d400-\U0001d7ff]+")
"""Full-width ASCII, and letters and digits of mathematical typefaces. Each stands for one character (NFKC)."""


class Secret(msgspec.Struct, frozen=True):
    """One secret: `text[start:end]`."""

    kind: str
    start: int
    end: int


class Redacted(msgspec.Struct, frozen=True):
    """A text without its secrets, and their kinds in order, each once."""

    text: str
    kinds: tuple[str, ...]


def find_secrets(text: str) -> tuple[Secret, ...]:
    """Return every secret of `text`, in order, none overlapping another. Linear time.

    If a name and a format both match a value, the format gives the kind. Not found: secrets that a line break cuts, and
    passwords of words that only the meaning of the sentence tells from other words.
    """
    found = _search(text)
    if not text.isascii() and (plain := _WIDE.sub(_as_ascii, text)) != text:
        found = _without_overlaps([*found, *_search(plain)])
    return found


def _search(text: str) -> tuple[Secret, ...]:
    lowered = _lowered(text)
    hinted = hints(text, lowered)
    return _find(text, lowered, hinted) if hinted is not None else ()


def _lowered(text: str) -> str:
    """Return a text in small letters, each in its place: the one letter that grows is replaced first."""
    return (text if text.isascii() else text.replace("İ", "I")).lower()


def _as_ascii(run: re.Match[str]) -> str:
    """Return what a run of wide characters stands for; one of punctuation alone, as in Chinese, is left as it is."""
    if not any(map(str.isalnum, run[0])):
        return run[0]
    plain = unicodedata.normalize("NFKC", run[0])
    return plain if len(plain) == len(run[0]) else run[0]


def redact(text: str) -> Redacted:
    """Replace every secret of `text` by `[REDACTED:<kind>]`; `find_secrets` of the result is empty.

    Invisible characters beside an ASCII character are removed only if a secret is found without them.
    """
    return _cut(text)[0]


def _cut(text: str) -> tuple[Redacted, dict[str, str]]:
    """Return a text without its secrets, and each of these with its kind."""
    kinds: dict[str, None] = {}
    secrets: dict[str, str] = {}
    if not text.isascii() and (joined := _INVISIBLE.sub(_unless_beside_ascii, text)) != text and find_secrets(joined):
        text = joined
    while found := find_secrets(text):
        pieces: list[str] = []
        end = 0
        for secret in found:
            pieces += (text[end : secret.start], _MARK, secret.kind, "]")
            end = secret.end
            kinds[secret.kind] = None
            secrets[text[secret.start : secret.end]] = secret.kind
        text = "".join((*pieces, text[end:]))
    return Redacted(text, tuple(kinds)), secrets


SHORTEST_KEY = 8
"""Characters of a secret that is looked for in the texts beside its own, if it is no word: a password of letters alone
may be one."""


def redact_together(texts: Iterable[str]) -> tuple[list[str], tuple[str, ...]]:
    """Redact the texts of one request, and return the kinds of their secrets. What is a secret in one of them is cut
    out of all, also where nothing beside it tells what it is: a name that was taken out of a sentence, an answer."""
    found = [_cut(text) for text in texts]
    kinds = tuple(dict.fromkeys(kind for each, _ in found for kind in each.kinds))
    marks = {key: f"{_MARK}{kind}]" for _, cut in found for key, kind in cut.items()}
    keys = [each for each in marks if len(each) >= SHORTEST_KEY and not each.isalpha()]
    redacted = [each.text for each, _ in found]
    for key in sorted(keys, key=len, reverse=True):
        redacted = [text.replace(key, marks[key]) for text in redacted]
    return redacted, kinds


def is_mark(text: str) -> bool:
    """Return True if nothing but the mark of a secret is left of a text."""
    return text.startswith(_MARK) and text.find("]") == len(text) - 1


def kind_in_name(name: str) -> str | None:
    """Return the kind of the first secret in a name, or None; hyphens and underscores may separate its words."""
    kinds = redact(name).kinds or redact(name.translate(_SPACED)).kinds
    return kinds[0] if kinds else None


_SPACED = str.maketrans("-_", "  ")


def _unless_beside_ascii(run: re.Match[str]) -> str:
    """Looks around each run once; a pattern that looks ahead would try every character of it."""
    text, (start, end) = run.string, run.span()
    return "" if " " <= text[start - 1 : start] <= "~" or " " <= text[end : end + 1] <= "~" else run[0]


# ---------------------------------------------------------------- hints: which rules are worth trying


class Hints(msgspec.Struct, frozen=True):
    """Token formats in the order of their table, and a flag for each rule.

    A hint may be wrong, a missing one may not: all rules together find nothing that the hinted rules do not find.
    """

    tokens: tuple[TokenFormat, ...] = ()
    web_tokens: bool = False
    bots: bool = False
    azure: bool = False
    beside_azure: bool = False
    twilio: bool = False
    encoded: bool = False
    aws: bool = False
    long_runs: bool = False
    names: bool = False
    private_keys: bool = False
    authorizations: bool = False
    urls: bool = False
    parameters: bool = False
    commands: bool = False
    cookies: bool = False
    logins: bool = False
    tables: bool = False
    codes: bool = False


def hints(text: str, lowered: str) -> Hints | None:
    """The rules to try on `text`, None if none, as for most texts. `lowered`: the text in lower case."""
    mixed = _mixed_chunks(text)
    names = names_secret(text, lowered)
    authorizations = "bearer" in lowered or "basic" in lowered
    urls = "@" in text and "://" in text
    commands = may_have_commands(text)
    cookies, logins, codes = may_have_cookies(lowered), may_have_logins(lowered), may_have_codes(text, lowered)
    if not (mixed or names or authorizations or urls or commands or cookies or logins or codes):
        return None
    long = " ".join(mixed)
    long_runs = len(long) >= LONG_RUN and any(len(chunk) >= LONG_RUN for chunk in mixed)
    return Hints(
        tokens=_formats_in(long) if long else (),
        web_tokens=_any_in(formats.JWT_TRIGGERS, long),
        bots=":" in long or "." in long,
        azure=_any_in(formats.AZURE_TRIGGERS, long),
        beside_azure=len(long) >= LONG_RUN and any(word in lowered for word in formats.AZURE_WORDS),
        twilio=len(long) >= LONG_RUN and formats.TWILIO_MARK.search(lowered) is not None,
        encoded=bool(long),
        aws=long_runs and "secret" in lowered,
        long_runs=long_runs and names,
        names=names,
        private_keys=names and "private key" in lowered,
        authorizations=authorizations,
        urls=urls,
        parameters="=" in long and ("?" in long or "&" in long),
        commands=commands,
        cookies=cookies,
        logins=logins,
        tables=names and may_have_tables(text),
        codes=codes,
    )


_NO_TOKEN = regex(r"[^!-~]+")
_DIGIT = regex(r"[0-9]")


def _mixed_chunks(text: str) -> list[str]:
    """Runs without spaces that are as long as a token and have a digit or a capital, as every random run has."""
    chunks = text.split() if text.isascii() else _NO_TOKEN.split(text)
    return [chunk for chunk in chunks if len(chunk) >= SHORTEST_TOKEN and (not chunk.islower() or _DIGIT.search(chunk))]


def _formats_in(long: str) -> tuple[TokenFormat, ...]:
    places = {
        place
        for mark, triggers in _triggers_by_mark()
        if mark in long
        for trigger, place in triggers
        if trigger in long
    }
    return tuple([token_formats()[place] for place in sorted(places)]) if places else ()


def _any_in(triggers: tuple[str, ...], long: str) -> bool:
    return bool(long) and any(trigger in long for trigger in triggers)


@on_first_use
def _triggers_by_mark() -> tuple[tuple[str, tuple[tuple[str, int], ...]], ...]:
    """Triggers with the place of their format, grouped by a mark that they contain; "" for those of letters alone.

    A text without underscores is not searched for the fifty triggers that contain one.
    """
    rows = sorted(
        (next((mark for mark in "_-.~" if mark in trigger), ""), trigger, place)
        for place, form in enumerate(token_formats())
        for trigger in form.triggers
    )
    return tuple(
        (mark, tuple((trigger, place) for _, trigger, place in group))
        for mark, group in groupby(rows, key=lambda row: row[0])
    )


# ---------------------------------------------------------------- rules


def _find(text: str, lowered: str, hinted: Hints) -> tuple[Secret, ...]:
    """The secrets that the hinted rules find."""
    found = [*_of_known_format(text, hinted), *_of_place(text, lowered, hinted)]
    if hinted.names or hinted.authorizations:
        covered = bytearray(len(text))
        for rule in (_authorizations, _assigned, _beside_names):
            for secret in found:
                covered[secret.start : secret.end] = b"\x01" * (secret.end - secret.start)
            found += list(rule(text, lowered, covered, hinted))
    return _without_overlaps(found) if found else ()


def _without_overlaps(found: list[Secret]) -> tuple[Secret, ...]:
    """Sorted; of two that overlap, the one found first keeps its kind and is extended by the other."""
    merged: list[tuple[int, Secret]] = []
    for rank, secret in sorted(enumerate(found), key=lambda pair: pair[1].start):
        if merged and secret.start < merged[-1][1].end:
            before, last = merged[-1]
            first = last if before < rank else secret
            merged[-1] = (min(before, rank), Secret(first.kind, last.start, max(last.end, secret.end)))
        else:
            merged.append((rank, secret))
    return tuple(secret for _, secret in merged)


def _of_known_format(text: str, hinted: Hints) -> Iterator[Secret]:
    tokens = list(_tokens(text, hinted))
    yield from tokens
    if hinted.web_tokens:
        yield from _json_web_tokens(text)
    if hinted.bots:
        yield from _bots(text)
    if hinted.azure:
        yield from _azure(text)
    if hinted.beside_azure:
        yield from _beside_azure(text)
    if hinted.twilio:
        yield from _twilio(text)
    if hinted.aws:
        yield from _named_aws_secret_keys(text)
    yield from _aws_secret_keys_beside(text, [token for token in tokens if token.kind == "aws_access_key"])
    if hinted.private_keys:
        yield from _private_keys(text)
    if hinted.urls:
        yield from _url_passwords(text)
    if hinted.parameters:
        yield from _parameters(text)
    if hinted.encoded:
        yield from _encoded(text)


def _of_place(text: str, lowered: str, hinted: Hints) -> Iterator[Secret]:
    if hinted.commands:
        yield from (Secret("password", *span) for span in on_command_lines(text))
    if hinted.cookies:
        yield from (Secret("secret", *span) for span in in_cookies(text, lowered))
    if hinted.tables:
        yield from (Secret("password", *span) for span in in_tables(text, lowered))
    if hinted.names:
        yield from (Secret("password", *span) for span in before_names(text, lowered))
    if hinted.logins:
        yield from (Secret("password", *span) for span in after_logins(text, lowered))
    if hinted.codes:
        yield from (Secret("password", *span) for span in behind_codes(text, lowered))


def _tokens(text: str, hinted: Hints) -> Iterator[Secret]:
    for form in hinted.tokens:
        for found in form.pattern.finditer(text):
            if is_varied(found[1]) and (not form.random or is_random(found[1])):
                yield Secret(form.kind, found.start(), found.end())


_BASE64 = regex(r"[A-Za-z0-9+/]{24}", re.ASCII)


def _private_keys(text: str) -> Iterator[Secret]:
    for header in formats.PEM_BEGIN.finditer(text):
        after = text.find("-----BEGIN", header.end())
        footer = formats.PEM_END.search(text, header.end(), len(text) if after < 0 else after)
        if footer and _BASE64.search(text, header.end(), footer.start()):
            yield Secret("private_key", header.start(), footer.end())
        elif not footer and (cut := formats.PEM_CUT.match(text, header.end())):
            yield Secret("private_key", header.start(), cut.end())


def _json_web_tokens(text: str) -> Iterator[Secret]:
    for found in formats.JWT.finditer(text):
        header = decoded(found[0].partition(".")[0])
        if header.startswith(b"{") and header.rstrip().endswith(b"}") and b'"alg"' in header:
            yield Secret("jwt", found.start(), found.end())


def _bots(text: str) -> Iterator[Secret]:
    for found in formats.TELEGRAM.finditer(text):
        start = max(0, found.start() - 11)
        start += len(text[start : found.start()].rstrip("0123456789"))
        if found.start() - start <= 10 and is_varied(found[0][1:]) and is_random(found[0]):
            yield Secret("telegram", start, found.end())
    for found in formats.DISCORD.finditer(text):
        start = max(0, found.start() - 30)
        start += len(text[start : found.start()].rstrip(formats.BASE64_URL))
        if decoded(text[start : found.start()]).isdigit() and is_varied(found[0]):
            yield Secret("discord", start, found.end())


def _azure(text: str) -> Iterator[Secret]:
    for found in formats.AZURE_ASSIGNED.finditer(text):
        group = 1 if found[1] else 2
        if is_varied(found[group]):
            yield Secret("azure_key", *found.span(group))


def _beside_azure(text: str) -> Iterator[Secret]:
    for found in formats.AZURE_DEVOPS.finditer(text):
        if is_varied(found[0]) and sum(map(str.isdigit, found[0])) >= MIN_DIGITS:
            yield Secret("azure_key", *found.span())
    for found in formats.AZURE_ALONE.finditer(text):
        group = 1 if found[1] else 0
        if is_varied(found[group]):
            yield Secret("azure_key", *found.span(group))


def _twilio(text: str) -> Iterator[Secret]:
    marks = formats.TWILIO_MARK.finditer(_lowered(text))
    for mark in islice(marks, MAX_TWILIO):
        window = max(0, mark.start() - NEAR_TWILIO), mark.end() + NEAR_TWILIO
        for found in formats.TWILIO_TOKEN.finditer(text, *window):
            if is_varied(found[0]) and is_hexadecimal(found[0]):
                yield Secret("twilio", *found.span())


def _encoded(text: str) -> Iterator[Secret]:
    """Yield the runs of base64 that encode a text with a secret in it: whole blocks, else single lines of them."""
    for block in formats.ENCODED.finditer(text):
        if kind := _kind_inside(block[0]):
            yield Secret(kind, *block.span())
        elif "\n" in block[0]:
            for line in formats.ENCODED_LINE.finditer(text, *block.span()):
                if kind := _kind_inside(line[0]):
                    yield Secret(kind, *line.span())


def _kind_inside(run: str) -> str | None:
    """Return the kind of the first secret in the text that a run of base64 encodes; None if there is no such text."""
    packed = "".join(run.split()).rstrip("=").translate(_STANDARD)
    try:
        raw = base64.b64decode(packed + "=" * (-len(packed) % 4))
        plain = raw.decode("utf-16-le" if raw[1:2] == b"\0" else "utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None
    if not all(letter.isprintable() or letter in "\t\r\n" for letter in plain):
        return None
    found = find_secrets(plain)
    return found[0].kind if found else None


_STANDARD = str.maketrans("-_", "+/")


def _named_aws_secret_keys(text: str) -> Iterator[Secret]:
    for found in formats.AWS_NAMED.finditer(text):
        if is_varied(found[1]) and is_random(found[1]):
            yield Secret("aws_secret_key", *found.span(1))


def _aws_secret_keys_beside(text: str, keys: list[Secret]) -> Iterator[Secret]:
    for key in keys[:MAX_ACCESS_KEYS]:
        window = max(0, key.start - NEAR_ACCESS_KEY), key.end + NEAR_ACCESS_KEY
        for alone in formats.AWS_ALONE.finditer(text, *window):
            if is_varied(alone[0]) and is_random(alone[0]) and not is_hexadecimal(alone[0]):
                yield Secret("aws_secret_key", *alone.span())


def _url_passwords(text: str) -> Iterator[Secret]:
    for found in formats.USER_INFORMATION.finditer(text):
        if len(found[2]) >= 3 and not is_placeholder(found[2]) and found[2] not in formats.NO_PASSWORDS:
            yield Secret("url_password", *found.span(2))
            if is_varied(found[1]) and is_bearer(found[1]):  # a pair of keys
                yield Secret("url_password", *found.span(1))
    for found in formats.USER_TOKEN.finditer(text):
        if is_varied(found[1]) and is_random(found[1]) and (found[2] or not is_hexadecimal(found[1])):
            yield Secret("url_password", *found.span(1))


def _parameters(text: str) -> Iterator[Secret]:
    for found in formats.PARAMETER.finditer(text):
        if is_high_entropy(found[1]) or (is_hexadecimal(found[1]) and text[found.start() + 1 :].startswith("key=")):
            yield Secret("secret", *found.span(1))


def _authorizations(text: str, lowered: str, covered: bytearray, hinted: Hints) -> Iterator[Secret]:
    if hinted.authorizations:
        for found in formats.AUTHORIZATION.finditer(text):
            value = found[1].rstrip(".")
            is_one = is_basic(value) if found[0][:5].lower() == "basic" else is_bearer(value)
            if is_one and not covered[found.start(1)]:
                yield Secret("bearer", found.start(1), found.start(1) + len(value))


def _assigned(text: str, lowered: str, covered: bytearray, hinted: Hints) -> Iterator[Secret]:
    if hinted.names:
        for kind, start, end in assigned(text, lowered):
            known = covered.count(1, start, end)
            if not known or end - start - known > max(4, known // 4):  # the rest of it may be a secret itself
                yield Secret(kind, start, end)


_LONG_RUN = regex(
    rf"(?:(?<![A-Za-z0-9+/_=-])|(?<=[A-Za-z_]=))[A-Za-z0-9+/_-]{{{LONG_RUN},}}={{0,2}}(?![A-Za-z0-9])", re.ASCII
)
_NAME = regex(r"(?i:key|token|secret|passw|credential)|密码|密钥|令牌|口令|凭证", re.ASCII)


def _beside_names(text: str, lowered: str, covered: bytearray, hinted: Hints) -> Iterator[Secret]:
    if hinted.long_runs:
        for found in _LONG_RUN.finditer(text):
            run = found[0]
            is_sure = len(run) >= SURE_RUN or is_random(run, RANDOM_CHANGES)
            if is_sure and is_high_entropy(run) and not covered[found.start()] and _has_name_beside(text, found):
                yield Secret("high_entropy", *found.span())


def _has_name_beside(text: str, found: re.Match[str]) -> bool:
    before = text[max(0, found.start() - BESIDE) : found.start()].rpartition("\n")[2].rpartition("]")[2]
    after = text[found.end() : found.end() + BESIDE_AFTER].partition("\n")[0].partition("[")[0]
    return _NAME.search(before) is not None or _NAME.search(after) is not None
