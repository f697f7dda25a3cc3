"""Text around credentials: sentences, settings, commands; and lines that look similar and hold none."""

from __future__ import annotations

import base64
import random
import uuid

from benchmarks.secret_samples import BASE64, HEX, MAKERS, WORDS, draw

CARRIERS = (
    "TOOL_TOKEN={}",
    "export SERVICE_KEY='{}'",
    'config = {{"name": "prod", "value": "{}"}}',
    "deploy:\n  image: api:1.4.2\n  credential: {}\n  replicas: 2",
    "client = Client('{}', timeout=30)",
    'curl -sS https://api.test.io/v1/me -H "X-Auth: {}" -d @body.json',
    "We rotated it yesterday, the new one is {} and it lives in the vault.",
    "The deploy failed because {} had expired; Ana made another.",
    "生产环境用的是 {}，不要写进日志。",
    "凭据：{}。请尽快更换",
    "| staging | {} | 2025-11-03 |",
    "see `{}` in the shared note",
    "steps: 1) login 2) paste ({}) 3) restart",
    '{{"auth":{{"v":"{}","ttl":3600}}}}',
)
"""Text around a token that is recognised by its format, under any name."""

OWN_CARRIERS: dict[str, tuple[str, ...]] = {
    "aws_secret_key": (
        "AWS_SECRET_ACCESS_KEY={}",
        "export AWS_SECRET_ACCESS_KEY='{}'",
        "[default]\nregion = eu-west-1\naws_secret_access_key = {}",
        '"SecretAccessKey": "{}",',
        'new AWS.S3({{ secretAccessKey: "{}" }})',
        "boto3.client('s3', aws_secret_access_key='{}')",
        "  aws_secret_key: {}",
        "The AWS secret key is {} and belongs to the backup user.",
        "AWS 的 secret access key 是 {}，别外传",
        'secret_key = "{}"  # terraform provider aws',
        "aws configure set aws_secret_access_key {}",
        "-Daws.secretKey={} -jar app.jar",
    ),
    "azure_key": (
        "DefaultEndpointsProtocol=https;AccountName=store1;AccountKey={};EndpointSuffix=core.windows.net",
        'AZURE_STORAGE_CONNECTION_STRING="DefaultEndpointsProtocol=https;AccountName=a;AccountKey={};EndpointSuffix=core.windows.net"',
        '"connectionString": "AccountName=abc;AccountKey={};"',
        "Endpoint=sb://ns.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey={}",
        "  connection: Endpoint=sb://n.servicebus.windows.net/;SharedAccessKeyName=send;SharedAccessKey={};EntityPath=q",
        "HostName=hub.azure-devices.net;DeviceId=d1;SharedAccessKey={}",
        "The blob store uses AccountKey={} since the move.",
        "存储连接串 AccountName=cn1;AccountKey={}",
        "client = BlobServiceClient.from_connection_string('AccountName=x;AccountKey={};')",
        "az storage blob list --connection-string 'AccountName=x;AccountKey={}'",
    ),
    "password": (
        "DB_PASSWORD={}",
        "export PGPASSWORD='{}'",
        'password = "{}"',
        "password: {}",
        '{{"user": "deploy", "password": "{}"}}',
        "mysql --user=root --password={} app",
        "The staging password is {} for now.",
        "spring.datasource.password={}",
        "connect(host='db1', passwd='{}')",
        "Server=db;User Id=sa;Password={};Encrypt=true",
        "数据库密码是{}，每月更换",
        "密码：{}",
        "口令: {}",
        "login bob, pwd: {}",
    ),
    "word_password": (
        "DB_PASSWORD={}",
        "export PGPASSWORD='{}'",
        'password = "{}"',
        '{{"user": "deploy", "password": "{}"}}',
        "mysql --user=root --password={} app",
        "connect(host='db1', passwd='{}')",
        "Server=db;User Id=sa;Password={};Encrypt=true",
        "host=db1 user=bob password={} dbname=app",
        "spring.datasource.password='{}'",
        'The staging password is "{}" for now.',
        "数据库密码是「{}」，每月更换",
        "MYSQL_ROOT_PASSWORD={}\nMYSQL_DATABASE=app",
    ),
    "passphrase": (
        'password = "{}"',
        "export BORG_PASSPHRASE='{}'",
        '{{"user": "deploy", "passphrase": "{}"}}',
        "connect(host='db1', passwd='{}')",
        "The passphrase is `{}` for now.",
    ),
    "secret": (
        "CLIENT_SECRET={}",
        "export API_KEY='{}'",
        'api_key = "{}"',
        "api-key: {}",
        '{{"token": "{}", "ttl": 60}}',
        "const secretKey = '{}';",
        "curl 'https://api.test.io/v1/items?limit=5&access_token={}'",
        "The webhook secret is {} on both sides.",
        "  clientSecret: {}",
        "client = Client(api_key='{}', region='eu')",
        "令牌是{}，明天过期",
        "密钥：{}",
        "tool login --token {}",
        "SECRET_KEY_BASE={}",
    ),
    "bearer": (
        "Authorization: Bearer {}",
        "curl -H 'Authorization: Bearer {}' https://api.test.io/v1/me",
        'headers = {{"Authorization": "Bearer {}"}}',
        '-H "authorization: bearer {}"',
        "fetch(url, {{headers: {{Authorization: `Bearer {}`}}}})",
        "We call it with Bearer {} from the job.",
        "请求头用 Bearer {} 就可以了",
        "http GET :8000/me 'Authorization:Bearer {}'",
        'proxy_set_header Authorization "Bearer {}";',
        "  value: Bearer {}",
    ),
    "url_password": (
        "DATABASE_URL=postgres://app:{}@db.internal:5432/app",
        "redis://:{}@cache:6379/0",
        'url = "mysql://root:{}@10.0.0.3/app"',
        "git clone https://bob:{}@git.test.io/team/repo.git",
        "  broker: amqp://worker:{}@mq:5672/%2f",
        '{{"mongo": "mongodb+srv://admin:{}@cluster0.test.net/db"}}',
        "The dump is at ftp://backup:{}@files.test.io/latest.tar today.",
        "地址是 postgres://reader:{}@pg.internal/app，只读",
        "curl -x http://proxy:{}@10.1.1.1:3128 https://pypi.org",
        "pip install --index-url https://ci:{}@packages.test.io/simple thing",
    ),
    "high_entropy": (
        "the api key for the mail service: we got {}",
        "token of the build agent -> {}",
        "secret (shared with ops) {}",
        "new key issued today {} for the gateway",
        "key | {} | prod",
        "passwords rotated, master one {}",
        "credentials arrived by mail, namely {}",
        "密钥已更新，新的 {} 从今天起",
        "令牌 {} 已经发给运维",
        "{} is the token of the runner",
    ),
}
"""Text around a value that is recognised by its name, its scheme or its place alone."""

