"""Eighty secrets as people write them, and texts that look like those."""

from __future__ import annotations

import base64
import random
import re
import string
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemond.text.secrets import Secret, find_secrets, kind_in_name, redact
from tests.tables import each_row
from tests.text.secret_attack import attacks
from tests.text.secret_pieces import MIXED

FRAGMENT = 6
"""Characters of a secret that may not remain in the place of one that was cut."""


@pytest.mark.attack
@each_row("seed", range(12))
def test_at_least_76_of_80_are_cut_whole_and_none_stays_whole(seed: int) -> None:
    cut = 0
    for text, secret in attacks(seed):
        left = redact(text).text
        parts = {secret[at : at + FRAGMENT] for at in range(len(secret) - FRAGMENT + 1)}
        cut += not any(part in left for part in parts)
        assert redact(left).text == left
    assert len(attacks(seed)) == 80
    assert cut >= 79


TOLD = Path(__file__).with_name("secrets_told.txt")
"""Texts, one a line (`⏎` is a line break): «…» are the secrets, ‹alphabet:length› what is drawn, ⟦…⟧ becomes base64. A
first look at them found 72 of the first eighty and 36 of the forty after them."""

ALPHABETS = {
    "digits": string.digits, "nonzero": "123456789", "hex": "0123456789abcdef", "letters": string.ascii_letters,
    "base62": string.ascii_letters + string.digits, "capitals": string.ascii_uppercase + string.digits,
    "small": string.ascii_lowercase + string.digits, "url": string.ascii_letters + string.digits + "-_",
    "base64": string.ascii_letters + string.digits + "+/", "azure": string.ascii_letters + string.digits + "~._-",
    "base32": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "bech32": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
}  # fmt: skip


def told(seed: int) -> Iterator[tuple[str, list[str]]]:
    """Every text with its secrets, the bodies drawn from a seed."""
    draw = random.Random(seed)

    def drawn(match: re.Match[str]) -> str:
        return "".join(draw.choice(ALPHABETS[match[1]]) for _ in range(int(match[2])))

    for line in TOLD.read_text("utf-8").splitlines():
        text = re.sub(r"‹(\w+):(\d+)›", drawn, line.replace("⏎", "\n"))
        text = re.sub(r"⟦(.+?)⟧", lambda found: encoded(found[1]), text, flags=re.DOTALL)
        yield re.sub("[«»]", "", text), re.findall("«(.+?)»", text, re.DOTALL)


@pytest.mark.attack
@each_row("seed", range(6))
def test_of_what_people_tell_an_agent_nearly_all_is_cut_whole(seed: int) -> None:
    texts = list(told(seed))
    left = []
    for text, secrets in texts:
        kept = redact(text).text
        parts = {secret[at : at + FRAGMENT] for secret in secrets for at in range(len(secret) - FRAGMENT + 1)}
        if any(part in kept for part in parts):
            left.append((kept, secrets))
    assert len(texts) == 124
    assert len(left) <= 3, left


def encoded(text: str, encoding: str = "utf-8") -> str:
    return base64.b64encode(text.encode(encoding)).decode()


PASSWORD = "kT9wQx3v!Lm2p"


ENVIRONMENT = encoded(f"DB_HOST=database.example.com\nDB_USER=shop\nDB_PASSWORD={PASSWORD}\n")


@each_row(
    ("text", "left"),
    [
        (encoded(f"PASSWORD={PASSWORD}"), ""),
        (f"powershell -enc {encoded(f'$password = {PASSWORD!r}', 'utf-16-le')}", "powershell -enc "),
        (encoded(encoded(f"password: {PASSWORD}")), ""),
        ("\n  ".join(ENVIRONMENT[at : at + 40] for at in range(0, len(ENVIRONMENT), 40)), ""),
        (f"{'A' * 31}\n{encoded(f'PASSWORD={PASSWORD}')}", "A" * 31 + "\n"),
    ],
)
def test_base64_is_read_as_the_text_that_it_encodes(text: str, left: str) -> None:
    assert redact(text).text == f"{left}[REDACTED:password]"


def test_wide_letters_are_cut_where_they_are() -> None:
    text = "我的密码：ｋＴ９ｗＱｘ３ｖ！，别忘了"
    assert find_secrets(text) == (Secret("password", 5, 14),)
    assert redact(text).text == "我的密码：[REDACTED:password]，别忘了"
    assert find_secrets("ＡＰＩ，密码ＡＢＣ。") == ()
    assert len(unicodedata.normalize("NFKC", "\U0001d5f8")) == 1


