"""The same in Chinese: what a sentence must not be, the families of patterns, and who 我 is.

A Chinese sentence leaves out its subject and joins statements by commas, so who somebody is stands in clauses, each of
which is a fact; everything else is told by the whole sentence.
"""

from __future__ import annotations

import re
from typing import Final

from mnemond.extract.english import Finding, Judged, Scene, finding, is_substantial, refers, with_dates
from mnemond.extract.facts import is_hedged
from mnemond.extract.patterns import Family
from mnemond.text.cues import reading
from mnemond.text.dates import dates
from mnemond.text.resources import regex

_HAN: Final = regex("[\u3400-\u4dbf\u4e00-\u9fff]")
MIN_HAN: Final = 5
"""Han characters of a sentence that says anything, and the share of its letters from which on it is Chinese."""
SHARE: Final = 0.25

_OPENING: Final = regex(
    "(?:(?:好的?|嗯+|哦|对了?|另外|还有|顺便(?:说一下|提一下)?|不对|不是|其实|注意|请注意|提醒一下|补充一下|你好|您好|谢谢|那么?|所以"
    "|而且|但是|不过)[，,。！!：:、 ]+)+"
)
_CALLED: Final = regex("(?:请|要|一定要)?(?:记住|记一下|记下来?|牢记|知道)[，,：: ]*|注意[，,：: ]*")
_QUESTION: Final = regex(
    "[?？][」』”）)]*$|(?:吗|呢|么)[。.!！]*$|为什么|为何|怎么|如何|什么|哪个|哪些|哪里|是否|是不是|能不能|可不可以|要不要|有没有|多少|几个"
)
_REQUEST: Final = regex(
    "(?:请|帮我|帮忙|麻烦|把|给我|先|现在|然后|再|接下来|继续|看看|看一下|写|更新|修复|修改|添加|删除|重构|运行|检查|试试|执行|生成|优化"
    "|创建|实现|改一?下|改成|我想要?|我要|我需要|我觉得|我认为|我们应该|需要你|你(?:可以|能|帮|先|看)|让我|如果|假如|也许|可能|不知道|不确定|不要再|别再|跑)"
)
_ALWAYS: Final = (
    "以后|今后|从现在(?:起|开始)|从今以后|每次|一律|始终|永远|总是|从不|必须|务必|禁止|不允许|不得|严禁|规定|约定|不准"
)
_STANDING: Final = regex(_ALWAYS)
_POINTING: Final = regex(
    "^(?:它|他|她|这(?!个(?:项目|仓库|团队))|那|上面|下面|以上|以下|如下|其中)|这个(?:函数|文件|测试|类|方法|报错|错误|问题|方案)|上述|如下"
)
_MOMENT: Final = regex("暂时|这次|这一次|刚才|刚刚|目前还|还没|正在|先不")
_PROGRESS: Final = regex(
    "^(?:好的|明白|我(?:已|先|会|把|用|查看|来|将|再|又|去|在|看)"
    "|已经?|接下来|现在|需要我|要不要|你可以|您可以|建议|可以|完成|下面|首先|然后|最后)"
)

_SELF: Final = "(?:我(?:们)?|本人)?(?:是|现在|目前|一直)?"
_CLAUSES: Final = (
    ("named", regex("(?:我叫|我的名字(?:是|叫)|我名叫)(?P<x>[\\w·]{2,12})")),
    (
        "works_at",
        regex(f"{_SELF}(?:在|就职于|任职于|供职于)(?P<x>[^，。在]{{2,20}}?)(?:工作|上班|任职|实习|做[^，。]{{2,12}})?"),
    ),
    ("lives_in", regex(f"{_SELF}(?:住在|家在|定居在?|搬到了?|居住在)(?P<x>[^，。]{{2,16}})")),
    ("is", regex("我是(?:一?[个名位])?(?!说|指|想|要|在|不|否|觉得)(?P<x>[^，。]{2,24})")),
)
_WORK: Final = regex("工作|上班|任职|就职|供职|实习|做")

_LIKES: Final = (
    "(?:更|比较|最|很|非常|特别|一直|都|也|真的|一般|通常|平时|总是)*"
    "(?:喜欢|偏好|偏爱|讨厌|不喜欢|习惯用?|倾向于|热爱|反感|爱用|推崇)"
)
PREFERENCE: Final = Family(
    "preference",
    "preference",
    "preference",
    regex(f"(?:我们?|团队|大家){_LIKES}(?!这样|那样|它|这个|那个)[^，。]{{2,}}"),
    0.9,
)
RULE: Final = Family(
    "rule", "preference", "preference",
    regex(f"(?=.*(?:{_ALWAYS}))[^，。]{{2,}}"), .85,
)  # fmt: skip
DECISION: Final = Family(
    "decision", "fact", "decision",
    regex(
        "(?:.{0,14}(?:我们?|团队|公司|项目|组里|大家|后端|前端|服务|系统|已经?|最终|最后|正式|统一)).{0,10}?"
        "(?:决定|选择了|选用了?|选定了?|采用了?|改用了?|换成了?|切换到了?|迁移到了?|放弃了?|敲定了?|替换)"
    ),
    .9, referring=True,
)  # fmt: skip
PROBLEM: Final = Family(
    "problem-fix", "fact", "insight",
    regex(
        "(?=.*(?:原因|由于|因为|根因|是.{2,40}(?:导致|引起|造成)))"
        "(?=.*(?:解决了|修复了|修好了|恢复正常|就好了|不再(?:报错|崩溃|失败|出现)|导致|引起|造成)).{12,}"
    ),
    .85, referring=True, by_agent=True,
)  # fmt: skip
LIMIT: Final = Family(
    "limit", "fact", "fact",
    regex("[^，。]{2,20}?(?:最多|最少|至少|不超过|不能超过|上限|限制|限额|每秒|每分钟|每小时|每天|收费|费用)"),
    .85, referring=True, by_agent=True,
)  # fmt: skip
PLAN: Final = Family(
    "plan", "event", "context",
    regex(
        "(?!你|您).{0,20}?(?:计划|打算|将(?:会|要|于|在)?|预计|截止|上线|发布|开会|出发|入职|离职|结婚|毕业|搬家|开始|结束|到期)"
    ),
    .8, referring=True,
)  # fmt: skip
"""Beside a date."""
RELATION: Final = Family(
    "relation", "fact", "fact",
    regex(
        "(?!我(?!们)|你|您|它|他|她)[^，。]{2,16}?(?:负责|管理|维护|使用(?!说明)|依赖|部署在|运行在|跑在|基于|属于|位于|存放在|存储在|是用|由.{2,10}(?:负责|维护|开发)"
        "|监听|默认(?:是|为|用)|用的是|写的)"
    ),
    .75, referring=True,
)  # fmt: skip

