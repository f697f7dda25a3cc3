"""Published formats of credentials, as data: what a token starts with, which characters follow and how many.

A row is one format. Where the issuer publishes no length, the body is open upwards: formats have grown before, and a
token cut in the middle would leave its rest behind. Bodies therefore take every character of their alphabet, or a
fixed number followed by something else.
"""

from __future__ import annotations

import re
from functools import cache

import msgspec


class TokenFormat(msgspec.Struct, frozen=True):
    """Tokens of one kind.

    `triggers`: every such token contains one of them. `prefix`: regular expression of fixed width. `body`: regular
    expression of what follows, without captures. `source`: who says so. `random`: the letters of the body are mixed as
    chance mixes them, which tells a token from a long identifier that happens to start alike.
    """

    kind: str
    triggers: tuple[str, ...]
    prefix: str
    body: str
    source: str
    random: bool = False


_ALNUM = "[A-Za-z0-9]"
_URL = "[A-Za-z0-9_-]"  # base64url

_GITLAB = "docs.gitlab.com, Security, Token overview, Token prefixes; lengths: gitleaks rules for GitLab"
_SLACK = "docs.slack.dev, Token types; segments: gitleaks rules for Slack"
_GITHUB = "github.blog, Behind GitHub's new authentication token formats (2021): 36 base62 characters, up to 255 later"
_STRIPE = "docs.stripe.com, API keys; 24 to 99 base62 characters seen"

