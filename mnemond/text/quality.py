"""What makes a memory grow stale or say little later: advice that is returned and never blocks (spec 6.7).

Secrets are not looked for here; they have rules and consequences of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import msgspec

from mnemond.text.cues import Reading, reading
from mnemond.text.resources import regex, words_of
from mnemond.text.tokens import latin_words, tokens

# The patterns behind quality warnings, as data (spec 6.7): English and Chinese, every repeat bounded.


class QualityPattern(msgspec.Struct, frozen=True):
    """`needles`: one of them stands in every lower-cased text that `regex` can match, or the regex is not tried.

    That is told faster of an ASCII text: it has the `sign` and, where there are any, one of the `words` as a word of
    its own. `escape`, found at the end of the 40 characters before a match, excuses it.
    """

    code: str
    label: str
    needles: tuple[str, ...]
    regex: re.Pattern[str]
    escape: re.Pattern[str] | None
    words: frozenset[str]
    sign: str

    def may_be_in(self, lowered: str, words: frozenset[str] | None) -> bool:
        """Whether to try it on a text; `words` are its `latin_words`, None where it is not ASCII."""
        if words is not None and (self.sign not in lowered or (self.words and self.words.isdisjoint(words))):
            return False
        return any(needle in lowered for needle in self.needles)


def _pattern(
    code: str,
    label: str,
    needles: tuple[str, ...],
    *branches: str,
    words: str = "",
    sign: str = "",
    escape: str | None = None,
) -> QualityPattern:
    excuse = regex(rf"(?:{escape})\Z", re.IGNORECASE) if escape else None
    found = regex("|".join(branches), re.IGNORECASE)
    return QualityPattern(code, label, needles, found, excuse, frozenset(words.split()), sign)


_RESOURCE = (
    "(?:resource|instance|node|pod|container|file|test|row|record|table|server|host|bucket|volume|endpoint|service|module|"
    "package|item|entry|ticket|issue|commit|document|object|cluster|replica|shard|queue|topic|user|account)(?:s|es)?"
)
_MONTH = "(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]{0,6}"
_SEPARATOR = r"[\W_]{1,4}"
_EARLIER = "(?:previous|prior|above|earlier|preceding|foregoing|existing|original|system)"
_ORDERS = (
    "(?:instruction|prompt|rule|message|direction|guideline|context|command|order|directive|constraint|polic(?:y|ie))s?"
)
_LIMIT = r"\b(?:under|below|most|max|maximum|limits?|limited|within|than|exceeds?|over|to|of|is|first|last)\W{1,3}"

_CLAUSE_END = r"(?=\s?(?:[.!,;:…]|\Z|\band\b))"
_INSTRUCTION = "Reads like an instruction to a model; recall shows it as data, and it will not be obeyed."

PATTERNS: tuple[QualityPattern, ...] = (
    _pattern(
        "instance_id",
        "Names a cloud resource by its id, which changes when the resource is replaced.",
        ("i-", "vol-", "snap-", "ami-", "eni-", "vpc-", "subnet-", "sg-", "rtb-", "igw-", "nat-", "ins-", "eipalloc-"),
        r"(?<![A-Za-z0-9-])(?:i|vol|snap|ami|eni|vpc|subnet|sg|rtb|igw|nat|eipalloc)-[0-9a-f]{8}(?:[0-9a-f]{9})?(?![\w-])",
        r"(?<![A-Za-z0-9-])i-(?=[a-z]{0,20}\d)[0-9a-z]{18,22}(?![\w-])",
        r"(?<![A-Za-z0-9-])ins-(?=[a-z]{0,8}\d)[0-9a-z]{8}(?![\w-])",
        words="i vol snap ami eni vpc subnet sg rtb igw nat ins eipalloc",
        sign="-",
    ),
    _pattern(
        "resource_count",
        "Counts resources, and the count will change.",
        (" total", "total of ", "共"),
        rf"\b\d[\d,]{{0,12}}\s(?:[a-z-]{{2,20}}\s)?{_RESOURCE}\s(?:in\s)?total\b",
        rf"\btotal\sof\s\d[\d,]{{0,12}}\s(?:[a-z-]{{2,20}}\s)?{_RESOURCE}\b",
        r"(?:总|一)?共(?:计|有|计有)?\s?\d{1,9}\s?[个台条张份]?(?:云)?(?:资源|实例|节点|容器|文件|测试|记录|服务|表|用例)",
        words="total",
    ),
    _pattern(
        "all_verified",
        "Claims that everything was verified at the time; it says nothing about later.",
        ("verified", "验证", "核实"),
        r"(?<!\bnot\s)\b(?:all|every|everything)\b(?:(?!\bnot\b)[^.!?\n]){0,60}?\bverified\b",
        r"(?:全部|所有|每个|均|都)[^。！？\n]{0,30}?(?:验证|核实)(?:通过|完毕|过|了|完成|无误)",
        words="verified",
    ),
    _pattern(
        "state_clean",
        "Says that the state is clean, which holds for a moment.",
        ("clean", "干净"),
        r"\bstate(?:\s(?:is|was|now|file))?[\s:=]{1,2}clean\b",
        r"\b(?:working\s(?:tree|copy|directory)|worktree)(?:\s(?:is|was))?\sclean\b",
        r"(?:状态|工作区|工作树)(?:是|很|为|已)?干净",
        words="clean",
    ),
    _pattern(
        "deployment_log",
        "Reports how something was deployed or finished, a log entry rather than knowledge.",
        (" via ", "通过"),
        r"\b(?:deployed|completed|applied)\svia\b",
        r"已(?:经)?通过[^。！？，,\n]{1,30}?(?:部署|应用|完成|上线|发布)",
        r"通过[^。！？，,\n]{1,30}?(?:部署|上线|发布)(?:完成|成功|完毕)",
        words="via",
    ),
    _pattern(
        "line_reference",
        "Points to a line number, which moves with the next edit.",
        ("line", "行"),
        r"\blines?\s#?\d{1,6}(?:\s?[-–]\s?\d{1,6})?\b(?!%)",
        r"第\s?\d{1,6}(?:\s?[-–~到至]\s?\d{1,6})?\s?行(?![星业程为动政])",
        words="line lines",
        escape=r"\b(?:metro|subway|tube|bus|train|tram|rail|production|assembly|phone|pipe|product|max|command)[\s-]",
    ),
    _pattern(
        "line_count",
        "Counts lines, and the count will change.",
        ("line", "行"),
        r"\d(?<![\d.,]\d)\d{1,6}(?:,\d{3})?[\s-](?:lines?|loc)\b",
        r"(?<![\d.,第到至~–-])(?<![第到至] )\d{2,7}\s?[余多]?行(?:代码|(?![\u4e00-\u9fff]))",
        words="line lines loc",
        escape=rf"{_LIMIT}|[<≤]=?\s?|不超过|不得超过|不能超过|最多|至多|上限|限制在|少于|小于|以内|每",
    ),
    _pattern(
        "symbol_line",
        "Points to a line of code, which moves with the next edit.",
        (":0", ":1", ":2", ":3", ":4", ":5", ":6", ":7", ":8", ":9"),
        r"(?<![A-Za-z0-9_.@:/\\-])(?:[./~]{0,3}[A-Za-z0-9_-][\w-]{0,60}[./\\]){0,12}[A-Za-z_][A-Za-z0-9_-]{0,80}(?:\(\))?:\d{1,6}(?::\d{1,4})?",
        sign=":",
    ),
    _pattern(
        "value_change",
        "Records how a value changed; what holds now is worth more.",
        ("→", "->", "=>", "➜", "⇒"),
        r"(?<![\w.])(?<!\d[,/-])[$€£¥]?\d[\d,]{0,12}(?:\.\d{1,6})?\s?(?:%|[a-z]{1,4})?\s?(?:→|-{1,2}>|=>|➜|⇒)\s?[$€£¥]?\d[\d,]{0,12}(?:\.\d{1,6})?(?![\w.]*\.\d)",
        sign=">",
    ),
    _pattern(
        "currently",
        "Describes the present without saying when that was.",
        ("currently", "目前", "当前", "眼下", "现阶段"),
        r"\bcurrently\b",
        r"目前|眼下|现阶段|当前(?!目录|用户|文件|行|时间|页|窗口|分支|会话|进程|线程|对象|路径|日期|工作目录|上下文|版本号|节点|作用域)",
        words="currently",
    ),
    _pattern(
        "not_yet",
        "Says what is not done yet, which will stop being true.",
        ("yet", "尚未", "还没", "暂未", "暂不", "还未"),
        r"\bnot\syet\b",
        r"\b(?:not|[a-z]{2,6}n['’]t)\s(?:[\w'’]{1,20}\s){1,6}yet\b(?!\sanother|\sagain|\sto\b)",
        r"尚未|还没有?(?!关系|问题)|还未|暂未|暂不",
        words="yet",
    ),
    _pattern(
        "todo",
        "Holds a task rather than knowledge.",
        ("todo", "fixme", "tbd", "待办", "待完成", "待处理"),
        r"(?-i:\b(?:TODO|FIXME|TBD)\b)(?!\s(?:comments?|lists?|apps?|tags?|markers?)\b)|\btodo:",
        r"待办(?!清单|列表|应用)|待完成|待处理",
        words="todo fixme tbd",
        escape=r"\b(?:remov|replac|clean|add|resolv|address|delet|drop|fix)[a-z]{0,4}\s(?:up\s)?(?:(?:an?|the|old|this|some|all|any|obsolete|an\sobsolete)\s)?"
        r"|\b(?:an?|the|old|stale)\s|`",
    ),
    _pattern(
        "as_of",
        "Holds as of one date only.",
        ("as of ", "截至", "截止"),
        rf"\bas\sof\s(?:the\s)?(?:(?:early|late|mid)[\s-])?(?:{_MONTH}\b|(?:19|20)\d\d\b|\d{{1,2}}[/.-]\d{{1,2}}\b|"
        r"\d{1,2}(?:st|nd|rd|th)?\s[a-z]{3,9}\b|q[1-4]\b|today|now\b|yesterday|this\s(?:week|month|morning|year)|"
        r"last\s(?:week|month|year)|writing|(?:mon|tues|wednes|thurs|fri|satur|sun)day)",
        r"截[至止](?:到|于)?\s?(?:\d{1,4}\s?[年月日号./-]|今天|今日|昨天|目前|现在|本周|本月|上周|上月|今年|去年)",
        words="as",
    ),
    _pattern(
        "next_step",
        "Plans a next step, which is soon past.",
        ("next step", "下一步", "接下来要", "后续步骤"),
        r"\bnext\ssteps?\b",
        r"下一步|接下来要|后续步骤",
        words="step steps",
    ),
    _pattern(
        "phase_done",
        "Reports progress of a plan.",
        ("done", "complete", "finish", "完成", "结束"),
        r"\b(?:phase|stage|milestone|step|sprint)\s#?(?:\d{1,3}|[ivx]{1,4}|one|two|three|four|five)\s?"
        r"(?:(?:is|was|now|all|has been)\s)?[:(✅-]{0,2}\s?(?:done|completed?|finished)\b",
        r"第?\s?[\d一二三四五六七八九十]{1,3}\s?个?(?:阶段|里程碑)(?:已经|已|全部)?(?:完成|结束)",
        r"阶段\s?[\d一二三四五六七八九十]{1,3}\s?(?:已经|已|全部)?(?:完成|结束)",
        words="phase stage milestone step sprint",
    ),
    _pattern(
        "instruction",
        _INSTRUCTION,
        ("ignore", "disregard", "forget", "override", "bypass"),
        rf"\b(?:ignore|disregard|forget|override|bypass){_SEPARATOR}(?:"
        rf"(?:(?:all|any|every|each|the|of|your|my|our|these|those|and){_SEPARATOR}){{0,4}}{_EARLIER}"
        rf"(?:{_SEPARATOR}[a-z]{{2,12}}){{0,2}}?{_SEPARATOR}{_ORDERS}\b"
        rf"|(?:(?:all|any|of|every){_SEPARATOR}){{0,2}}(?:your|these|those)"
        rf"(?:{_SEPARATOR}[a-z]{{2,12}})?{_SEPARATOR}{_ORDERS}\b"
        rf"|(?:everything|anything|all|the|what(?:ever)?)(?:{_SEPARATOR}[a-z']{{1,9}}){{0,3}}?"
        rf"{_SEPARATOR}(?:above|before(?:\sthis)?|so{_SEPARATOR}far){_CLAUSE_END}"
        rf"|(?:all{_SEPARATOR})?(?:the{_SEPARATOR})?(?:previous|above){_CLAUSE_END})",
        words="ignore disregard forget override bypass",
    ),
    _pattern(
        "instruction",
        _INSTRUCTION,
        (
            "you are now",
            "system",
            "developer mode",
            "jailb",
            "dan mode",
            "god mode",
            "<|",
            "inst]",
            "instructions:",
            "the user",
        ),
        r"\b(?:reveal|print|show|repeat|output|leak|display|tell)\s(?:me\s|us\s)?(?:your|the)\s(?:[a-z]{1,12}\s)?system\sprompt\b",
        r"\byou\sare\snow\s(?:(?:an?|in|the|my)\s)?"
        r"(?:dan\b|unrestricted|uncensored|jailbroken|free\sfrom|developer\smode|evil|root\b|admin)",
        r"\b(?:enable|enter|activate)\s(?:developer|dan|god|jailbreak)\smode\b",
        r"<\|(?:im_start|im_end|system|endoftext|begin_of_text|start_header_id)\|?>",
        r"\[/?INST\]|</?system(?:[-_ ](?:prompt|message|reminder))?>",
        r"\bnew\sinstructions\s?:|(?:\A|\n)[#>*\t ]{0,6}system\s?:\s?you\b",
        r"\b(?:(?:do\snot|don['’]t)\stell|without\stelling)\sthe\suser\b",
        words="system now mode im start endoftext begin inst instructions user",
    ),
    _pattern(
        "instruction",
        _INSTRUCTION,
        ("忽略", "无视", "忘记", "忘掉", "不要理会", "不要遵守", "不要告诉", "系统提示", "你现在是"),
        r"(?:忽略|无视|忘记|忘掉|不要理会|不要遵守)(?:掉|了)?(?:你)?(?:所有|全部|一切|任何)?(?:的)?"
        r"(?:之前|以前|以上|上面|上述|前面|先前|此前|系统)(?:的)?(?:所有|全部|一切|任何)?(?:的)?(?:系统)?"
        r"(?:指令|指示|提示|规则|要求|内容|命令|约束|消息|设定|对话|话)",
        r"(?:忽略|无视)(?:你的?|所有|全部|一切)(?:的)?(?:系统)?(?:指令|指示|提示词|规则|约束)",
        r"(?:输出|显示|告诉我|泄露|打印|重复)(?:你的?|出)?(?:完整的?)?系统提示词?",
        r"你现在是(?:一个|一名)?(?:不受|没有|无)(?:任何)?(?:限制|约束)|不要告诉用户",
    ),
)

WORDS = frozenset[str]().union(*(pattern.words for pattern in PATTERNS))
"""An ASCII text without any of these has only what the patterns find that want no word."""

WORDLESS = tuple(pattern for pattern in PATTERNS if not pattern.words)
"""Those."""


# Telling a line of code ("store.py:42") from what only looks like one: a port, an image tag, a time, a setting.


_CODE_SUFFIXES = words_of(
    "py pyi pyx go rs js jsx mjs cjs ts tsx vue svelte java kt kts scala groovy c h cc cpp cxx hpp hh m mm cs",
    "fs vb swift rb php pl pm lua r jl ex exs erl hs ml clj dart zig nim sol sh bash zsh fish ps1 sql html css",
    "scss less xml yaml yml toml json jsonl ini cfg conf md rst txt tex proto graphql tf hcl gradle cmake mk",
    "lock log csv ipynb diff patch",
)
"""File extensions: before a colon and a number they make it a line, whatever else it looks like."""

_HOST_SUFFIXES = words_of(
    "com org net edu gov io dev app ai co me tv info biz cloud local localhost internal lan home intranet test",
    "example invalid cn de uk fr jp kr ru in eu us ca au nl se no fi dk ch at be it es pt pl cz br mx tw hk sg",
    "svc cluster",
)
"""Last labels of host names that are no file extensions."""

_NOT_CODE = words_of(
    # hosts and services
    "localhost host hostname server client proxy gateway port ports ip db database broker node master primary",
    "replica",
    # images and databases that are written with a tag or a port
    "redis postgres postgresql mysql mariadb mongo mongodb memcached rabbitmq kafka zookeeper nats etcd consul",
    "vault nginx httpd apache caddy traefik haproxy envoy minio elasticsearch opensearch kibana grafana",
    "prometheus jaeger loki influxdb clickhouse cassandra neo4j qdrant milvus weaviate chroma ollama vllm",
    "alpine ubuntu debian centos fedora rockylinux busybox distroless amazonlinux jenkins gitlab sonarqube",
    "keycloak registry image tag latest app web api worker",
    # versions
    "v ver version release rev revision build python py node nodejs java jdk jre openjdk go golang rust ruby",
    "php perl dotnet kotlin scala swift elixir erlang gcc clang cuda django flask rails spring react vue",
    "angular terraform helm docker kubernetes k8s api_version schema protocol gpt claude llama llama2 llama3",
    "qwen mistral gemma phi deepseek",
    # settings and counts written key:value
    "step page pages score age id ids no nr num number issue pr mr ticket bug task level part chapter section",
    "verse day week month year hour minute note count total size length limit timeout ttl retries retry",
    "replicas qps rps max min avg top k n x y z width height depth weight priority importance rank ratio rate",
    "percent quality batch epoch seed lr loss dim threads workers cores cpu memory ram disk gpu uid gid user",
    "mode status code exit exitcode error http https rfc cve utf sha sha1 sha256 md5 type key value index",
    "offset pos position row col column line lines phase stage at time date default result results answer sum",
    "average mean median p50 p90 p95 p99 rating stars temp temperature",
)
"""Words that stand before a colon and a number without being the name of a place in code."""

_LONGER_NUMBER = regex(r"[A-Za-z0-9_]")
_TAGGED = regex(r"[.-]?[A-Za-z0-9_]|[@/%]")
_WORD = regex(r"[A-Za-z]+")
_SHORTEST_LINE, _LONGEST_PORTLESS = 2, 3


def is_line_reference(match: re.Match[str]) -> bool:
    """Whether `match`, of a name or path, a colon and a number, points into code. Bounded time.

    A file extension makes it so. Otherwise hosts, paths of images, known services, versions and settings do not
    count, nor does a bare word before one digit or before four, which is a port.
    """
    name, _, rest = match[0].partition(":")
    number = rest.partition(":")[0]
    suffix = name.rpartition(".")[2].lower()
    after = match.string[match.end() : match.end() + 2]
    if "." in name and suffix in _CODE_SUFFIXES and "://" not in match[0]:
        return _LONGER_NUMBER.match(after) is None
    if _TAGGED.match(after) or "/" in name or "\\" in name or ("." in name and suffix in _HOST_SUFFIXES):
        return False
    return _names_code(name.removesuffix("()"), called=name.endswith("()"), digits=len(number))


def _names_code(name: str, *, called: bool, digits: int) -> bool:
    if called or "." in name or "_" in name.strip("_") or _is_humped(name):
        return name.lower() not in _NOT_CODE
    plain = name.lower()
    return (
        _SHORTEST_LINE <= digits <= _LONGEST_PORTLESS and "-" not in name and plain not in _NOT_CODE and _is_word(name)
    )


def _is_humped(name: str) -> bool:
    """Mixed case inside a word, as in parseConfig or HttpServer."""
    return name[1:] != name[1:].lower() and not name.isupper()


def _is_word(name: str) -> bool:
    """Lower case from the start: a capital opens a heading or a name of something else ("Score:12", "Matthew:15")."""
    return name.islower() and _WORD.fullmatch(name) is not None


MAX_A_CODE = 3
"""Warnings of one kind; more would say the same again."""

MAX_WARNINGS = 20
"""Warnings of one memory."""

LONGEST_MATCH = 80
"""Characters of the text that a warning quotes."""

LONGEST_TEXT = 20_000
"""Characters looked at: more than a memory may have."""

MAX_TRIED = 200
"""Places one pattern may propose before it gives up: enough for any prose, a bound for a hostile text."""

_REFERENCE = "symbol_line"


class QualityWarning(msgspec.Struct, frozen=True):
    """One place of a text: a stable `code`, its `label` for people, the words `match` (cut) and their `offset`."""

    code: str
    label: str
    match: str
    offset: int


def quality_warnings(text: str) -> tuple[QualityWarning, ...]:
    """Warnings in the order of the text, at most 20, at most 3 of a code. `offset` counts characters of `text`."""
    looked_at = text[:LONGEST_TEXT]
    lowered = looked_at.lower()
    words = latin_words(looked_at) if looked_at.isascii() else None
    patterns = WORDLESS if words is not None and WORDS.isdisjoint(words) else PATTERNS
    warnings = [
        warning
        for pattern in patterns
        if pattern.may_be_in(lowered, words)
        for warning in _warnings(pattern, looked_at)
    ]
    if not warnings:
        return ()
    return tuple(sorted(warnings, key=lambda warning: (warning.offset, warning.code))[:MAX_WARNINGS])


def _warnings(pattern: QualityPattern, text: str) -> Iterator[QualityWarning]:
    found = 0
    for tried, match in enumerate(pattern.regex.finditer(text)):
        if found == MAX_A_CODE or tried == MAX_TRIED:
            return
        if pattern.code == _REFERENCE and not is_line_reference(match):
            continue
        if pattern.escape is not None and pattern.escape.search(text, max(0, match.start() - 40), match.start()):
            continue
        found += 1
        yield QualityWarning(pattern.code, pattern.label, match[0][:LONGEST_MATCH], match.start())


# Whether a text says anything worth keeping, judged by rules alone (spec 6.8, S2).


MIN_CONFIDENCE = 0.7
"""How sure of a discard one must be. It is confidence in discarding, so a score up to 0.30 goes (spec 6.8)."""

# Hundredths, so that sums are exact (spec 6.8).
BASE, CAUSAL, PREFERRED, REPAIR, REFERENCE, LONG = 50, 25, 20, 20, 15, 10
GREETING, SHORT, QUESTION = 50, 25, 20

LONG_TOKENS, SHORT_TOKENS, GREETING_TOKENS = 8, 3, 4
"""Content tokens from which a text is long, below which it is short, and up to which it can be a mere greeting."""

GREETING_PAIRS = 10
"""The last of these for a text that is not all ASCII: pairs of characters overlap, two or more to a word."""

COURTESIES = (
    "ok okay okey k kk yes yeah yep yup nope sure fine good great cool nice perfect awesome excellent wonderful",
    "lovely thanks thank thx ty cheers please welcome sorry hello hi hey morning afternoon evening night bye",
    "goodbye see later got understood noted right alright exactly agreed correct done well wow haha lol hmm hm",
    "oh ah sounds makes sense absolutely definitely indeed again everyone guys much lot day amazing lgtm sgtm",
    "np don't worry never mind understand understood help helping time appreciate appreciated gotcha roger",
    "continue go ahead 好 好的 好吧 好啊 好呀 嗯 嗯嗯 哦 哦哦 行 行吧 可以 对 对的 是 是的 是啊 没错 当然 谢谢",
    "谢谢你 谢谢您 多谢 感谢 非常感谢 你好 您好 大家好 早 早安 早上好 上午好 下午好 晚上好 晚安 再见 拜拜 回见",
    "收到 明白 明白了 了解 知道了 我知道了 懂了 没事 没问题 不客气 不用谢 辛苦了 抱歉 对不起 不好意思 哈哈",
    "哈哈哈 太好了 太棒了 真棒 很好 不错 赞 厉害 加油 好了 完成 谢谢你的帮助 感谢您的帮助 继续 请继续 继续吧",
)
"""What people say without saying anything."""

COURTESY_TOKENS = frozenset(token for line in COURTESIES for word in line.split() for token in tokens(word))

_STATEMENT = regex(r"[.!…;]\s|[。！；]|[^?？\s][^\S\n]*\n")


class Substance(msgspec.Struct, frozen=True):
    """The score, 0…1 in steps of 0.05, and what follows from it."""

    score: float
    decision: Literal["keep", "discard"]


def substance(text: str, *, has_reference: bool, causal: bool, min_confidence: float = MIN_CONFIDENCE) -> Substance:
    """Judge `text` by the table of spec 6.8; discard when 1 - score reaches `min_confidence` (0…1).

    `has_reference`: it names an entity, a number or a date. `causal`: a causal cue was found in it.
    """
    read = reading(text)
    points = BASE + _gains(read, has_reference=has_reference, causal=causal) - _losses(text, read)
    score = max(0, min(100, points)) / 100
    return Substance(score, "discard" if round(1 - score, 9) >= min_confidence else "keep")


def only_questions(text: str) -> bool:
    """Whether every sentence of `text` asks: it ends in a question mark, and no sentence before ends otherwise."""
    asked = text.rstrip().rstrip("\"'”’)）」』").rstrip()
    return asked.endswith(("?", "？")) and _STATEMENT.search(asked) is None


def _gains(read: Reading, *, has_reference: bool, causal: bool) -> int:
    return (
        CAUSAL * (causal or read.has("decision"))
        + PREFERRED * read.has("preference")
        + REPAIR * (read.has("error") or read.has("fix") or read.has("works"))
        + REFERENCE * has_reference
        + LONG * (len(read.words) >= LONG_TOKENS)
    )


def _losses(text: str, read: Reading) -> int:
    size = len(read.words)
    most = GREETING_TOKENS if read.plain.isascii() else GREETING_PAIRS
    greeting = size <= most and read.words <= COURTESY_TOKENS
    return GREETING * greeting + SHORT * (size < SHORT_TOKENS) + QUESTION * only_questions(text)
