"""Credentials drawn by chance in their published formats.

Written from the issuers' documents, not from the recogniser. Every prefix stands apart from what follows it, so that no
line of this file looks like a credential to a scanner.
"""

from __future__ import annotations

import base64
import json
import random
import string
import uuid
from collections.abc import Callable

LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
ALNUM = LOWER + UPPER + DIGITS
URL_SAFE = ALNUM + "-_"
HEX = "0123456789abcdef"
BASE64 = ALNUM + "+/"
BASE32 = UPPER + "234567"
WORDS = (
    "harbor", "copper", "winter", "falcon", "meadow", "granite", "velvet", "thunder", "marble", "saffron", "lantern",
    "orchid", "pepper", "summit", "walnut", "zephyr", "cobalt", "ember", "juniper", "quartz",
)  # fmt: skip

Maker = Callable[[random.Random], str]


def draw(chance: random.Random, alphabet: str, length: int) -> str:
    """So many characters of the alphabet."""
    return "".join(chance.choice(alphabet) for _ in range(length))


def _between(chance: random.Random, alphabet: str, least: int, most: int) -> str:
    return draw(chance, alphabet, chance.randint(least, most))


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def aws_access_key(chance: random.Random) -> str:
    return chance.choice(("AK" + "IA", "AS" + "IA")) + draw(chance, BASE32, 16)


def aws_secret_key(chance: random.Random) -> str:
    return base64.b64encode(chance.randbytes(30)).decode()


def gcp_api_key(chance: random.Random) -> str:
    return "AI" + "za" + "Sy" + draw(chance, URL_SAFE, 33)


def google_oauth(chance: random.Random) -> str:
    return chance.choice(
        ("GOC" + "SPX-" + draw(chance, URL_SAFE, 28), "ya" + "29." + "a0" + draw(chance, URL_SAFE, 160))
    )


def azure_key(chance: random.Random) -> str:
    return base64.b64encode(chance.randbytes(chance.choice((32, 64)))).decode()


def github(chance: random.Random) -> str:
    shape = chance.random()
    if shape < 0.2:
        return "github" + "_pat_" + draw(chance, ALNUM, 22) + "_" + draw(chance, ALNUM, 59)
    if shape < 0.3:
        return "gh" + "s_" + draw(chance, DIGITS, 6) + "_" + jwt(chance)
    return "gh" + chance.choice("pousr") + "_" + draw(chance, ALNUM, 36)


def gitlab(chance: random.Random) -> str:
    prefix, length = chance.choice(
        (("pat", 20), ("pat", 20), ("dt", 20), ("rt", 20), ("ft", 20), ("imt", 25), ("soat", 20), ("ffct", 20),
         ("agent", 50), ("oas", 64), ("ptt", 40), ("cbt", 26), ("routable", 27), ("GR", 20))
    )  # fmt: skip
    if prefix == "GR":
        return "GR" + "1348941" + draw(chance, URL_SAFE, 20)
    if prefix == "routable":
        return "gl" + "pat-" + draw(chance, URL_SAFE, 27) + ".01." + draw(chance, LOWER + DIGITS, 9)
    body = (
        "64_" + draw(chance, ALNUM, 20)
        if prefix == "cbt"
        else draw(chance, HEX if prefix == "ptt" else URL_SAFE, length)
    )
    return "gl" + prefix + "-" + body


def npm(chance: random.Random) -> str:
    return "npm" + "_" + draw(chance, ALNUM, 36)


def pypi(chance: random.Random) -> str:
    where = chance.choice((b"pypi.org", b"test.pypi.org"))
    return "py" + "pi-" + _base64url(b"\x02\x01" + bytes([len(where)]) + where + b"\x02\x24" + chance.randbytes(120))


def alibaba_access_key(chance: random.Random) -> str:
    return "LT" + "AI" + draw(chance, ALNUM, 20)


def webhook(chance: random.Random) -> str:
    return "https://open.feishu.cn/open-apis/bot/v2/hook/" + str(uuid.UUID(bytes=chance.randbytes(16)))