_URL_ESCAPED = str.maketrans({"@": "%40", "/": "%2F", "#": "%23", "?": "%3F", "[": "%5B", "]": "%5D"})


def sample(kind: str, number: int, chance: random.Random) -> tuple[str, int, int]:
    """(text, start, end): the secret of `kind` inside carrier `number`."""
    carriers = OWN_CARRIERS.get(kind, CARRIERS)
    secret = MAKERS[kind](chance)
    if kind == "url_password":
        secret = secret.translate(_URL_ESCAPED)
    carrier = carriers[number % len(carriers)]
    if kind == "private_key" and '"' in carrier:
        secret = secret.replace("\n", "\\n")
    before, after = (part.replace("{{", "{").replace("}}", "}") for part in carrier.split("{}"))
    return before + secret + after, len(before), len(before) + len(secret)


def lookalikes(chance: random.Random) -> list[str]:
    """Return twenty lines that only look like secrets: sums, commits, numbers, images, lock files, placeholders."""
    digest = base64.b64encode(chance.randbytes(64)).decode()
    commit, total = draw(chance, HEX, 40), draw(chance, HEX, 64)
    number = str(uuid.UUID(int=chance.getrandbits(128), version=4))
    image = base64.b64encode(b"\x89PNG\r\n\x1a\n" + chance.randbytes(150)).decode()
    word, other = chance.choice(WORDS), chance.choice(WORDS)
    return [
        f"commit {commit} fixes the race in {word}",
        f'      "integrity": "sha512-{digest}",',
        f"sha256:{total}  {word}-1.4.2.tar.gz",
        f"{word}==2.3.1 --hash=sha256:{total}",
        f"request {number} took 34 ms",
        f"![logo](data:image/png;base64,{image})",
        f"cache key {word}-{commit[:12]} was stale",
        f"image: registry.test.io/{word}@sha256:{total}",
        f"!function(e,t){{var n=e.{word},r=t.token||null;return n.key===r&&r.{other}(e)}}(window,{{}});",
        f"password = os.environ['{word.upper()}_PASSWORD']",
        f"password: ${{{word.upper()}_PASSWORD}}",
        'api_key = "<your-api-key>"',
        f"token = lexer.next_token({chance.randrange(9)})",
        f"def login(user: str, password: str | None = None, token: {word.title()}Token2 = ...) -> None:",
        f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{draw(chance, BASE64, 43)} {word}@host",
        f"the primary key is {number}",
        f"postgres://user:password@localhost/{word}",
        f"https://docs.test.io/{word}/{commit}/secrets-management.html#token-{chance.randrange(99)}",
        f"h1:{base64.b64encode(chance.randbytes(32)).decode()} go.sum entry of {word}",
        f"foreign key {word}_{other}_id_fkey_{draw(chance, HEX, 8)} violated",
    ]
