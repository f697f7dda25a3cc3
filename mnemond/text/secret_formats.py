"""Published shapes of credentials that more than a prefix and an alphabet make: as patterns, each with its source."""

from __future__ import annotations

import re
from functools import cache

import msgspec

from mnemond.text.resources import regex

# Published formats of tokens, as data: what a token starts with, which characters follow and how many.
#
# A row is one format. Where the issuer publishes no length, the body is open upwards: formats have grown before, and
# a token cut in the middle would leave its rest behind. Bodies therefore take every character of their alphabet, or a
# fixed number followed by something else.


class TokenFormat(msgspec.Struct, frozen=True):
    """Tokens of one kind.

    `triggers`: every such token contains one of them. `prefix`: regular expression of fixed width. `body`: regular
    expression of what follows, without captures; neither takes white space or what is no ASCII. `source`: who says so.
    `random`: the letters of the body are mixed as chance mixes them, which tells a token from a long identifier that
    happens to start alike.
    """

    kind: str
    triggers: tuple[str, ...]
    prefix: str
    body: str
    source: str
    random: bool = False


def _after(kind: str, prefix: str, body: str, source: str, *, random: bool = False) -> TokenFormat:
    """The usual format: a prefix of its own and what follows."""
    return TokenFormat(kind, (prefix,), re.escape(prefix), body, source, random)


_ALNUM = "[A-Za-z0-9]"
_NO_ALNUM = "(?![A-Za-z0-9])"
_URL = "[A-Za-z0-9_-]"  # base64url