def slack(chance: random.Random) -> str:
    def number() -> str:
        return _between(chance, DIGITS, 10, 13)

    def team() -> str:
        return draw(chance, UPPER + DIGITS, 10)

    return chance.choice(
        (
            "xo" + f"xb-{number()}-{number()}-{draw(chance, ALNUM, 24)}",
            "xo" + f"xb-{number()}-{draw(chance, ALNUM, 24)}",
            "xo" + f"xp-{number()}-{number()}-{number()}-{draw(chance, HEX, 32)}",
            "xo" + f"xs-{number()}-{number()}-{number()}-{draw(chance, HEX, 10)}",
            "xo" + f"xa-2-{number()}-{number()}-{number()}-{draw(chance, HEX, 32)}",
            "xo" + f"xe.xoxp-1-{draw(chance, ALNUM, 163)}",
            "xo" + f"xe-1-{draw(chance, ALNUM, 146)}",
            "xa" + f"pp-1-A{draw(chance, UPPER + DIGITS, 10)}-{draw(chance, DIGITS, 13)}-{draw(chance, HEX, 64)}",
            "https://hooks." + f"slack.com/services/T{team()}/B{team()}/" + draw(chance, ALNUM, 24),
        )
    )


def stripe(chance: random.Random) -> str:
    return chance.choice(
        (
            "sk" + "_live_" + draw(chance, ALNUM, 24),
            "sk" + "_live_51" + draw(chance, ALNUM, 97),
            "rk" + "_live_" + draw(chance, ALNUM, 24),
            "sk" + "_test_" + draw(chance, ALNUM, 24),
            "wh" + "sec_" + draw(chance, ALNUM, 32),
        )
    )


def openai(chance: random.Random) -> str:
    mark = "T3Blbk" + "FJ"
    kind = chance.choice(("", "proj-", "svcacct-", "admin-"))
    side = 20 if not kind else chance.choice((58, 74))
    alphabet = URL_SAFE if kind else ALNUM
    return "sk" + "-" + kind + draw(chance, alphabet, side) + mark + draw(chance, alphabet, side)


def anthropic(chance: random.Random) -> str:
    return "sk" + "-ant-" + chance.choice(("api03", "admin01", "oat01")) + "-" + draw(chance, URL_SAFE, 93) + "AA"


def huggingface(chance: random.Random) -> str:
    return "h" + "f_" + draw(chance, LOWER + UPPER, 34)


def sendgrid(chance: random.Random) -> str:
    return "S" + "G." + draw(chance, URL_SAFE, 22) + "." + draw(chance, URL_SAFE, 43)


def twilio(chance: random.Random) -> str:
    return "S" + "K" + draw(chance, HEX, 32)


def telegram(chance: random.Random) -> str:
    return chance.choice("123456789") + _between(chance, DIGITS, 8, 9) + ":" + "AA" + draw(chance, URL_SAFE, 33)


def discord(chance: random.Random) -> str:
    number = str(chance.randrange(10**17, 14 * 10**18))
    if chance.random() < 0.2:
        return "discord" + f".com/api/webhooks/{number}/" + draw(chance, URL_SAFE, 68)
    return ".".join(
        (_base64url(number.encode()), draw(chance, URL_SAFE, 6), draw(chance, URL_SAFE, chance.choice((27, 38))))
    )


def digitalocean(chance: random.Random) -> str:
    return "do" + chance.choice("opr") + "_v1_" + draw(chance, HEX, 64)


def docker(chance: random.Random) -> str:
    return "dckr" + "_pat_" + draw(chance, URL_SAFE, 27)


def vault(chance: random.Random) -> str:
    return "hv" + "s." + chance.choice((draw(chance, ALNUM, 24), "CAES" + "I" + draw(chance, URL_SAFE, 90)))


def grafana(chance: random.Random) -> str:
    return "gl" + "sa_" + draw(chance, ALNUM, 32) + "_" + draw(chance, HEX, 8)


def shopify(chance: random.Random) -> str:
    return "shp" + chance.choice(("at", "ca", "pa", "ss")) + "_" + draw(chance, HEX, 32)


