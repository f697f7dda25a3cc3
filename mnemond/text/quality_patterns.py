"""The patterns behind quality warnings, as data (spec 6.7): English and Chinese, every repeat bounded."""

from __future__ import annotations

import re

import msgspec


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
    excuse = re.compile(rf"(?:{escape})\Z", re.IGNORECASE) if escape else None
    regex = re.compile("|".join(branches), re.IGNORECASE)
    return QualityPattern(code, label, needles, regex, excuse, frozenset(words.split()), sign)


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
