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
    ],
)
def test_a_plain_statement_is_a_fact(text: str, facts: list[str]) -> None:
    assert [each.content for each in read(text).facts] == facts


def test_a_pronoun_stands_for_what_was_named_before() -> None:
    assert read("我家养了只橘猫，叫年糕。", "它只吃处方粮。").facts[-1].content == "年糕只吃处方粮"
    assert [each.reason for each in read("它今年三岁了啊。").dropped] == ["unclear reference"]


@pytest.mark.parametrize(
    "text",
    ["如果我们改用 Kafka，就需要三台机器。", "帮我把端口改成 8080。", "这次不用写测试。", "服务跑在哪台机器上？"],
)
def test_another_sentence_gives_nothing(text: str) -> None:
    found = read(text)
    assert not found.facts
    assert found.dropped