BY_USER: Final = (PREFERENCE, RULE, DECISION, PROBLEM, LIMIT, RELATION)
BY_AGENT: Final = (PROBLEM, LIMIT)

USER: Final = "用户"


def is_chinese(sentence: str) -> bool:
    """Whether it is to be read as Chinese: a good part of its letters is Han."""
    if sentence.isascii():
        return False
    return len(_HAN.findall(sentence)) > SHARE * sum(map(str.isalpha, sentence))


def stripped(sentence: str) -> str:
    """`sentence` without the words that lead up to it."""
    found = _OPENING.match(sentence)
    return sentence[found.end() :] if found else sentence


def told(sentence: str) -> tuple[str, bool]:
    """`sentence` without 请记住 and the like, and whether it had that."""
    found = _CALLED.match(sentence)
    return (sentence[found.end() :], True) if found else (sentence, False)


def unfit(sentence: str, *, by_agent: bool) -> str | None:
    """Why it is not worth a look; None when it may be."""
    if len(_HAN.findall(sentence)) < MIN_HAN:
        return "greeting"
    if _QUESTION.search(sentence):
        return "question"
    if _POINTING.search(sentence):
        return "unclear reference"
    if by_agent and _PROGRESS.match(sentence):
        return "progress"
    if _MOMENT.search(sentence) or (_REQUEST.match(sentence) and not _STANDING.search(sentence)):
        return "request"
    return None


def selves_chinese(sentence: str) -> list[tuple[str, str, str]]:
    """What the clauses of `sentence` say of who its speaker is: (clause, relation, what), first one about 我; a clause
    about work without a word for it is none."""
    found: list[tuple[str, str, str]] = []
    for clause in re.split("[，,。；;！!]", sentence):
        clause = clause.strip()
        if not found and not clause.startswith(("我", "本人")):
            break
        for kind, pattern in _CLAUSES:
            match = pattern.fullmatch(clause)
            if match and not (kind == "works_at" and _WORK.search(clause) is None):
                found.append((clause, kind, match["x"]))
                break
    return found


def about(name: str, sentence: str) -> str:
    """`sentence` with 我 called `name`; 我们 stays."""
    return re.sub("我(?!们)|本人", name, sentence)


def self_told(name: str, kind: str, what: str, clause: str) -> str:
    """A clause of `selves` as a sentence."""
    if kind == "named":
        return f"{name}的名字是{what}"
    said = about(name, clause)
    return said if said.startswith(name) else f"{name}{said}"


# What a Chinese sentence says that is worth remembering, told about its speaker and with its dates.


def findings(text: str, scene: Scene) -> Judged:
    """What `text`, one sentence of at most `families.LONGEST` characters, says; else why nothing is kept of it."""
    sentence, called = told(stripped(" ".join(text.split())))
    name = USER if scene.name == "User" else scene.name
    if not scene.by_agent and (selves := selves_chinese(sentence)):
        return [_of_self(name, *each) for each in selves]
    reason = unfit(sentence, by_agent=scene.by_agent)
    if reason is not None:
        return reason
    family = _family(sentence, scene)
    if family is None and not called:
        return "nothing lasting"
    if is_hedged(sentence) or (
        family is not None and family.referring and not (refers(sentence) or _dated(sentence, scene))
    ):
        return "uncertain" if is_hedged(sentence) else "names nothing"
    content, mentions = with_dates(about(name, sentence), scene.said_us)
    content = content.strip().rstrip("。！!.")
    if not ((family is not None and family.referring) or is_substantial(content)):
        return "substance"
    if family is None:
        return [Finding(content, "told", "fact", "fact", 0.85)]
    corrects = reading(text).has("correction")
    return [finding(family, content, corrects=corrects, dated=any(each.explicit for each in mentions))]


def _family(sentence: str, scene: Scene) -> Family | None:
    for family in BY_AGENT if scene.by_agent else BY_USER:
        if family.pattern.match(sentence):
            return family
    if not scene.by_agent and PLAN.pattern.match(sentence) and _dated(sentence, scene):
        return PLAN
    return None


def _dated(sentence: str, scene: Scene) -> bool:
    return any(each.explicit for each in dates(sentence, scene.said_us))


def _of_self(name: str, clause: str, kind: str, what: str) -> Finding:
    subject = USER if kind == "named" and name == what else name
    content = self_told(subject, kind, what, clause)
    return Finding(content, "identity", "relationship", "fact", 0.9, relation=None if kind == "is" else kind)