_GITLAB = "docs.gitlab.com, Security, Token overview, Token prefixes; lengths: gitleaks rules for GitLab"
_SLACK = "docs.slack.dev, Token types; segments: gitleaks rules for Slack"
_GITHUB = "github.blog, Behind GitHub's new authentication token formats (2021): 36 base62 characters, up to 255 later"
_GITLEAKS = "gitleaks, default rules"
_UUID = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_CLOUDFLARE = "developers.cloudflare.com, API, Token formats: 40 characters and a check sum"
_WEBHOOK = "discord.com/developers, Execute webhook: the URL is the credential"
_TRUFFLEHOG = "trufflehog, detectors"
_DOPPLER = f"docs.doppler.com, Auth tokens; {_TRUFFLEHOG}: 40 to 44 characters"
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
        "stripe",
        ("sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_prod_", "rk_prod_"),
        "[rs]k_(?:live|test|prod)_",
        f"{_ALNUM}{{16,}}",
        _STRIPE,
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
    _after(
        "huggingface",
        "api_org_",
        f"{_ALNUM}{{34}}(?![A-Za-z0-9_])",
        f"{_GITLEAKS}: organisation token of 34 letters",
        random=True,
    ),
    TokenFormat("shopify", ("shptka_",), "shptka_", "[a-fA-F0-9]{32}", "shopify.dev, Theme Access passwords"),
    _after("google_oauth", "1//0", f"{_URL}{{40,}}", "developers.google.com, OAuth 2.0, refresh token", random=True),
    # models and what is built from them
    _after("groq", "gsk_", f"{_ALNUM}{{48,}}", f"{_GITLEAKS}: 48, {_TRUFFLEHOG}: 52 characters"),
    _after("xai", "xai-", "[A-Za-z0-9_]{80,}", f"{_TRUFFLEHOG}: 80 characters"),
    _after("perplexity", "pplx-", f"{_ALNUM}{{48,}}", _GITLEAKS),
    _after("replicate", "r8_", f"{_URL}{{37}}(?!{_URL})", f"replicate.com/docs: 40 characters; {_TRUFFLEHOG}"),
    _after("openrouter", "sk-or-v1-", "[a-f0-9]{64}", "openrouter.ai/docs, API keys"),
    _after("elevenlabs", "sk_", f"[a-f0-9]{{48}}{_NO_ALNUM}", _TRUFFLEHOG),
    _after("nvidia", "nvapi-", f"{_URL}{{60,}}", f"{_TRUFFLEHOG}: 64 characters"),
    TokenFormat("langsmith", ("lsv2_",), "lsv2_(?:pt|sk)_", f"[a-f0-9]{{32}}_[a-f0-9]{{10}}{_NO_ALNUM}", _TRUFFLEHOG),
    _after("pinecone", "pcsk_", "[A-Za-z0-9_]{50,}", "docs.pinecone.io, API keys; 70 characters seen"),
    _after("fireworks", "fw_", f"{_ALNUM}{{22,}}(?![_-])", "docs.fireworks.ai, API keys", random=True),
    _after("tavily", "tvly-", "[A-Za-z0-9-]{28,}", "docs.tavily.com, API keys; 32 characters seen", random=True),
    _after("apify", "apify_api_", f"{_ALNUM}{{36,}}", _TRUFFLEHOG),
    # clouds, hosting, data bases
    _after("aws_bedrock", "ABSK", "[A-Za-z0-9+/]{100,}={0,2}", f"{_GITLEAKS}: 109 to 269 characters of base64"),
    TokenFormat("cloudflare", ("cfut_", "cfat_"), "cf[ua]t_", f"{_ALNUM}{{40,}}", _CLOUDFLARE),
    _after("cloudflare", "cfk_", f"{_ALNUM}{{40,}}", _CLOUDFLARE),
    _after("cloudflare", "v1.0-", "[a-f0-9]{24}-[a-f0-9]{146}", f"{_GITLEAKS}: origin CA key"),
    _after("databricks", "dapi", f"[a-f0-9]{{32}}(?:-[0-9])?{_NO_ALNUM}", _GITLEAKS),
    TokenFormat("deno", ("ddp_", "ddw_"), "dd[pw]_", f"{_ALNUM}{{36}}{_NO_ALNUM}", _TRUFFLEHOG, random=True),
    TokenFormat("doppler", ("dp.",), r"dp\.(?:ct|pt|sa)\.", f"{_ALNUM}{{40,}}", _DOPPLER),
    _after("doppler", "dp.st.", rf"(?:[a-z0-9_-]{{2,35}}\.)?{_ALNUM}{{40,}}", f"{_DOPPLER}, the environment between"),
    _after("doppler", "dp.scim.", f"{_ALNUM}{{40,}}", _DOPPLER),
    _after("doppler", "dp.audit.", f"{_ALNUM}{{40,}}", _DOPPLER),
    _after("fly", "fo1_", f"{_URL}{{43}}(?!{_URL})", _GITLEAKS),
    TokenFormat("fly", ("fm1",), "fm1[ar]_", "[A-Za-z0-9+/]{100,}={0,3}", _GITLEAKS),
    _after("fly", "fm2_", "[A-Za-z0-9+/]{100,}={0,3}", _GITLEAKS),
    _after("heroku", "HRKU-AA", f"{_URL}{{58,}}", _GITLEAKS),
    _after("neon", "napi_", f"{_ALNUM}{{40,}}(?!_)", "neon.tech/docs, API keys"),
    _after("netlify", "nfp_", "[A-Za-z0-9_]{36,}", _TRUFFLEHOG, random=True),
    _after("openshift", "sha256~", f"{_URL}{{43}}(?!{_URL})", f"{_GITLEAKS}: user token"),
    _after("planetscale", "pscale_tkn_", r"[A-Za-z0-9_=-]{32,}", _GITLEAKS),
    _after("planetscale", "pscale_oauth_", r"[A-Za-z0-9_=-]{32,}", _GITLEAKS),
    _after("planetscale", "pscale_pw_", r"[A-Za-z0-9_=-]{32,}", _GITLEAKS),
    _after("pulumi", "pul-", f"[a-f0-9]{{40}}{_NO_ALNUM}", _GITLEAKS),
    _after("scalingo", "tk-us-", f"{_URL}{{48}}(?!{_URL})", _GITLEAKS),
    _after("supabase", "sbp_", f"[a-z0-9]{{40}}{_NO_ALNUM}", f"{_TRUFFLEHOG}: personal access token"),
    _after("supabase", "sb_secret_", f"{_URL}{{31,}}", "supabase.com/docs, API keys: 22 characters, _, 8 of check sum"),
    _after("tailscale", "tskey-", f"[a-z]{{3,12}}-{_ALNUM}{{6,24}}-{_ALNUM}{{16,}}", _TRUFFLEHOG),
    TokenFormat(
        "terraform",
        (".atlasv1.",),
        rf"{_ALNUM}{{14}}\.atlasv1\.",
        f"{_URL}{{60,}}",
        f"{_GITLEAKS}: 60 to 70",
    ),
    _after("yandex", "AQVN", f"{_URL}{{35,38}}(?!{_URL})", f"{_GITLEAKS}: API key", random=True),
    # code, packages, builds
    _after("artifactory", "AKCp", f"{_ALNUM}{{69}}{_NO_ALNUM}", _GITLEAKS),
    _after("artifactory", "cmVmd", f"{_ALNUM}{{59}}{_NO_ALNUM}", f"{_GITLEAKS}: reference token"),
    _after("buildkite", "bkua_", f"[a-z0-9]{{40}}{_NO_ALNUM}", _TRUFFLEHOG),
    _after("circleci", "CCIPAT_", f"{_ALNUM}{{22}}_[A-Fa-f0-9]{{40}}", _TRUFFLEHOG),
    _after("clojars", "CLOJARS_", f"[a-z0-9]{{60}}{_NO_ALNUM}", _GITLEAKS),
    _after(
        "crates", "cio", f"{_ALNUM}{{32}}(?![A-Za-z0-9_-])", "crates.io, utils/token.rs: 32 characters", random=True
    ),
    _after(
        "crates", "cio_tp_", f"{_ALNUM}{{32}}{_NO_ALNUM}", "crates.io, trustpub/access_token.rs: 31 and a check sum"
    ),
    _after("infracost", "ico-", f"{_ALNUM}{{32}}(?![A-Za-z0-9_-])", _GITLEAKS, random=True),
    _after("octopus", "API-", "(?=[A-Z]*[0-9])[A-Z0-9]{26,}(?![A-Za-z0-9_-])", _GITLEAKS),
    _after("postman", "PMAK-", f"[a-f0-9]{{24}}-[a-f0-9]{{34}}{_NO_ALNUM}", _GITLEAKS),
    TokenFormat("prefect", ("pnu_", "pnb_"), "pn[ub]_", f"{_ALNUM}{{36}}{_NO_ALNUM}", _GITLEAKS),
    _after("readme", "rdme_", f"[a-z0-9]{{70}}{_NO_ALNUM}", _GITLEAKS),
    _after("rubygems", "rubygems_", f"[a-f0-9]{{48}}{_NO_ALNUM}", _GITLEAKS),
    _after("sourcegraph", "sgp_", f"(?:(?:[a-fA-F0-9]{{16}}|local)_)?[a-fA-F0-9]{{40}}{_NO_ALNUM}", _GITLEAKS),
    # work, mail, shops, watching
    _after("adobe", "p8e-", "[A-Za-z0-9]{32}(?![A-Za-z0-9_-])", f"{_GITLEAKS}: client secret"),
    _after("airtable", "pat", rf"{_ALNUM}{{14}}\.[a-f0-9]{{64}}{_NO_ALNUM}", _GITLEAKS),
    TokenFormat("atlassian", ("ATATT3", "ATCTT3"), "AT[AC]TT3", "[A-Za-z0-9_=-]{100,}", f"{_GITLEAKS}: 186 characters"),
    _after("atlassian", "ATBB", "[A-Za-z0-9_=-]{24,}", f"{_TRUFFLEHOG}: Bitbucket app password", random=True),
    _after("atlassian", "BBDC-", "[A-Za-z0-9+/_-]{40,}", f"{_TRUFFLEHOG}: Bitbucket data center"),
    _after("brevo", "xkeysib-", "[a-f0-9]{64}-[A-Za-z0-9]{16}", _GITLEAKS),
    _after("contentful", "CFPAT-", f"{_URL}{{40,}}", _TRUFFLEHOG),
    _after("discord", "discord.com/api/webhooks/", f"[0-9]{{17,20}}/{_URL}{{60,}}", _WEBHOOK),
    _after("discord", "discordapp.com/api/webhooks/", f"[0-9]{{17,20}}/{_URL}{{60,}}", _WEBHOOK),
    TokenFormat("duffel", ("duffel_",), "duffel_(?:test|live)_", f"{_URL}{{43,}}", _GITLEAKS),
    TokenFormat("dynatrace", ("dt0",), r"dt0[a-zA-Z][0-9][0-9]\.", r"[A-Z0-9]{24}\.[A-Z0-9]{64}", _GITLEAKS),
    TokenFormat("easypost", ("EZAK", "EZTK"), "EZ[AT]K", f"{_ALNUM}{{54}}{_NO_ALNUM}", _GITLEAKS),
    TokenFormat(
        "facebook", ("EAAM", "EAAC"), "EAA[MC]", f"{_ALNUM}{{100,}}", f"{_GITLEAKS}: page access token", random=True
    ),
    _after("figma", "figd_", f"{_URL}{{38,}}", f"{_TRUFFLEHOG}: 40 characters"),
    _after("frameio", "fio-u-", f"{_URL}{{60,}}", f"{_GITLEAKS}: 64 characters"),
    _after("grafana", "glc_", "[A-Za-z0-9+/]{32,}={0,3}", f"{_GITLEAKS}: access policy token"),
    TokenFormat("hubspot", ("pat-na1-", "pat-eu1-"), "pat-(?:na|eu)1-", f"{_UUID}{_NO_ALNUM}", _TRUFFLEHOG),
    _after("linear", "lin_api_", f"{_ALNUM}{{40,}}", _GITLEAKS),
    _after("mailgun", "key-", "(?<![_-]key-)[a-f0-9]{32}(?![A-Za-z0-9_-])", _GITLEAKS),
    TokenFormat("newrelic", ("NRAK-", "NRII-"), "NR(?:AK|II)-", "[A-Za-z0-9-]{27,}", _GITLEAKS),
    _after("notion", "ntn_", f"[0-9]{{11}}{_ALNUM}{{35}}{_NO_ALNUM}", _GITLEAKS),
    _after("notion", "secret_", f"{_ALNUM}{{43}}(?![A-Za-z0-9_])", f"{_TRUFFLEHOG}: before 2024", random=True),
    TokenFormat("onepassword", ("ops_eyJ",), "ops_eyJ", "[A-Za-z0-9+/_-]{200,}={0,3}", f"{_GITLEAKS}: 250 characters"),
    _after(
        "onepassword",
        "A3-",
        "[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}(?![A-Za-z0-9-])",
        f"{_GITLEAKS}: secret key of an account",
    ),
    _after("sentry", "sntryu_", f"[a-f0-9]{{64}}{_NO_ALNUM}", _GITLEAKS),
    _after(
        "sentry",
        "sntrys_",
        "ey[A-Za-z0-9+/]{20,}={0,2}_[A-Za-z0-9+/]{43}",
        f"sentry, orgauthtoken_token.py; {_GITLEAKS}",
    ),
    TokenFormat("shippo", ("shippo_",), "shippo_(?:live|test)_", "[a-fA-F0-9]{40}", _GITLEAKS),
    TokenFormat("square", ("sq0",), "sq0(?:atp|csp)-", f"{_URL}{{22,}}", f"{_GITLEAKS}; csp: trufflehog"),
    _after("typeform", "tfp_", "[A-Za-z0-9_=-]{40,}", f"{_GITLEAKS}: 59 characters"),
    # keys of encryption
    _after(
        "age", "AGE-SECRET-KEY-1", "[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}", f"{_GITLEAKS}; age, bech32 of 32 bytes"
    ),
)