@each_row(
    ("text", "left"),
    [
        ("Das Passwort lautet Sonnenblume.", "Das Passwort lautet [REDACTED:password]."),
        (
            "Das Passwort des Routers heißt jetzt sonnenblume",
            "Das Passwort des Routers heißt jetzt [REDACTED:password]",
        ),
        ("Das Passwort ist Sonnenblume.", "Das Passwort ist [REDACTED:password]."),
        ("password -> hunter2, for now", "password -> [REDACTED:password], for now"),
        ("admin password – Xk9#mP2$vL", "admin password – [REDACTED:password]"),
        ("wifi密码hunter2，别忘了", "wifi密码[REDACTED:password]，别忘了"),
        ("Passwörter: Sommer2024!", "Passwörter: [REDACTED:password]"),
        (f"Azure OpenAI key: {'9f86d081884c7d659a2feaa0c55ad015'}.", "Azure OpenAI key: [REDACTED:azure_key]."),
        ("passcode 804193, second floor", "passcode [REDACTED:password], second floor"),
        (
            f"The Entra value is abc8Q~{MIXED[:34]}. Rotate it.",
            "The Entra value is [REDACTED:azure_key]. Rotate it.",
        ),
    ],
)
def test_a_secret_in_a_sentence_ends_before_its_full_stop(text: str, left: str) -> None:
    assert redact(text).text == left


@each_row(
    "text",
    [
        "Das Passwort ist falsch.", "Das Passwort ist Pflicht", "Das Passwort ist Vorschrift der Abteilung.",
        "Das Passwort ist abgelaufen.", "密码SHA256加密", "密码base64编码后保存",
        "password - at least twelve characters",
        "user->password->hash1", "Azure moved to 9f86d081884c7d659a2feaa0c55ad015 today",
        "Das Passwort ist mindestens zwölf Zeichen lang.", "Wie lautet das Passwort?",
        "Das Passwort lautet anders als gestern.", "Das Passwort wurde auf der alten Seite geändert.",
        "密码已经改成了新的格式。", "他的密码“忘记了”", "登录密码 由管理员设置", "ＡＰＩ　Ｋｅｙ的格式",
        "第１２３号，密码学。",
        "Twilio sends the codes; commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b fixed it.",
        "Twilio account AC0123456789abcdef0123456789abcdef", "We left Twilio for another provider in 2024.",
        "md5 9f86d081884c7d659a2feaa0c55ad015 of the image", "The age of the key is 58 days.",
        "Azure DevOps runs the pipeline build-release-and-publish-the-documentation-of-everything-again",
        encoded("the quick brown fox jumps over the lazy dog 1234"), encoded("PASSWORD=${PASSWORD}\n"),
        encoded("password: changeme\n"), "https://discord.com/api/webhooks/123/abc",
        "The exit code is 137 and the status code is 5004",
        "GPIO pin 13 is wired to the relay", "pin the version to 2024.10", "The recovery codes are in the safe",
        "The recovery code runs in postgres16", "2FA is required for everyone", "The PIN has at least 4 digits",
        "the seed phrase is written on paper and kept in the safe of the bank in town for now",
        "Das Passwort muss 12-stellig sein", "Passwort ändern: Seite 4", "log in to https://ci.example.com/job/42",
        "the secret santa draw is 2024-12-01", "a combination: 12 of 20", "https://example.com/?code=200&key=name",
        "login with Python3.11 works", "credentials: see page 12/14", "token limit 128000", "key 42 of 1000",
        "passcode 123456",
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    ],
)  # fmt: skip
def test_what_only_looks_like_that_is_left_alone(text: str) -> None:
    assert find_secrets(text) == ()


@each_row(
    ("name", "kind"),
    [
        ("ghp_" + "a8Kd93jfLs02mNq7Rt5Vx1Zb4Cw6Ye3Gh9Jk", "github"),
        ("password-kT9wQx3vLm2p", "password"),
        ("ｐａｓｓｗｏｒｄ＝ｋＴ９ｗＱｘ３ｖ", "password"),
        ("password\u200b=kT9wQx3vLm2p", "password"),
        ("password-manager", None), ("token-rotation-2024", None), ("secret-santa", None), ("passwords_v2", None),
        ("import-2026-01-02", None), ("018f2c3e-7b1a-7c3d-9e4f-5a6b7c8d9e0f", None), ("pw-reset-flow-v2", None),
    ],
)  # fmt: skip
def test_a_name_may_be_a_secret_too(name: str, kind: str | None) -> None:
    assert kind_in_name(name) == kind
