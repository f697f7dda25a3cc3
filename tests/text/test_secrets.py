"""Secrets: formats, names, places; what only looks like one; redaction. Every fixture is put together from pieces."""

from __future__ import annotations

import base64
import random
from itertools import pairwise

import pytest
from hypothesis import given

from benchmarks.secret_carriers import lookalikes, sample
from benchmarks.secret_samples import MAKERS
from mnemond.text.secret_formats import token_formats
from mnemond.text.secret_values import (
    decoded,
    is_basic,
    is_bearer,
    is_hexadecimal,
    is_password,
    is_random,
    is_secret,
)
from mnemond.text.secrets import Redacted, Secret, find_secrets, redact, redact_together
from tests.tables import each_row
from tests.text.secret_pieces import FOOTER, HEADER, HOSTILE_TEXTS, LINE, MIXED


def only(text: str) -> tuple[str, str]:
    """Kind and value of the one secret in `text`."""
    (secret,) = find_secrets(text)
    return secret.kind, text[secret.start : secret.end]


@each_row("kind", sorted(MAKERS))
def test_every_kind_is_found_in_every_carrier(kind: str) -> None:
    chance = random.Random(f"tests {kind}")
    found = 0
    for number in range(140):
        text, start, end = sample(kind, number, chance)
        found += any(secret.start <= start + 1 and end - 1 <= secret.end for secret in find_secrets(text))
        assert find_secrets(redact(text).text) == ()
    assert found >= 138


def test_every_format_has_a_generator_and_a_source() -> None:
    assert {form.kind for form in token_formats()} <= set(MAKERS)
    assert all(form.source and form.triggers for form in token_formats())


def test_what_only_looks_like_a_secret_is_left_alone() -> None:
    chance = random.Random("tests")
    for line in (line for _ in range(20) for line in lookalikes(chance)):
        assert find_secrets(line) == (), line


@each_row(
    ("text", "kind", "value"),
    [
        ("postgres://bob:" + "Xy7!kq@db:5432/x", "url_password", "Xy7!kq"),
        ("redis://:" + "p@ss9@cache/0", "url_password", "p@ss9"),
        (f"Authorization: Bearer {MIXED[:24]}.", "bearer", MIXED[:24]),
        ("Authorization: Basic " + "Ym9iOnd" + "pbnRlcjk0", "bearer", "Ym9iOnd" + "pbnRlcjk0"),
        ("DB_PASSWORD=" + "winter94!", "password", "winter94!"),
        ('password: str = "' + 'winter94"', "password", "winter94"),
        ('{\\"password\\": \\"' + 'winter94\\"}', "password", "winter94"),
        ("**Password:** " + "winter94", "password", "winter94"),
        ("<password>" + "winter94</password>", "password", "winter94"),
        ("curl --password " + "winter94 http://x", "password", "winter94"),
        ("f(user=u, password=" + "Winter94#)", "password", "Winter94#"),
        ("?password=" + "winter94&page=2", "password", "winter94"),
        ("the password is " + "winter94.", "password", "winter94"),
        ("密码是" + "winter94，请保密", "password", "winter94"),
        ("密码：「" + "winter94」", "password", "winter94"),
        ("口令改为 " + "winter94。", "password", "winter94"),
        ("password " + "Zk8!mQ2p", "password", "Zk8!mQ2p"),
        ("root password '" + "Zk8!mQ2p'", "password", "Zk8!mQ2p"),
        ("password for the db is " + "winter94", "password", "winter94"),
        ("Password (staging): " + "winter94", "password", "winter94"),
        ("密码" + "Zk8mQ2pq，", "password", "Zk8mQ2pq"),
        ("curl -u bob:" + "winter94 https://x", "password", "winter94"),
        ("curl --user 'bob:" + "winter94' https://x", "password", "winter94"),
        ("sshpass -p " + "winter94 ssh a@b", "password", "winter94"),
        ("passpassword=" + "winter94", "password", "winter94"),
        ("password = " + "84610275", "password", "84610275"),
        ("password = " + "cobalt-ember-lantern-orchid", "password", "cobalt-ember-lantern-orchid"),
        ("password = " + "so!mmer+nacht", "password", "so!mmer+nacht"),
        ("API_KEY='" + MIXED[:24] + "'", "secret", MIXED[:24]),
        ("client.token(b'" + MIXED[:24] + "')", "secret", MIXED[:24]),
        ("token: " + "9f86d081884c7d659a2f", "secret", "9f86d081884c7d659a2f"),
        ("token = " + "550e8400-e29b-41d4-a716-446655440000", "secret", "550e8400-e29b-41d4-a716-446655440000"),
        (f"secret_key = {MIXED}", "aws_secret_key", MIXED),
        (f"the key for mail: got {MIXED}", "high_entropy", MIXED),
        (f"{MIXED} is our token", "high_entropy", MIXED),
        (f"line\\n{'gh' + 'p_'}{MIXED[:36]}", "github", f"{'gh' + 'p_'}{MIXED[:36]}"),
        (f"?t%3D{'gl' + 'pat-'}{MIXED[:20]}&x", "gitlab", f"{'gl' + 'pat-'}{MIXED[:20]}"),
    ],
)
def test_the_secret_is_found_from_its_first_to_its_last_character(text: str, kind: str, value: str) -> None:
    assert only(text) == (kind, value)