def jwt(chance: random.Random) -> str:
    header = {"alg": chance.choice(("HS256", "RS256", "ES256", "EdDSA")), "typ": "JWT"}
    if chance.random() < 0.5:
        header["kid"] = draw(chance, ALNUM, 12)
    claims = {"sub": draw(chance, DIGITS, 10), "iat": chance.randrange(10**9, 2 * 10**9), "role": chance.choice(WORDS)}
    compact = (",", ":") if chance.random() < 0.8 else (", ", ": ")
    parts = [_base64url(json.dumps(part, separators=compact).encode()) for part in (header, claims)]
    return ".".join((*parts, _base64url(chance.randbytes(chance.choice((32, 64, 256))))))


def private_key(chance: random.Random) -> str:
    label = chance.choice(("", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "))
    body = base64.b64encode(chance.randbytes(chance.choice((118, 300, 609, 1192)))).decode()
    lines = [body[place : place + 64] for place in range(0, len(body), 64)]
    return "\n".join(
        ("-----BEG" + f"IN {label}PRIV" + "ATE KEY-----", *lines, f"-----END {label}PRIV" + "ATE KEY-----")
    )


def password(chance: random.Random) -> str:
    """A third from a password manager, a third word and number and sign, a third letters and digits."""
    shape = chance.randrange(3)
    if shape == 0:
        signs = "!@#$%^&*()-_=+[]{}?.~"
        body = [chance.choice(LOWER), chance.choice(UPPER), chance.choice(DIGITS), chance.choice(signs)]
        body += [chance.choice(ALNUM + signs) for _ in range(chance.randint(8, 20))]
        chance.shuffle(body)
        return "".join(body)
    if shape == 1:
        word = chance.choice(WORDS)
        return (
            chance.choice((word, word.title()))
            + str(chance.randrange(10, 10_000))
            + chance.choice(("!", "", "#", "$", "@"))
        )
    return _between(chance, ALNUM, 10, 24)


def issued(chance: random.Random) -> str:
    """What an unnamed service hands out as a token or secret."""
    return chance.choice(
        (draw(chance, HEX, 32), draw(chance, HEX, 40), draw(chance, HEX, 64), draw(chance, ALNUM, 24),
         draw(chance, ALNUM, 32), draw(chance, ALNUM, 40), _base64url(chance.randbytes(32)),
         base64.b64encode(chance.randbytes(32)).decode(), str(uuid.UUID(int=chance.getrandbits(128), version=4)))
    )  # fmt: skip


def long_run(chance: random.Random) -> str:
    return chance.choice(
        (draw(chance, ALNUM, 32), draw(chance, ALNUM, 48), _base64url(chance.randbytes(32)), draw(chance, ALNUM, 64))
    )


def word_password(chance: random.Random) -> str:
    """A word or two, as people choose who need to remember them."""
    one, other = chance.choice(WORDS), chance.choice(WORDS)
    return chance.choice((one, one + other, one.title() + other.title(), f"{one}-{other}-{chance.choice(WORDS)}"))


def passphrase(chance: random.Random) -> str:
    """Four to six words with spaces between them."""
    return " ".join(chance.choice(WORDS) for _ in range(chance.randint(4, 6)))


Part = str | tuple[str, int]
"""Text as it stands, or so many characters of an alphabet."""

LAYOUTS: dict[str, tuple[tuple[Part, ...], ...]] = {
    "adobe": (("p8e" + "-", (ALNUM, 32)),),
    "age": (("AGE-SECRET" + "-KEY-1", ("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58)),),
    "airtable": (("pa" + "t", (ALNUM, 14), ".", (HEX, 64)),),
    "apify": (("apify" + "_api_", (ALNUM, 36)),),
    "artifactory": (("AK" + "Cp", (ALNUM, 69)), ("cmV" + "md", (ALNUM, 59))),
    "atlassian": (
        ("ATA" + "TT3", (URL_SAFE, 180), "=", (HEX.upper(), 8)),
        ("AT" + "BB", (ALNUM, 32)),
        ("BB" + "DC-", (ALNUM, 44)),
    ),
    "aws_bedrock": (("AB" + "SK", (BASE64, 128), "="),),
    "brevo": (("xkey" + "sib-", (HEX, 64), "-", (ALNUM, 16)),),
    "buildkite": (("bk" + "ua_", (HEX, 40)),),
    "circleci": (("CCI" + "PAT_", (ALNUM, 22), "_", (HEX, 40)),),
    "clojars": (("CLO" + "JARS_", (HEX, 60)),),
    "cloudflare": (
        ("cfu" + "t_", (ALNUM, 40), (HEX, 8)),
        ("cfa" + "t_", (ALNUM, 40), (HEX, 8)),
        ("cf" + "k_", (ALNUM, 40), (HEX, 8)),
        ("v1" + ".0-", (HEX, 24), "-", (HEX, 146)),
    ),
    "contentful": (("CF" + "PAT-", (URL_SAFE, 43)),),
    "crates": (("ci" + "o", (ALNUM, 32)), ("cio" + "_tp_", (ALNUM, 32))),
    "databricks": (("da" + "pi", (HEX, 32)), ("da" + "pi", (HEX, 32), "-2")),
    "deno": (("dd" + "p_", (ALNUM, 36)), ("dd" + "w_", (ALNUM, 36))),
    "doppler": (
        ("dp" + ".pt.", (ALNUM, 43)),
        ("dp" + ".st.", (ALNUM, 43)),
        ("dp" + ".st.prod_eu.", (ALNUM, 43)),
        ("dp" + ".scim.", (ALNUM, 43)),
        ("dp" + ".audit.", (ALNUM, 43)),
    ),
    "duffel": (("duff" + "el_live_", (URL_SAFE, 43)),),
    "dynatrace": (("dt0" + "c01.", (BASE32, 24), ".", (BASE32, 64)),),
    "easypost": (("EZ" + "AK", (ALNUM, 54)), ("EZ" + "TK", (ALNUM, 54))),
    "elevenlabs": (("sk" + "_", (HEX, 48)),),
    "facebook": (("EA" + "AM", (ALNUM, 160)), ("EA" + "AC", (ALNUM, 160))),
    "figma": (("fig" + "d_", (URL_SAFE, 40)),),
    "fireworks": (("fw" + "_", (ALNUM, 24)),),
    "fly": (("fo" + "1_", (URL_SAFE, 43)), ("fm" + "2_", (BASE64, 160), "==")),
    "frameio": (("fio" + "-u-", (URL_SAFE, 64)),),
    "groq": (("gs" + "k_", (ALNUM, 52)), ("gs" + "k_", (ALNUM, 48))),
    "heroku": (("HRKU" + "-AA", (URL_SAFE, 58)),),
    "hubspot": (("pat" + "-na1-", (HEX, 8), "-", (HEX, 4), "-", (HEX, 4), "-", (HEX, 4), "-", (HEX, 12)),),
    "infracost": (("ic" + "o-", (ALNUM, 32)),),
    "langsmith": (("lsv2" + "_pt_", (HEX, 32), "_", (HEX, 10)), ("lsv2" + "_sk_", (HEX, 32), "_", (HEX, 10))),
    "linear": (("lin" + "_api_", (ALNUM, 40)),),
    "mailgun": (("ke" + "y-", (HEX, 32)),),
    "neon": (("na" + "pi_", (LOWER + DIGITS, 64)),),
    "netlify": (("nf" + "p_", (ALNUM, 36)),),
    "newrelic": (("NR" + "AK-", (BASE32, 27)), ("NR" + "II-", (URL_SAFE.replace("_", ""), 32))),
    "notion": (("nt" + "n_", (DIGITS, 11), (ALNUM, 35)), ("sec" + "ret_", (ALNUM, 43))),
    "nvidia": (("nv" + "api-", (URL_SAFE, 64)),),
    "octopus": (("AP" + "I-", (BASE32, 26)),),
    "onepassword": (
        ("ops" + "_eyJ", (BASE64, 420)),
        ("A3" + "-", (BASE32, 6), "-", (BASE32, 6), "-", (BASE32, 5), "-", (BASE32, 5), "-", (BASE32, 5), "-",
         (BASE32, 5)),
    ),
    "openrouter": (("sk" + "-or-v1-", (HEX, 64)),),
    "openshift": (("sha" + "256~", (URL_SAFE, 43)),),
    "perplexity": (("pp" + "lx-", (ALNUM, 48)),),
    "pinecone": (("pc" + "sk_", (ALNUM, 6), "_", (ALNUM, 63)),),
    "planetscale": (
        ("pscale" + "_tkn_", (URL_SAFE, 43)),
        ("pscale" + "_pw_", (URL_SAFE, 43)),
        ("pscale" + "_oauth_", (URL_SAFE, 43)),
    ),
    "postman": (("PM" + "AK-", (HEX, 24), "-", (HEX, 34)),),
    "prefect": (("pn" + "u_", (ALNUM, 36)), ("pn" + "b_", (ALNUM, 36))),
    "pulumi": (("pu" + "l-", (HEX, 40)),),
    "readme": (("rd" + "me_", (LOWER + DIGITS, 70)),),
    "replicate": (("r8" + "_", (ALNUM, 37)),),
    "rubygems": (("ruby" + "gems_", (HEX, 48)),),
    "scalingo": (("tk" + "-us-", (URL_SAFE, 48)),),
    "sentry": (
        ("sntr" + "yu_", (HEX, 64)),
        ("sntr" + "ys_eyJpYXQiO", (ALNUM, 120), "=", "_", (BASE64, 43)),
    ),
    "shippo": (("shippo" + "_live_", (HEX, 40)),),
    "sourcegraph": (("sg" + "p_", (HEX, 16), "_", (HEX, 40)), ("sg" + "p_", (HEX, 40))),
    "square": (("sq0" + "atp-", (URL_SAFE, 22)), ("sq0" + "csp-", (URL_SAFE, 43))),
    "supabase": (("sb" + "p_", (HEX, 40)), ("sb" + "_secret_", (URL_SAFE, 22), "_", (URL_SAFE, 8))),
    "tailscale": (
        ("ts" + "key-auth-k", (ALNUM, 11), "CNTRL-", (ALNUM, 32)),
        ("ts" + "key-api-k", (ALNUM, 11), "-", (ALNUM, 32)),
    ),
    "tavily": (("tv" + "ly-", (ALNUM, 32)),),
    "terraform": (((ALNUM, 14), ".atlas" + "v1.", (ALNUM, 67)),),
    "typeform": (("tf" + "p_", (ALNUM, 44), "_", (ALNUM, 14)),),
    "xai": (("xa" + "i-", (ALNUM, 80)),),
    "yandex": (("AQ" + "VN", (URL_SAFE, 36)),),
}  # fmt: skip
"""How the tokens of an issuer are put together, each layout as often as the others."""


def laid_out(layouts: tuple[tuple[Part, ...], ...]) -> Maker:
    """Makes tokens of these layouts."""

    def maker(chance: random.Random) -> str:
        return "".join(part if isinstance(part, str) else draw(chance, *part) for part in chance.choice(layouts))

    return maker


MAKERS: dict[str, Maker] = {
    "aws_access_key": aws_access_key,
    "aws_secret_key": aws_secret_key,
    "gcp_api_key": gcp_api_key,
    "google_oauth": google_oauth,
    "azure_key": azure_key,
    "github": github,
    "gitlab": gitlab,
    "npm": npm,
    "pypi": pypi,
    "alibaba_access_key": alibaba_access_key,
    "webhook": webhook,
    "slack": slack,
    "stripe": stripe,
    "openai": openai,
    "anthropic": anthropic,
    "huggingface": huggingface,
    "sendgrid": sendgrid,
    "twilio": twilio,
    "telegram": telegram,
    "discord": discord,
    "digitalocean": digitalocean,
    "docker": docker,
    "vault": vault,
    "grafana": grafana,
    "shopify": shopify,
    "jwt": jwt,
    "private_key": private_key,
    "password": password,
    "url_password": password,
    "bearer": issued,
    "secret": issued,
    "high_entropy": long_run,
    "word_password": word_password,
    "passphrase": passphrase,
} | {kind: laid_out(layouts) for kind, layouts in LAYOUTS.items()}