TOKEN_FORMATS = (
    TokenFormat(
        "aws_access_key",
        ("AKIA", "ASIA", "ABIA", "ACCA"),
        "A(?:KIA|SIA|BIA|CCA)",
        "[A-Z0-9]{16}(?![A-Za-z0-9+/_-])",
        "docs.aws.amazon.com, IAM identifiers, Understanding unique ID prefixes: 20 characters",
    ),
    TokenFormat(
        "gcp_api_key", ("AIza",), "AIza", f"{_URL}{{35}}(?!{_URL})", "GitHub secret scanning; gitleaks gcp-api-key"
    ),
    TokenFormat(
        "google_oauth", ("GOCSPX-",), "GOCSPX-", f"{_URL}{{28}}(?!{_URL})", "GitHub secret scanning: client secret"
    ),
    TokenFormat("google_oauth", ("ya29.",), r"ya29\.", "[A-Za-z0-9_.-]{30,}", "Google OAuth 2.0 access token"),
    TokenFormat(
        "azure_key",
        ("Q~",),
        r"[A-Za-z0-9_~.-]{3}[0-9]Q~",
        r"[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~.-])",
        "Microsoft Entra client secret; gitleaks azure-ad-client-secret",
    ),
    TokenFormat("github", ("ghp_", "gho_", "ghr_"), "gh[por]_", "[A-Za-z0-9_]{36,}", _GITHUB),
    TokenFormat(
        "github",
        ("ghs_", "ghu_"),
        "gh[su]_",
        rf"{_URL}{{36,}}(?:\.{_URL}{{8,}}){{0,2}}",
        f"{_GITHUB}; github.blog changelog (April 2026): installation tokens become ghs_, application, JWT",
    ),
    TokenFormat(
        "github", ("github_pat_",), "github_pat_", "[A-Za-z0-9_]{60,}", f"{_GITHUB}; fine-grained: 22 + _ + 59"
    ),
    TokenFormat("gitlab", ("glpat-",), "glpat-", rf"{_URL}{{20,}}(?:\.[0-9a-z]{{2}}\.?[0-9a-z]{{7,}})?", _GITLAB),
    TokenFormat(
        "gitlab",
        ("gldt-", "glrt-", "glft-", "glwt-"),
        "gl(?:dt|rt|ft|wt)-",
        rf"{_URL}{{20,}}(?:\.[0-9a-z.]{{9,}})?",
        _GITLAB,
    ),
    TokenFormat(
        "gitlab",
        ("glcbt-", "glptt-", "glimt-", "glrtr-", "gloas-"),
        "gl(?:cbt|ptt|imt|rtr|oas)-",
        rf"{_URL}{{20,}}(?:\.[0-9a-zA-Z_.-]{{9,}})?",
        _GITLAB,
    ),
    TokenFormat("gitlab", ("glsoat-", "glffct-"), "gl(?:soat|ffct)-", f"{_URL}{{20,}}", _GITLAB),
    TokenFormat("gitlab", ("glagent-",), "glagent-", f"{_URL}{{50,}}", _GITLAB),
    TokenFormat("gitlab", ("GR1348941",), "GR1348941", f"{_URL}{{20,}}", _GITLAB),
    TokenFormat(
        "npm",
        ("npm_",),
        "npm_",
        f"{_ALNUM}{{36,}}(?!_)",
        "github.blog, Announcing npm's new access token format (2021): as GitHub's",
        random=True,
    ),
    TokenFormat(
        "pypi",
        ("pypi-AgE",),
        "pypi-AgE",
        f"{_URL}{{50,}}",
        "warehouse, API tokens: a macaroon whose location, pypi.org or test.pypi.org, stands at the start",
    ),
    TokenFormat("slack", ("xox",), "xox[abeopsr]-", r"(?=[A-Za-z-]*[0-9])[A-Za-z0-9-]{12,}", _SLACK),
    TokenFormat("slack", ("xoxe.xox",), r"xoxe\.xox[bp]-", r"[0-9]-[A-Za-z0-9]{100,}", _SLACK),
    TokenFormat("slack", ("xapp-",), "xapp-", r"[0-9]-[A-Za-z0-9]{6,20}-[0-9]{6,20}-[A-Za-z0-9]{32,}", _SLACK),
    TokenFormat(
        "slack",
        ("hooks.slack.com/",),
        r"https://hooks\.slack\.com/",
        "(?:services|workflows|triggers)/[A-Za-z0-9_/-]{20,}",
        "docs.slack.dev, Sending messages using incoming webhooks: the URL is the credential",
    ),
    TokenFormat(
        "stripe", ("sk_live_", "sk_test_", "rk_live_", "rk_test_"), "[rs]k_(?:live|test)_", f"{_ALNUM}{{16,}}", _STRIPE
    ),
    TokenFormat("stripe", ("whsec_",), "whsec_", "[A-Za-z0-9+/]{24,}={0,2}", f"{_STRIPE}; webhook signing secret"),
    TokenFormat(
        "anthropic",
        ("sk-ant-",),
        "sk-ant-",
        f"[a-z0-9]{{2,12}}-{_URL}{{40,}}",
        "GitHub secret scanning; gitleaks anthropic rules: api03, admin01, oat01, ort01",
    ),
    TokenFormat(
        "openai",
        ("sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"),
        "sk-",
        f"(?:proj|svcacct|admin|None)-{_URL}{{20,}}",
        "GitHub secret scanning; no published length, 48 to 156 characters seen",
        random=True,
    ),
    TokenFormat(
        "openai", ("sk-",), "sk-", rf"{_ALNUM}{{32,}}(?!{_URL})", "legacy user key: 48 base62 characters", random=True
    ),
    TokenFormat(
        "huggingface",
        ("hf_",),
        "hf_",
        f"{_ALNUM}{{34}}(?![A-Za-z0-9_])",
        "huggingface.co, docs, User access tokens; gitleaks: 34 letters",
        random=True,
    ),
    TokenFormat(
        "sendgrid",
        ("SG.",),
        r"SG\.",
        rf"{_URL}{{16,32}}\.{_URL}{{32,64}}(?!{_URL})",
        "docs.sendgrid.com, API keys: 69 characters, SG. + 22 + . + 43",
    ),
    TokenFormat(
        "twilio", ("SK",), "SK", "[0-9a-f]{32}(?![A-Za-z0-9])", "twilio.com/docs, API keys: SID of 34 characters"
    ),
    TokenFormat(
        "digitalocean", ("_v1_",), "do[opr]_v1_", "[a-f0-9]{64}", "docs.digitalocean.com, personal access tokens"
    ),
    TokenFormat("docker", ("dckr_",), "dckr_[op]at_", f"{_URL}{{24,}}", "docs.docker.com, access tokens"),
    TokenFormat(
        "vault", ("hvs.", "hvb."), r"hv[bs]\.", f"{_URL}{{24,}}", "developer.hashicorp.com, Vault tokens", random=True
    ),
    TokenFormat(
        "grafana", ("glsa_",), "glsa_", f"{_ALNUM}{{32}}_[A-Fa-f0-9]{{8}}", "grafana.com/docs, service account tokens"
    ),
    TokenFormat("shopify", ("shp",), "shp(?:at|ca|pa|ss)_", "[a-fA-F0-9]{32}", "shopify.dev, access token prefixes"),
)

