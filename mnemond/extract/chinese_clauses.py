"""Plain statements of a Chinese sentence, clause by clause, for a sentence that belongs to no family.

A clause is a statement if it has a subject that can be named, or the one of the clause before, a verb of a lasting
state or of a change, and a value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple

from mnemond.text.resources import regex

MOST_CLAUSES: Final = 40

_SPLIT: Final = regex("[，,；;：]|。(?=.)|[！!](?=.)|:(?=\\s)")
_QUOTED: Final = regex('[“”「」『』【】]|"[^"]{2,}"')
_HYPOTHETICAL: Final = regex("如果|要是|假如|假设|倘若|万一|的话|若是|本来想|想着要|打算是不是")
_UNSURE: Final = regex("也许|可能|大概|或许|说不定|好像|似乎|应该|估计|不确定|不知道|吧[。！]?$")
_QUESTION: Final = regex("[?？]|吗|呢$|什么|怎么|为什么|哪|多少|几个|是否|是不是|能不能|要不要|有没有|对吧|行不行")
_REQUEST: Final = regex(
    "^(?:请|帮|麻烦|给我|把|先给|你|您|让|看看|看一下|写|改(?!用|到|为|成了)|删|加|查|跑一下|跟你|告诉|说一下|换个|提醒|推荐|介绍|主要看|记得|再)"
    "|你(?:改|看|写|查|来|帮|把|可以|能|去|先|的|文档|那)|(?:一下|一点|看看)$"
)
_PASSING: Final = regex(
    "要去|去开会|今晚|今天|昨晚|刚才|刚刚|这次|这一次|暂时|正在|待会|等会|马上|一会|有点|太.{1,10}[了啦]|哈哈|听起来|真(?:好|棒|不错)|好看|谢谢|可爱|想吃|想要|想想"
    "|报错|失败|挂了|崩了|卡住|坏了"
)
_STANDING: Final = regex(
    "以后|今后|从现在(?:起|开始)|从今|每次|一律|始终|永远|总是|从不|必须|务必|禁止|一定要|用(?:英文|中文|日文|英语|汉语)|不允许|不得|严禁|统一|所有.{1,20}都|都要|都用|都得"
    "|(?:不要|别|不用|不需要|不必)(?:再)?(?:用|写|加|改|动|提交|推送|叫|给|把|在|跑|放|直接)|[^，]{2,}用[^，]{1,12}(?:写|回答|回复)|之前(?:先|必须|一定)"
)
_KIN: Final = (
    "(?:女儿|闺女|儿子|老婆|老公|妻子|丈夫|爱人|先生|太太|妈妈?|爸爸?|母亲|父亲|哥哥?|姐姐?|弟弟?|妹妹?|奶奶|爷爷|外婆|外公|姥姥|姥爷|室友"
    "|同事|老板|领导|朋友|邻居|女朋友|男朋友|对象|孩子|宝宝|猫|狗|导师)"
)
_OWN_SUBJECT: Final = regex(f"^(?:我(?!们?觉得|想|要|先|来|再|去|看)|本人|{_KIN}|咱)")
_STATE: Final = regex(
    "对.{1,16}过敏|过敏|不(?:吃|喝|喜欢|爱|能吃|抽)|喜欢|(?:最|很|就|都|也|特别|一直)?爱(?!人)|讨厌|擅长|住在?|家在|老家|搬到|搬家|搬去|叫[^，]{1,12}$|养了?"
    "|当(?:老师|医生|护士|.{1,10})|工作|上班|就职|任职|供职|入职|辞职|离职|退休|毕业|结婚|离婚|怀孕|跳槽|转岗|从事|在[^，]{2,12}(?:做|当|读书)|负责|主管|带.{1,6}班"
    "|做.{1,12}的"
    "|在(?:学|读|练|备考|准备|减|考)|开[^，]{0,8}车|每(?:天|周|月|年|晚|早|个|\\s?\\d|隔)|一般|通常|习惯|平时"
    "|经常|周末|(?:今年)?[\\d一二三四五六七八九十]+岁"
    "|(?:上|读|念).{0,3}年级|年级|戒|吃素|素食|只(?:吃|喝|用|能)|会(?:说|弹|做|讲)|生日|不太?好"
)
_OF_THING: Final = regex(
    "(?:跑|部署|运行|放|存放?|存储|保存|托管|布置|挂|装|建)在|监听|位于|用(?= ?[A-Za-z])|改用|换成|改到|改成|改在"
    "|改为|迁移?到|切换?到|升级?到|降到|涨到|调到|提高到|推迟到|延期?到"
    "|提前到|挪到|移到|搬到|用的?是|采用|使用|基于|依赖|端口|版本|归.{1,12}(?:负责|管|所有)|由.{1,20}|是.{1,12}(?:在)?(?:管|负责|维护|签的|写的|做的)"
    "|负责|在管|维护|走|是|在(?=\\s?[/\\w])|不再|不在.{1,16}了|上限|最多|至少|不超过|限制|超时|保留|有效期|过期"
    "|截止|每\\s?\\d|单独|到期|执行|有[^，]{1,4}[人台]|叫|需要|还是|支持|默认|定在|放到"
)
_VALUE: Final = regex(
    "[A-Za-z]{2,}|\\d|[一二三四五六七八九十两]+(?:[点号台个天周月年岁次级]|分钟|小时)|周[一二三四五六日天]|星期|归|负责|在管|[省市县区]|楼"
)
_CHANGED: Final = regex(
    "改用|换成|改到|改成|改为|改在|不再|搬到|搬去|辞职|离职|推迟|提前到|延期|升到|迁|切换|不在.{1,16}了|不是.{1,20}是|不用再|涨到|降到|说错"
)
_NEGATED: Final = regex("^(?:.{0,12})?不是[^，]{1,20}$")
_SUBJECT: Final = regex(
    "^(?!这|那|它|他|她|下面|上面|以上|如下|现在|已经|然后|所以|因为|就|也|都|还|只|可|但)[\\w\\s.·/`'’-]{1,24}"
)
_PRONOUN: Final = regex("^(?P<p>[它他她])(?!们)")
_KIN_BEFORE: Final = regex(f"(?:我|我的|我家)?(?P<n>{_KIN})")
_THING_BEFORE: Final = regex("叫(?P<c>[\\w·]{1,8})|(?P<l>[A-Za-z][\\w./-]+)|养了?一?[只条个](?P<a>\\w{1,4})")
_LEAD: Final = regex(
    "^(?:啊不|不对|不是|不|等等|我说错了|说错了|对了?|另外|其实|顺便说一下|补充一下|注意区分环境|行|好的?|嗯|哦|跟你说个事|先给你交代下环境)$"
)

_TO_READER: Final = regex("(?:你|您|帮我|麻烦|请你)")

Kind = Literal["statement", "rule"]


class Stated(NamedTuple):
    """A statement in the words of its speaker. `changed`: it says that something is otherwise than before."""

    text: str
    kind: Kind
    changed: bool


class Read(NamedTuple):
    """The statements of a sentence, and the clauses that are left, each with its reason."""

    stated: list[Stated]
    left: list[tuple[str, str]]


def statements(sentence: str, before: Sequence[str]) -> Read:
    """The plain statements of `sentence`; `before` are the sentences before it, the last one first."""
    read = Read([], [])
    if _QUOTED.search(sentence) or _HYPOTHETICAL.search(sentence) or sentence.endswith(("?", "？")):
        return read
    group: list[str] = []
    kind: Kind = "statement"
    requested = False
    changed = _CHANGED.search(sentence) is not None
    for clause in _clauses(sentence):
        reason = _reason_against(clause)
        if requested and not _STANDING.search(clause) and not _OWN_SUBJECT.match(clause):
            reason = "request"
        requested = reason == "request" and not _LEAD.match(clause)
        found = _kind(clause, kind if group else None) if reason is None else None
        if found is None:
            read.left.append((clause, "greeting" if _LEAD.match(clause) else reason or "nothing lasting"))
            continue
        if group and (found != kind or _OWN_SUBJECT.match(clause)):
            _close(read, group, kind, before, changed=changed)
            group = []
        group.append(clause)
        kind = found
    if group:
        _close(read, group, kind, before, changed=changed)
    return read


def without_requests(sentence: str) -> Read:
    """`sentence` without the clauses behind the first that request something of the reader, and those."""
    parts = _SPLIT.split(sentence, MOST_CLAUSES)
    left = [each for each in parts[1:] if _TO_READER.match(each.strip()) and not _STANDING.search(each)]
    at = min((sentence.find(each) for each in left), default=len(sentence))
    if not left or any(each not in left for each in parts[1:] if sentence.find(each) > at):
        return Read([Stated(sentence, "statement", False)], [])
    return Read(
        [Stated(sentence[:at].rstrip("，,；;：: "), "statement", False)],
        [(each.strip("。！!. "), "request") for each in left],
    )


def _clauses(sentence: str) -> Iterable[str]:
    parts = _SPLIT.split(sentence.rstrip("。.!！"), MOST_CLAUSES)
    return [each.strip() for each in parts if each.strip()]


def _reason_against(clause: str) -> str | None:
    if _QUESTION.search(clause):
        return "question"
    if _UNSURE.search(clause):
        return "uncertain"
    if _PASSING.search(clause):
        return "nothing lasting"
    if _REQUEST.search(clause) and not _STANDING.search(clause):
        return "request"
    return None


def _kind(clause: str, last: Kind | None) -> Kind | None:
    if _STANDING.search(clause) or (last == "rule" and clause.startswith(("用", "改用", "而是", "先", "再"))):
        return "rule"
    continues = last is not None
    own = _OWN_SUBJECT.match(clause) is not None or _PRONOUN.match(clause) is not None
    if (own or continues) and (_STATE.search(clause) or (_OF_THING.search(clause) and (_VALUE.search(clause) or own))):
        return "statement"
    if _NEGATED.match(clause) and own:
        return "statement"
    if _OF_THING.search(clause) and _VALUE.search(clause) and _SUBJECT.match(clause):
        return "statement"
    return "statement" if clause.startswith(("现在在", "目前在")) and _STATE.search(clause) else None


def _close(read: Read, group: list[str], kind: Kind, before: Sequence[str], *, changed: bool) -> None:
    text = "，".join(group)
    pronoun = _PRONOUN.match(text)
    if pronoun is not None:
        named = _antecedent(pronoun["p"], before)
        if named is None:
            read.left.append((text, "unclear reference"))
            return
        text = named + text[1:]
    elif text.startswith(("现在在", "目前在")):
        text = f"我{text}"
    read.stated.append(Stated(text, kind, changed))


def _antecedent(pronoun: str, before: Sequence[str]) -> str | None:
    for sentence in before:
        if pronoun != "它" and (kin := [each["n"] for each in _KIN_BEFORE.finditer(sentence)]):
            return f"我{kin[-1]}"
        if pronoun == "它" and (things := list(_THING_BEFORE.finditer(sentence))):
            return str(things[-1]["c"] or things[-1]["l"] or things[-1]["a"])
    return None
