"""Passwords of words: found where only a value can stand, and nowhere else."""

from __future__ import annotations

from mnemond.text.secrets import find_secrets
from tests.tables import each_row


def only(text: str) -> tuple[str, str]:
    """Kind and value of the one secret in `text`."""
    (secret,) = find_secrets(text)
    return secret.kind, text[secret.start : secret.end]


@each_row(
    ("text", "value"),
    [
        ("DB_PASSWORD=" + "bluebird", "bluebird"),
        ("DB_PASS=" + "bluebird", "bluebird"),
        ("export PGPASSWORD='" + "bluebird'", "bluebird"),
        ("password = '" + "Bluebird'", "Bluebird"),
        ('{"user": "a", "password": "' + 'bluebird"}', "bluebird"),
        ("mysql --password=" + "bluebird app", "bluebird"),
        ("host=db user=bob password=" + "bluebird dbname=x", "bluebird"),
        ("Server=db;User Id=sa;Password=" + "bluebird;Encrypt=true", "bluebird"),
        ("spring.datasource.password=" + "bluebird", "bluebird"),
        ("  password: " + "bluebird\n  port: 5432", "bluebird"),
        ("password: " + "bluebird  # of staging", "bluebird"),
        ("login bob, pwd: " + "bluebird, port 22", "bluebird"),
        ("The staging password is " + "bluebird.", "bluebird"),
        ("the password is now " + "bluebird", "bluebird"),
        ("the password was changed to " + "bluebird, tell Ana", "bluebird"),
        ("the password has been reset to " + "winter94", "winter94"),
        ("the password is `" + "bluebird` for now", "bluebird"),
        ("数据库密码是" + "bluebird，每月更换", "bluebird"),
        ("密码：" + "bluebird", "bluebird"),
        ("passphrase: '" + "blue-garden-lantern'", "blue-garden-lantern"),
        ('password: "' + 'correct horse battery staple"', "correct horse battery staple"),
    ],
)
def test_a_password_of_words_is_one_where_only_a_value_can_stand(text: str, value: str) -> None:
    assert only(text) == ("password", value)


@each_row(
    "text",
    [
        "the password is wrong.",
        "the password is hashed, never stored",
        "The password is in the vault.",
        "The staging password is bluebird for now",
        "Password: hashed with argon2.",
        "password: expired",
        "password: bytes",
        "def f(user, password: buffer, x)",
        "login(password: bluebird, x)",
        "password=config, user=b",
        "password = config",
        "f(a, password=bluebird)",
        "PASSWORD = getpass.getpass",
        "PASSWORD=$(pass show bluebird)",
        "password = Prompt.ask",
        'password: "Enter your password"',
        'password("bluebird")',
        '"password": "Passwort"',
        "'password': 'invalid login'",
        'password = "this must not be empty"',
        "PASSWORD=none",
        "pass: bluebird",
        "token = 'bluebird'",
        "the password is <bluebird>",
        "密码是 string 类型",
        "password: «bluebird",
    ],
)
def test_words_that_say_something_about_a_password_are_none(text: str) -> None:
    assert find_secrets(text) == ()