BASE64_URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
"""RFC 4648, section 5."""

PEM_BEGIN = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
PEM_END = r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
"""Textual encodings of RFC 7468; RFC 4880 writes BLOCK."""

_BREAK = r"(?:\s|\\[nrt]|\\\\[nrt])"
PEM_CUT = (
    rf"(?:{_BREAK}{{1,8}}+[A-Za-z-]{{3,20}}+: [^\n\\]{{1,80}}+){{0,4}}+"  # Proc-Type, DEK-Info, Version
    rf"(?:{_BREAK}{{1,80}}+[A-Za-z0-9+/]{{16,}}+={{0,2}})++"
    rf"(?:(?:\n|\\n)[ \t]{{0,80}}[A-Za-z0-9+/]{{1,15}}={{0,2}}(?![A-Za-z0-9+/ ]))?"
)
"""What follows the header of a block that ends before its footer: lines of base64, the last one may be short."""

JWT = r"ey[A-Za-z0-9](?<![A-Za-z0-9_-]ey.)[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{2,}\.[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+){0,2}"
"""RFC 7519: base64url parts between dots; the fourth and fifth belong to an encrypted one (RFC 7516)."""

JWT_TRIGGERS = ("eyJ", "eyA", "ewo", "ew0")
"""Base64 of an opening brace with a quote, a space or a line break after it."""

TELEGRAM = r":(?<=[0-9]{8}:)[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"
"""core.telegram.org/bots/api, Authorizing your bot; detect-secrets: 8 to 10 digits, a colon, 35 characters."""

DISCORD = r"\.(?<=[A-Za-z0-9_-]{23}\.)[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,}"
"""discord.py, Tokens: the user number in base64 (17 to 19 digits), a time in 6 characters, an HMAC in 27 or 38."""

AZURE_ASSIGNED = (
    r"(?:AccountKey|SharedAccessKey|SharedSecretValue)=([A-Za-z0-9+/]{40,}={0,2})|"
    r"[?&;]sig=([A-Za-z0-9%+/]{40,}={0,2})"
)
"""learn.microsoft.com: connection strings of Azure Storage (64 bytes in base64), Service Bus (32), SAS signatures."""

AZURE_TRIGGERS = ("AccountKey", "SharedAccessKey", "SharedSecretValue", "sig=")

AWS_NAMED = (
    r"(?i:secret[_ .-]?access[_ .-]?key|aws[_ .-]?secret(?:[_ .-]?key)?|secret[_ .-]?key)"
    r"[^A-Za-z0-9/+\n]{0,12}(?:(?:is|was|to|are)[ :\"'`]{1,4})?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
)
"""docs.aws.amazon.com, IAM, Managing access keys: 40 characters of base64 beside the key's name."""

AWS_ALONE = r"(?<![A-Za-z0-9/+=_.-])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_.-])"
"""The same without a name, near an access key."""

USER_INFORMATION = r"://([^\s:/@?#\"'<>`]{0,128}):([^\s/\"'<>`]{1,256})@(?=[A-Za-z0-9\[$%{<_])"
"""RFC 3986, 3.2.1: user information before the host. An @ inside the password is not allowed, and frequent."""

AUTHORIZATION = r"(?i:\bbearer|\bbasic)(?:[ \t]{1,4}|%20|\+)[\"']?([A-Za-z0-9._~+/-]{8,}={0,2})"
"""RFC 6750, 2.1 and RFC 7617: the scheme, a space, token68."""


@cache
def pattern(form: TokenFormat) -> re.Pattern[str]:
    """The whole of a token. Before it stands no letter or digit, or an escape that ends in one (\\n, %3D)."""
    prefix = form.prefix
    alone = rf"(?:(?<![A-Za-z0-9]{prefix})|(?<=\\[nrt]{prefix})|(?<=%[0-9A-Fa-f][0-9A-Fa-f]{prefix}))"
    return re.compile(f"{prefix}{alone}({form.body})", re.ASCII)
