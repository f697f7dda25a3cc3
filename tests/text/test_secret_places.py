"""Secrets where a name and its value are values themselves, are marked up, or stand apart; and what looks like that."""

from __future__ import annotations

from mnemond.text.secrets import Redacted, redact
from tests.tables import each_row

PASSWORD = "kT9wQx3vLm2p"
TOKEN = "q7Zt2Lw9Xc4Vb8Nm1Kj6Hg3Fd5Sa0PoIuYtReWq"
HEX = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"

FORMS = (
    "STRIPE_KEY={t}", "heroku config:set STRIPE_KEY={t}", "app_key: {h}", "appkey={h}", "WLAN-Key: {p}",
    "WPA2 key: {p}", 'psk="{p}"',
    "密码：\u3000{p}", "密码:\u00a0{p}", "Password:\u00a0{p}", "Password\u00a0: {p}", "password:\u3000{p}",
    "pass\u00adword: {p}", "password\u200b:{p}", "password:\u2060 {p}", "password=kT9w\ufe0fQx3v\u200eLm2p",
    "https://{t}:x-oauth-basic@github.com/a", "https://{h}:x-oauth-basic@github.com/a", "https://{t}@github.com/a/b.git",
    '- name: DB_PASSWORD\n  value: "{p}"', '{{"key":"DB_PASSWORD","value":"{p}"}}',
    '"Name": "DB_PASSWORD", "Value": "{p}"', '<add key="Password" value="{p}" />', "<Password>{p}</Password>",
    '<property name="password" value="{p}"/>', "<password><![CDATA[{p}]]></password>",
    "<td>Password</td><td>{p}</td>", "<b>Password:</b> {p}", "<strong>Password</strong>: {p}",
    "<dt>password</dt><dd>{p}</dd>", "define('DB_PASSWORD', '{p}');", 'os.getenv("DB_PASSWORD", "{p}")',
    'System.setProperty("db.password", "{p}")', "config.set('password', '{p}')",
    'os.environ.setdefault("DB_PASSWORD", "{p}")', 'password="""{p}"""', "password = '''{p}'''",
    'const PASSWORD: &str = "{p}";', 'password <- "{p}"', "password ?= {p}",
    "CREATE USER a IDENTIFIED BY '{p}'", "keytool -storepass {p}", "-keypass {p}", "requirepass {p}", "masterauth {p}",
    "redis-cli -h a -a {p} ping", "redis-cli --pass {p}", "mongosh -u a -p {p} --quiet", "mysql -u root -p {p}",
    "ldapsearch -x -D cn=a -w {p} -b dc=a", "sqlcmd -S a -U sa -P {p}", "docker login -u a -p {p} registry.test.io",
    "smbclient //a/b -U ana%{p}", "mosquitto_pub -u a -P {p} -t b", "htpasswd -b file ana {p}", "7z x -p{p} a.7z",
    "rabbitmqctl add_user a {p}", "net use Z: //a/b /user:ana {p}", "unzip -P {p} a.zip", "lftp -u ana,{p} host",
    "echo 'root:{p}' | sudo chpasswd", "xfreerdp /u:ana /p:{p} /v:host", "plink -l ana -pw {p} host",
    "Cookie: session={h}", "Cookie: theme=dark; sessionid={h}; lang=de", "Set-Cookie: sid={t}; HttpOnly; Path=/",
    "curl -b 'connect.sid=s%3A{t}' https://test.io", "cookies = {{'sessionid': '{h}'}}", "/a;jsessionid={h}?b=c",
    "| password | {p} |", "|Passwort|{p}|", "| user | ana |\n| **password** | `{p}` |\n", "| 密码 | {p} |",
    "| name | user | password |\n|---|---|---|\n| nas | ana | {p} |", "user\tpassword\nana\t{p}",
    "user,password\nana,{p}\n", "user;password;note\r\nana;{p};b\r\n", "password\t{p}",
    "{p} is the root password", "Use {p} as the root password.", "We set “{p}” as our new password for the router.",
    "{p} ist das Passwort für den Router.", "用{p}作为密码", "{p}是密码", "Log in as ana with password {p}",
    "mit dem Passwort {p} kommst du rein", "Bitte ändere das Passwort auf {p}", "log in with ana / {p}",
    "my password's {p}", "the password is still {p}.", "le mot de passe est {p}", "la contraseña es {p}", "senha: {p}",
    "mysql -u root -p{p} shop", "mysqldump -h db -p{p} shop", "az login -u a -p {p}", "Kennwort: {p}", "Passwort: {p}",
    "contraseña: {p}", "пароль: {p}", "パスワード: {p}", "비밀번호: {p}", "passwords: {p}",
)  # fmt: skip


