"""Eighty secrets as people write them, and texts that look like those."""

from __future__ import annotations

import base64
import unicodedata

import pytest

from mnemond.text.secrets import Secret, find_secrets, kind_in_name, redact
from tests.text.secret_attack import attacks
from tests.text.secret_pieces import MIXED

FRAGMENT = 6
"""Characters of a secret that may not remain in the place of one that was cut."""


@pytest.mark.attack
@pytest.mark.parametrize("seed", range(12))
def test_at_least_76_of_80_are_cut_whole_and_none_stays_whole(seed: int) -> None:
    cut = 0
    for text, secret in attacks(seed):
        left = redact(text).text
        parts = {secret[at : at + FRAGMENT] for at in range(len(secret) - FRAGMENT + 1)}
        cut += not any(part in left for part in parts)
        assert redact(left).text == left
    assert len(attacks(seed)) == 80
    assert cut >= 79


def encoded(text: str, encoding: str = "utf-8") -> str:
    return base64.b64encode(text.encode(encoding)).decode()


PASSWORD = "kT9wQx3v!Lm2p"


ENVIRONMENT = encoded(f"DB_HOST=database.example.com\nDB_USER=shop\nDB_PASSWORD={PASSWORD}\n")


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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
        encoded("password: changeme\n"), "https://discord.com/api/webhooks/123/abc", "passcode 123456",
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    ],
)  # fmt: skip
def test_what_only_looks_like_that_is_left_alone(text: str) -> None:
    assert find_secrets(text) == ()


@pytest.mark.parametrize(
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