@each_row(
    "text",
    [
        "password=<password>",
        "password: ***",
        "password=$PASSWORD",
        "token: ${TOKEN}",
        "token: ${{ secrets.TOKEN }}",
        "password = os.environ['DB_PASS1']",
        "password = get_password(user1)",
        "password=%(password)s",
        "password: changeme",
        "password: str | None = None",
        "token: Token2 = tokens[0]",
        "password = self.password2",
        "api_key=YOUR_API_KEY_1234",
        "password: required",
        "password winter94",
        "password: db1-secret.yaml",
        "simply pass v8::Isolate2x(a)",
        "the password of 2 users",
        "docker run -u 1000:1000 x",
        "password 20260101",
        "123456789012:" + MIXED[:35],
        "123456789:" + "a" * 35,
        "x" * 24 + ".abcdef." + MIXED[:30],
        "AccountKey=" + "A" * 60,
        "secret_key " + "a" * 40,
        "secret_key " + "A" * 40,
        "the password is wrong!",
        "passwords: 1000000",
        "password_file: /run/db1",
        "token_type: x1y2z3w4",
        "secret: /run/secrets/db-password-2",
        "secret: projects/p1/secrets/s2",
        "password = '2024-01-02'",
        "pwd: 192.168.1.10",
        "password: 12345678",
        "password: bob1@example.org",
        "password = 'at least 8 characters'",
        "key = value",
        "密码是必填的",
        "postgres://user:password@localhost/db",
        "http://u:${PASS}@h/",
        "http://host:80/path@2",
        "Bearer authentication tokens",
        "Basic dGhpc2lzdGV4dA==",
        "basic authentication",
        "Authorization: Basic Og%%%",
        "secret = hashlib.sha256",
        "password=",
        "AK" + "IAIOSFODNN7EXAMPLE",
        "gh" + "p_" + "x" * 36,
        "disk-" + MIXED[:36],
        "hf_" + "requiredCharacteristicTypesForMore",
        "-----BEGIN " + "PRIVATE KEY-----",
        f"{HEADER}\n...\n{FOOTER}",
        "eyJ" + "hbGciOiJub3Rqc29u.aaaa.bbbb",
        "eyJ" + "aaaaaaaaa.bb.cc",
        "token: WinterToken2",
        "ssh key ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIq7Rt2LmX9vKp4ZsW8bNc3YhD6fGj5TqV1wEa",
        f"[REDACTED:password]: {MIXED[:10]}",
        "token='",
        'secret: "line\nbreak1"',
        "",
        "İ password",
    ],
)
def test_placeholders_code_and_documentation_are_none(text: str) -> None:
    assert find_secrets(text) == ()


def test_a_web_token_may_have_a_line_break_in_its_header() -> None:
    header = base64.urlsafe_b64encode(b'{\n  "alg": "HS256",\n  "typ": "JWT"\n}').decode().rstrip("=")
    assert only(f"got {header}.{MIXED}.{MIXED}")[0] == "jwt"


def test_a_block_without_footer_goes_to_the_end_of_its_base64() -> None:
    text = f"see {HEADER}\nProc-Type: 4,ENCRYPTED\n\n{LINE}\n{LINE}\nq7Rt2\n\nand then prose follows here"
    assert redact(text).text == "see [REDACTED:private_key]\n\nand then prose follows here"


def test_a_block_in_json_and_two_in_a_row() -> None:
    escaped = f"{HEADER}\\n{LINE}\\n{LINE}\\n{FOOTER}"
    cut_off = f"{HEADER}\n{LINE}\n{HEADER}\n{LINE}\n{FOOTER}"
    text = f'{{"private_key": "{escaped}\\n", "client_email": "a@b.c"}} {escaped} {cut_off}'
    assert redact(text) == Redacted(
        '{"private_key": "[REDACTED:private_key]\\n", "client_email": "a@b.c"} [REDACTED:private_key] '
        "[REDACTED:private_key]\n[REDACTED:private_key]",
        ("private_key",),
    )