@each_row("form", FORMS)
def test_it_is_taken_out(form: str) -> None:
    told = redact(form.format(p=PASSWORD, t=TOKEN, h=HEX))
    assert told.kinds
    assert not any(value in told.text for value in (PASSWORD, TOKEN, HEX, "Qx3v", "Lm2p"))
    assert redact(told.text).text == told.text


HARMLESS = (
    'os.getenv("DB_PASSWORD")', 'getpass("password", "Username: ")', '("password", "username", "token")',
    "fields = ['password', 'sha256', 'oauth2']", "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      key: db",
    '{"key":"DB_PASSWORD","value":"${DB_PASSWORD}"}', "<Password>required</Password>",
    "<td>Password</td><td>string</td>",
    "CACHE_KEY=user_profile_cache_entries_of_today_v2", "SORT_KEY=created_at", "https://o1.ingest.example.com/42",
    "https://9f86d081884c7d659a2feaa0c55ad015@o1.ingest.sentry.io/42", "git@github.com:a/b.git",
    "| password | varchar(255) |", "| Password | SHA-256 |", "| password | string | required |", "| 密码 | 必填 |",
    "| user | password |\n|---|---|\n| name | text |\n\nand OAuth2", "user,password\nstring,string\n",
    "def login(user, password,\n          host1, port22):", "user, password\nfrom host22", "password", "|password",
    "redis-cli -a $REDIS_PASSWORD", "redis-cli -p 6380 -h cache01", "docker run -p 8080:80 app22",
    "docker login -u ana --password-stdin", "docker login -p $TOKEN", "mosquitto_pub -p 1883 -t a1/b2",
    "rar a -p backup2024.rar", "unzip -p archive1.zip", "mongosh -u a -p --quiet", "rabbitmqctl add_user app $PW",
    "mysql -u root -p < dump1.sql", "Cookie: theme=dark1; lang=en_US", "Set-Cookie: session=<token>; HttpOnly",
    "Cookie consent v2.3.1 was added", "cookie = session_id2", "jsessionid=aaaaaaaaaaaaaaaaaaaaaaaa",
    "'Set-Cookie: number=7\\r\\nSet-Cookie: string=seven'", "Cookie: a=b\nCookie: c=d; cookie: e=f",
    "OAuth2 is the password flow we use", "SHA256 is the password hash.", "Use bcrypt12 as the password hasher.",
    "1Password is where the password for staging is", "build2024 as well as the password", "admin is the password",
    "the password's base64-encoded form", "the password is md5-hashed", "We log in with GitHub / OAuth2.0",
    "log in as ana / admin", "with password hashing in SHA-256", "Passwort auf dem Server01 ändern", "用户名作为密码",
    "Ändere das Passwort auf der Seite", "mit dem Passwort-Manager KeePass2", "le mot de passe est requis",
    "mysql -u root -p shop", "mysql -p", "the password is required", 'password: "string"', "identified by its name",
    "password <- readline()",
    "requirepass is not set", "x-oauth-basic stands for the password", "primary key: id", "app key: see the vault",
)  # fmt: skip


@each_row("text", HARMLESS)
def test_it_stays(text: str) -> None:
    told = redact(text)
    assert (told.text, told.kinds) == (text, ())


def test_signs_that_do_not_show_stay_where_they_hide_nothing() -> None:
    family = "the team \U0001f468\u200d\U0001f469\u200d\U0001f467 uses a password manager, ✔\ufe0f done"
    assert redact(family).text == family


def test_a_pile_of_signs_that_do_not_show_is_looked_at_once() -> None:
    """With a look ahead from each of them, this took a minute, in which nobody was answered."""
    pile = "é" + "\u200b" * 100_000 + "é"
    assert redact(pile) == Redacted(pile, ())
    assert redact(pile + f"password: {'kT9wQx3vLm2p'}").kinds == ("password",)
