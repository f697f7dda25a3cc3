"""Eighty secrets in the words of people: how they are written in notes, chats, files and logs. None of them is real.

The bodies are drawn from a seed, so a reader of the repository finds no token that a scanner would report.
"""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable

_DRAW = random.Random()
_BASE62 = string.ascii_letters + string.digits
_BECH32 = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"
_URL = _BASE62 + "-_"
_HEX = "0123456789abcdef"
_DIGITS = string.digits
_WORDS = ["lantern", "copper", "violin", "meadow", "turnip", "gravel", "ocean"]
_URL_SAFE = str.maketrans("+/", "-_")


def _of(alphabet: str, length: int) -> str:
    return "".join(_DRAW.choice(alphabet) for _ in range(length))


def _base64(length: int) -> str:
    return base64.b64encode(bytes(_DRAW.randrange(256) for _ in range(length))).decode()


def _age() -> str:
    return "AGE-SECRET-" + "KEY-1" + _of(_BECH32, 58)


def _telegram() -> str:
    return f"{_of('123456789', 1)}{_of(_DIGITS, 9)}:AA{_of(_URL, 33)}"


def _webhook() -> str:
    return f"{_of('1', 1)}{_of(_DIGITS, 18)}/{_of(_URL, 68)}"


def _password() -> str:
    return _of("abcdefghkmnpqrstuvwxyz", 4) + _of("23456789", 2) + _of("ABCDEFGHKLMNPQRSTUVWXYZ", 3) + _of("!?%+*", 1)


def _encoded(form: str, secret: str) -> str:
    return base64.b64encode(form.format(secret).encode()).decode()


def _wide(text: str) -> str:
    """Full-width forms of ASCII."""
    return "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in text)