@cache
def pattern(form: TokenFormat) -> re.Pattern[str]:
    """The whole of a token. Before it stands no letter or digit, or an escape that ends in one (\\n, %3D)."""
    prefix = form.prefix
    alone = rf"(?:(?<![A-Za-z0-9]{prefix})|(?<=\\[nrt]{prefix})|(?<=%[0-9A-Fa-f][0-9A-Fa-f]{prefix}))"
    return regex(f"{prefix}{alone}({form.body})", re.ASCII)


BASE64_URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
"""RFC 4648, section 5."""

PEM_BEGIN = regex(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----", re.ASCII)
PEM_END = regex(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----", re.ASCII)
"""Textual encodings of RFC 7468; RFC 4880 writes BLOCK."""

_BREAK = r"(?:\s|\\[nrt]|\\\\[nrt])"
PEM_CUT = regex(
    rf"(?:{_BREAK}{{1,8}}[A-Za-z-]{{3,20}}+: [^\n\\]{{1,80}}+){{0,4}}"  # Proc-Type, DEK-Info, Version
    rf"(?:{_BREAK}{{1,80}}[A-Za-z0-9+/]{{16,}}+={{0,2}})+"
    rf"(?:(?:\n|\\n)[ \t]{{0,80}}[A-Za-z0-9+/]{{1,15}}={{0,2}}(?![A-Za-z0-9+/ ]))?",
    re.ASCII,
)
"""What follows the header of a block that ends before its footer: lines of base64, the last one may be short."""

JWT = regex(
    r"e[yw][A-Za-z0-9](?<![A-Za-z0-9_-]e[yw].)[A-Za-z0-9_-]{8,}"
    r"\.[A-Za-z0-9_-]{2,}\.[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+){0,2}",
    re.ASCII,
)
"""RFC 7519: base64url parts between dots; the fourth and fifth belong to an encrypted one (RFC 7516)."""

JWT_TRIGGERS = ("eyJ", "eyA", "ewo", "ew0")
"""Base64 of an opening brace with a quote, a space or a line break after it."""

TELEGRAM = regex(r":(?<=[0-9]{8}:)[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])", re.ASCII)
"""core.telegram.org/bots/api, Authorizing your bot; detect-secrets: 8 to 10 digits, a colon, 35 characters."""

DISCORD = regex(r"\.(?<=[A-Za-z0-9_-]{23}\.)[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,}", re.ASCII)
"""discord.py, Tokens: the user number in base64 (17 to 19 digits), a time in 6 characters, an HMAC in 27 or 38."""

AZURE_ASSIGNED = regex(
    r"(?:AccountKey|SharedAccessKey|SharedSecretValue)=([A-Za-z0-9+/]{40,}={0,2})|"
    r"[?&;]sig=([A-Za-z0-9%+/]{40,}={0,2})",
    re.ASCII,
)
"""learn.microsoft.com: connection strings of Azure Storage (64 bytes in base64), Service Bus (32), SAS signatures."""

AZURE_TRIGGERS = ("AccountKey", "SharedAccessKey", "SharedSecretValue", "sig=")

AWS_NAMED = regex(
    r"(?i:secret[_ .-]?access[_ .-]?key|aws[_ .-]?secret(?:[_ .-]?key)?|secret[_ .-]?key)"
    r"[^A-Za-z0-9/+\n]{0,12}(?:(?:is|was|to|are)[ :\"'`]{1,4})?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
    re.ASCII,
)
"""docs.aws.amazon.com, IAM, Managing access keys: 40 characters of base64 beside the key's name."""

AWS_ALONE = regex(r"(?<![A-Za-z0-9/+=_.-])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_.-])", re.ASCII)
"""The same without a name, near an access key."""

USER_INFORMATION = regex(r"://([^\s:/@?#\"'<>`]{0,128}):([^\s/\"'<>`]{1,256})@(?=[A-Za-z0-9\[$%{<_])", re.ASCII)
"""RFC 3986, 3.2.1: user information before the host. An @ inside the password is not allowed, and frequent."""

NO_PASSWORDS = ("x-oauth-basic", "x-token-auth")
"""docs.github.com, support.atlassian.com: what stands for the password where a token stands for the user."""

USER_TOKEN = regex(
    rf"://([A-Za-z0-9_.~-]{{20,256}})(:(?:{'|'.join(NO_PASSWORDS)})?)?@(?=[A-Za-z0-9\[$%{{<_])", re.ASCII
)
"""A token in the place of the user. Hexadecimal digits without the rest are what Sentry calls a public key."""

AUTHORIZATION = regex(r"(?i:\bbearer|\bbasic)(?:[ \t]{1,4}|%20|\+)[\"']?([A-Za-z0-9._~+/-]{8,}={0,2})", re.ASCII)
"""RFC 6750, 2.1 and RFC 7617: the scheme, a space, token68."""
