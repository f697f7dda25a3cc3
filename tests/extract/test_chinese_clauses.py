"""Plain statements of Chinese sentences, clause by clause."""

from __future__ import annotations

import pytest

from mnemond.extract.facts import Context, Extraction, Message
from mnemond.extract.rules import RuleEngine

NOON_US = 1_780_000_000_000_000


def read(*texts: str) -> Extraction:
    return RuleEngine().extract([Message("user", each) for each in texts], Context(observed_us=NOON_US))


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("我对芒果过敏，我老公不吃香菜。", ["用户对芒果过敏", "用户老公不吃香菜"]),
        ("缓存服务改用 Valkey 了，你改一下代码。", ["缓存服务改用 Valkey 了"]),
        ("登录接口的超时是 30 秒。", ["登录接口的超时是 30 秒"]),
        ("我从医院辞职了。", ["用户从医院辞职了"]),
        ("提交信息用英文写。", ["提交信息用英文写"]),
        ("你记错了，超时是 30 秒，不是 10 秒。", ["超时是 30 秒，不是 10 秒"]),
        ("我女儿不学钢琴了，现在学小提琴。", ["用户女儿不学钢琴了，现在学小提琴"]),
        ("我是做外贸的，客户主要在德国和波兰。", ["用户是做外贸的", "客户主要在德国和波兰"]),
        ("数据库是 TiDB 7.1，表有两亿行。", ["数据库是 TiDB 7.1，表有两亿行"]),
        ("测试环境随便发，地址是 test.shop.internal。", ["测试环境随便发，地址是 test.shop.internal"]),
        ("我妈对青霉素过敏，发烧能吃什么药？", ["用户妈对青霉素过敏"]),
        ("我们组长换人了，现在是陈静，不是老张了。", ["我们组长换人了，现在是陈静，不是老张了"]),
        ("刘总调走了，现在周报交给孙经理。", ["刘总调走了，现在周报交给孙经理"]),
        ("前端组长不再是小李，换成了何苗。", ["前端组长不再是小李，换成了何苗"]),
        ("现在只养了一缸鱼。", ["用户现在只养了一缸鱼"]),
        ("车卖了，现在坐地铁上班。", ["车卖了，现在坐地铁上班"]),
        ("镜像不推 Docker Hub 了，都推到 Harbor。", ["镜像不推 Docker Hub 了，都推到 Harbor"]),
    ],
)
def test_a_plain_statement_is_a_fact(text: str, facts: list[str]) -> None:
    assert [each.content for each in read(text).facts] == facts


def test_a_pronoun_stands_for_what_was_named_before() -> None:
    assert read("我家养了只橘猫，叫年糕。", "它只吃处方粮。").facts[-1].content == "年糕只吃处方粮"
    assert [each.reason for each in read("它今年三岁了啊。").dropped] == ["unclear reference"]
    assert read("我妈有高血压。", "她今年六十八，每天早上吃药。").facts[-1].content.startswith("用户妈今年")


def test_each_clause_is_in_a_fact_or_left_with_its_reason() -> None:
    found = read("对了，我负责华东区的数据，你先帮我做个表格。")
    assert [each.content for each in found.facts] == ["用户负责华东区的数据"]
    assert {each.reason for each in found.dropped} >= {"request"}


@pytest.mark.parametrize(
    "text",
    [
        "如果我们改用 Kafka，就需要三台机器。",
        "帮我把端口改成 8080。",
        "这次不用写测试。",
        "服务跑在哪台机器上？",
        "服务器在北京，对吧？",
        "知道了，明天带她去医院。",
        "我们最近在做预算，月底要交。",
        "地址是什么？",
    ],
)
def test_another_sentence_gives_nothing(text: str) -> None:
    found = read(text)
    assert not found.facts
    assert found.dropped