_FORMS: tuple[tuple[str, Callable[[], str]], ...] = (
    # age
    ("The backup is encrypted, the identity is {}.", _age),
    ("age key: {}", _age),
    ("# public key: age1qxyz\n{}\n", _age),
    ("AGE_IDENTITY={}", _age),
    ("Der Schlüssel fürs Backup: {} (bitte nicht weitergeben)", lambda: _age().lower()),
    ("the hybrid one is {}", lambda: "AGE-SECRET-" + "KEY-PQ-1" + _of(_BECH32, 58)),
    # Telegram
    ("The bot's token is {}", _telegram),
    ("curl https://api.telegram.org/bot{}/getMe", _telegram),
    ("TELEGRAM_BOT_TOKEN={}", _telegram),
    ("机器人的令牌是{}。", _telegram),
    ("BotFather said: Use this token to access the HTTP API: {} Keep it secure.", _telegram),
    # Discord
    ("Deploys are announced at https://discord.com/api/webhooks/{}", _webhook),
    ("webhook = 'https://discordapp.com/api/webhooks/{}'", _webhook),
    ("https://canary.discord.com/api/webhooks/{} is the one for alerts", _webhook),
    ("https://ptb.discord.com/api/v10/webhooks/{}", _webhook),
    ("discord webhook id/token: {}", _webhook),
    # Twilio
    ("The Twilio auth token is {}", lambda: _of(_HEX, 32)),
    ("TWILIO_AUTH_TOKEN={}", lambda: _of(_HEX, 32)),
    ("Twilio account AC" + "0123456789abcdef" * 2 + ", auth token {}", lambda: _of(_HEX, 32)),
    ("twilio: sid SK" + "fedcba9876543210" * 2 + " secret {}", lambda: _of(_BASE62, 32)),
    ("client = Client('AC" + "0123456789abcdef" * 2 + "', '{}')  # Twilio", lambda: _of(_HEX, 32)),
    ("Wir verschicken SMS mit Twilio (SID AC" + "0123456789abcdef" * 2 + ", Token: {}).", lambda: _of(_HEX, 32)),
    # passwords in prose
    ("password: {}", _password),
    ("Password: {} for the staging box", _password),
    ("The password for the printer is {}.", _password),
    ("my password is {} and the user is alice", _password),
    ("The admin password was changed to {} yesterday.", _password),
    ("Use alice / password {} to log in", _password),
    ("pw: {}", _password),
    ("Passwort ist {}", _password),
    ("Das Passwort ist {}.", _password),
    ("Das Passwort für den Router lautet {}.", _password),
    ("Passwort vom WLAN: {}", _password),
    ("Das neue Passwort heißt jetzt {}", _password),
    ("Kennwort ist jetzt {}", _password),
    ("Mein Passwort: „{}“", _password),
    ("Zugangsdaten: Benutzer admin, Passwort {}", _password),
    ("密码是{}", _password),
    ("密码：{}", _password),
    ("服务器的密码为 {}，别告诉别人", _password),
    ("数据库密码改成了{}。", _password),
    ("口令：{}", _password),
    ("登录密码 {}", _password),
    ("管理员密码“{}”", _password),
    # full width
    ("ｐａｓｓｗｏｒｄ：{}", lambda: _wide(_password())),
    ("Ｐａｓｓｗｏｒｄ＝{}", lambda: _wide(_password())),
    ("密码：{}", lambda: _wide(_password())),
    ("Ｐａｓｓｗｏｒｄ： {}", _password),
    ("ｐａｓｓｗｏｒｄ is {}", _password),
    ("the key is {}", lambda: _wide("ghp_" + _of(_BASE62, 36))),
    ("ｔｏｋｅｎ＝{}", lambda: _of(_BASE62, 40)),
    ("𝗽𝗮𝘀𝘀𝘄𝗼𝗿𝗱: {}", _password),
    ("API Key：{}", lambda: _wide(_of(_BASE62, 32))),
    # base64 of text with a secret
    ("data:\n  config: {}", lambda: _encoded("PASSWORD={}\n", _password())),
    ("the secret in the cluster is {}", lambda: _encoded("DB_USER=app\nDB_PASSWORD={}\n", _password())),
    ("echo {} | base64 -d", lambda: _encoded("password: {}", _password())),
    ("{}", lambda: _encoded('{{"user": "app", "password": "{}"}}', _password())),
    (".env as base64: {}", lambda: _encoded("API_KEY={}\n", _of(_BASE62, 32))),
    ("value: '{}'", lambda: _encoded("postgres://app:{}@db/app", _of(_BASE62, 14))),
    ("blob {}", lambda: _encoded("GITHUB_TOKEN={}", "ghp_" + _of(_BASE62, 36))),
    ("url safe: {}", lambda: _encoded("SECRET_KEY={}", _of(_BASE62, 40)).translate(_URL_SAFE).rstrip("=")),
    # Azure
    ("DefaultEndpointsProtocol=https;AccountName=shop;AccountKey={};EndpointSuffix=core.windows.net",
     lambda: _base64(64)),
    ("Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=root;SharedAccessKey={}", lambda: _base64(32)),
    ("HostName=hub.azure-devices.net;DeviceId=d1;SharedAccessKey={}", lambda: _base64(32)),
    ("AZURE_CLIENT_SECRET={}", lambda: f"{_of(_BASE62, 3)}8Q~{_of(_URL + '.~', 33)}q"),
    ("The Azure app's client secret is {}", lambda: f"{_of(_BASE62, 3)}7Q~{_of(_URL, 33)}q"),
    ("https://shop.blob.core.windows.net/c?sv=2022-11-02&sig={}&se=2026-01-01",
     lambda: _base64(32).replace("+", "%2B").replace("/", "%2F").replace("=", "%3D")),
    ("storage account key {}", lambda: _base64(64)),
    ("AccountEndpoint=https://shop.documents.azure.com:443/;AccountKey={};", lambda: _base64(64)),
    ("Azure DevOps PAT: {}", lambda: _of("abcdefghijklmnopqrstuvwxyz234567", 52)),
    ("Endpoint=https://shop.azconfig.io;Id=a1b2;Secret={}", lambda: _base64(32)),
    ("Ocp-Apim-Subscription-Key: {}", lambda: _of(_HEX, 32)),
    ("It says InstrumentationKey=00000000-0000-0000-0000-000000000001 and AccountKey = {}", lambda: _base64(64)),
    # others, as people write them
    ("export OPENAI_API_KEY=sk-proj-{}", lambda: _of(_URL, 60)),
    ("Authorization: Bearer {}", lambda: _of(_BASE62, 40)),
    ("git clone https://alice:{}@git.example.org/shop.git", lambda: _of(_BASE62, 20)),
    ("The PIN of the safe: passcode {}", lambda: _of("2468", 3) + _of("13579", 3)),
    ("ssh: user root, pass: {}", _password),
    ("passphrase of the backup: {}", lambda: "-".join(_DRAW.sample(_WORDS, 5))),
    ("mysql -u root -p{} shop", _password),
)  # fmt: skip


def attacks(seed: int) -> list[tuple[str, str]]:
    """(text, secret) of each form."""
    _DRAW.seed(seed)
    return [(form.format(secret), secret) for form, draw in _FORMS for secret in [draw()]]