def test_a_format_says_the_kind_where_a_name_points_at_the_same_value() -> None:
    token = "gl" + "pat-" + MIXED[:20]
    assert redact(f"token={token} password=" + "winter94") == Redacted(
        "token=[REDACTED:gitlab] password=[REDACTED:password]", ("gitlab", "password")
    )


def test_a_value_that_holds_more_than_a_token_goes_whole() -> None:
    token = "gl" + "pat-" + MIXED[:20]
    text = f'password="winter94+{MIXED[::-1]} {token}'.replace(" ", "+") + '"'
    assert redact(text).text == 'password="[REDACTED:gitlab]"'


def test_a_long_value_is_followed_to_its_end() -> None:
    assert redact(f"session_token={MIXED * 20} ok").text == "session_token=[REDACTED:secret] ok"
    assert redact(f'token="{MIXED * 20}" ok').text == 'token="[REDACTED:secret]" ok'


def test_the_two_halves_of_an_aws_key_go_together() -> None:
    key, secret = "AK" + "IAQ7RT2LMX4VKP5ZSW", MIXED[:20] + "/+" + MIXED[20:38]
    assert redact(f"bob,{key},{secret}").kinds == ("aws_access_key", "aws_secret_key")
    assert find_secrets(f"bob,{secret}") == ()
    assert redact(f"{key} since {'9f86d081' * 5}").kinds == ("aws_access_key",)


def test_a_text_without_secrets_comes_back_as_it_is() -> None:
    text = "We chose SQLite because nobody here knows Redis."
    assert redact(text) == Redacted(text, ())
    assert redact(text).text is text


@pytest.mark.parametrize("hidden", ["\u200b", "\u00ad", "\u2060\ufeff"])
def test_what_does_not_show_hides_no_secret(hidden: str) -> None:
    token = "ghp_" + hidden.join(("a8Kd93jfLs02", "mNq7Rt5Vx1Zb4", "Cw6Ye3Gh9Jk"))
    assert redact(f"The CI uses {token} today") == Redacted("The CI uses [REDACTED:github] today", ("github",))
    harmless = f"A no{hidden}table word, and क्{hidden}ष"
    assert redact(harmless) == Redacted(harmless, ())


def test_letters_that_grow_in_lower_case_move_nothing() -> None:
    assert redact("İİİ password=" + "winter94").text == "İİİ password=[REDACTED:password]"


def test_spans_are_in_order_and_apart() -> None:
    text = "password=" + "winter94 " + "gh" + f"p_{MIXED[:36]} https://a:" + "winter95@h"
    assert find_secrets(text) == (Secret("password", 9, 17), Secret("github", 18, 58), Secret("url_password", 69, 77))


@each_row(
    ("value", "expected"),
    [
        (MIXED, True),
        ("snake_case_words_with_v2", False),
        ("HandlerForEndpoint", False),
        ("abcdefgh", False),
        ("a1", False),
    ],
)
def test_mixture(value: str, expected: bool) -> None:
    assert is_random(value) is expected


def test_values() -> None:
    assert is_hexadecimal("9f86d081884c7d65")
    assert not is_hexadecimal("1234567890123456")
    assert decoded("a") == b""
    assert not is_basic("not base64!")
    assert not is_basic("/////w==")
    assert not is_bearer("short1A")
    assert not is_password("x" * 300, quoted=True)
    assert not is_password("token2", quoted=False)
    assert not is_secret("a" * 11, quoted=True)


@given(HOSTILE_TEXTS)
def test_any_text_is_redacted_for_good(text: str) -> None:
    found = find_secrets(text)
    assert all(0 <= secret.start < secret.end <= len(text) for secret in found)
    assert all(before.end <= after.start for before, after in pairwise(found))
    once = redact(text)
    assert find_secrets(once.text) == ()
    assert redact(once.text) == Redacted(once.text, ())
    assert bool(found) == bool(once.kinds)


def test_what_is_a_secret_in_one_text_is_cut_out_of_all() -> None:
    texts, kinds = redact_together(["the api token is Zx81QmLp0Tyw9KdRFA", "I set Zx81QmLp0Tyw9KdRFA", "token"])
    assert (texts, kinds) == (["the api token is [REDACTED:secret]", "I set [REDACTED:secret]", "token"], ("secret",))
    assert redact_together(["password: butterfly", "a butterfly"])[0][1] == "a butterfly"  # a word like any other
    texts, kinds = redact_together(
        [
            f"use {'ghp_' + 'a8Fq3ZkL0xRtYw6MnB2vCs9DeH5jKpQu7iTo'}",
            "the api token is Zx81QmLp0Tyw9KdRFA",
            "I set Zx81QmLp0Tyw9KdRFA",
        ]
    )
    assert (texts[2], len(kinds)) == ("I set [REDACTED:secret]", 2), "each by its own kind"
    assert redact_together([]) == ([], ())
