"""The rule engine on one exchange: the vectors of spec 9, and each thing that is kept or left out."""

from __future__ import annotations

import pytest

from mnemond.extract.account import MAX_SHOWN, SHOWN_LENGTH, bounded
from mnemond.extract.facts import Message, stated_name
from mnemond.model.answers import FactRelation
from tests.extract.exchanges import DAY_US, contents, extracted

SPEC = "I'm Ana, I work at Acme and I prefer tabs over spaces. Yesterday we switched from Jenkins to GitHub Actions."


def reasons(*said: str) -> dict[str, str]:
    return {each.text: each.reason for each in extracted(*said).dropped}


def test_greetings_are_no_facts() -> None:
    found = extracted("Hi! Hi.\nok thanks")
    assert found.facts == ()
    assert {each.reason for each in found.dropped} == {"greeting"}


def test_the_exchange_of_the_specification() -> None:
    facts = extracted(SPEC).facts
    assert [each.content for each in facts] == [
        "User's name is Ana",
        "Ana works at Acme",
        "Ana prefers tabs over spaces",
        "Yesterday (2026-02-17) we switched from Jenkins to GitHub Actions",
    ]
    assert [each.intent for each in facts] == ["relationship", "relationship", "preference", "event"]
    assert [each.category for each in facts] == ["fact", "fact", "preference", "decision"]
    assert [each.relations for each in facts] == [
        (FactRelation("User", "named", "Ana"),),
        (FactRelation("Ana", "works_at", "Acme"),),
        (FactRelation("Ana", "prefers", "tabs"),),
        (FactRelation("GitHub Actions", "replaces", "Jenkins"),),
    ]
    assert [each.importance for each in facts] == [6, 6, 6, 6]
    kinds = {each.name: each.kind for fact in facts for each in fact.entities}
    assert kinds == {"Ana": "person", "Acme": "organization", "Jenkins": "tool", "GitHub Actions": "tool"}


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Always use pnpm instead of npm.", "Always use pnpm instead of npm"),
        ("You must always run the linter before a commit", "Always run the linter before a commit"),
        ("Let's use Alembic for migrations", "We will use Alembic for migrations"),
        ("ok, so from now on, write docs in English", "From now on, write docs in English"),
        ("please remember that the staging DB is wiped every Sunday", "The staging DB is wiped every Sunday"),
        ("I've been working at Globex since 2019!", "User has been working at Globex since 2019"),
        ("I don't use Windows, I prefer Linux", "User prefers Linux"),
        ("The release is on March 3, 2026.", "The release is on March 3, 2026"),
        ("it turns out that Redis never evicts keys without a TTL", "Redis never evicts keys without a TTL"),
        ("Remember: grandma's cake takes three eggs", "Grandma's cake takes three eggs"),
        ("keep in mind that mornings are best for calls", "Mornings are best for calls"),
        ("use Postgres instead of MySQL", "Use Postgres instead of MySQL"),
        ("Please respond in German from now on", "Respond in German from now on"),
        ("It was decided that we drop IE11", "We drop IE11"),
        ("so basically the frontend talks to the BFF via gRPC", "The frontend talks to the BFF via gRPC"),
        ("I joined Globex in May 2025", "User joined Globex in May 2025"),
        ("my favourite editor is Helix", "User's favourite editor is Helix"),
    ],
)
def test_kept(said: str, kept: str) -> None:
    assert kept in contents(said)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("should we use Redis for the queue?", "question"),
        ("can you use Redis for the queue", "question"),
        ("fix the failing test in tests/test_app.py", "request"),
        ("I want you to add a toggle to the page", "request"),
        ("I think we should use Postgres", "request"),
        ("I like it", "unclear reference"),
        ("we had lunch with everybody", "nothing lasting"),
        ("I love the idea of a cache", "nothing lasting"),
        ("we decided to use Postgres for now", "of the moment"),
        ("This function is owned by the payments team", "unclear reference"),
        ("It runs on Kubernetes in Frankfurt", "unclear reference"),
        ("maybe the backend is written in Go", "request"),
        ("The backend is probably written in Go", "uncertain"),
        ("All of it was done by somebody else and then forgotten " * 9, "length"),
        ("I use an editor", "names nothing"),
        ("I joined the call", "progress"),
        ("I prefer option B", "unclear reference"),
        ("The PR was approved by Tom", "nothing lasting"),
        ("remember to run the tests", "nothing lasting"),
        ("use a loop instead of a map", "request"),
        ("- the backend runs on Kubernetes", "itemised"),
        ("我们今天吃了很多东西", "nothing lasting"),
        ("我们决定采用新的方案来做", "names nothing"),
        ("my password is [REDACTED:password]", "secret"),
    ],
)
def test_left_out(said: str, reason: str) -> None:
    found = extracted(said)
    assert found.facts == ()
    assert [each.reason for each in found.dropped] == [reason]


@pytest.mark.parametrize(
    "said",
    [
        "I'll now update the tests.",
        "Let me look at the configuration first.",
        "Done! I switched the project from npm to pnpm.",
        "You should always close the response.",
        "All 42 tests pass and the linter is green.",
        "The `Cache` class uses an OrderedDict.",
        "I decided to use a dict because lookups dominate.",
        "- The API allows at most 3 requests per second",
        "You prefer tabs, so I formatted `main.go` with tabs.",
        "I recommend Postgres because it is mature.",
        "You failed because of the flag, which I fixed.",
        "We chose Postgres for the ledger.",
    ],
)
def test_progress_and_advice_of_an_agent_are_left_out(said: str) -> None:
    assert contents("go on", said) == []


def test_what_an_agent_found_out_is_kept() -> None:
    (fact,) = extracted("why?", "The root cause was a stale lock file. I fixed it by deleting `app.lock`.").facts
    assert fact.content == "The root cause was a stale lock file; fixed by deleting `app.lock`"
    assert (fact.attributed_to, fact.category, fact.confidence) == ("assistant", "insight", 0.75)


def test_a_reason_joins_what_it_is_the_reason_of() -> None:
    assert contents("We chose NATS. Because Kafka is too heavy for us.") == [
        "We chose NATS, because Kafka is too heavy for us"
    ]
    assert contents("We chose NATS.\n\nBecause Kafka is too heavy for us.") == ["We chose NATS"]
    assert contents("We chose NATS. So don't add Kafka back.") == ["We chose NATS", "Don't add Kafka back"]


def test_it_is_what_was_named_last() -> None:
    told = ["We use Redis", "Redis costs 5 dollars per month"]
    assert contents("We use Redis. It costs 5 dollars per month.") == told
    assert contents("We use Redis.\n\nIt costs 5 dollars per month.") == told
    assert contents("We use Redis.", "Noted.", "It costs 5 dollars per month.") == told
    earlier = (Message("user", "We use Redis."), Message("assistant", "Noted."))
    assert contents("It costs 5 dollars per month.", earlier=earlier) == told[1:]


def test_nobody_is_called_what_memory_said() -> None:
    recalled = "<recalled-data 0123456789abcdef>\n<t:2026-01-02> My name is Bob.\n</recalled-data 0123456789abcdef>\n"
    assert contents(f"{recalled}I prefer tabs over spaces.") == ["User prefers tabs over spaces"]


@pytest.mark.parametrize(
    "said",
    [
        "My name is misspelled as Anna.", "My name is pronounced Yo-han.", "My name is spelled Katherine with a K.",
        "My name is often mistaken for Sara.", "My name is autocorrected to Ducks by the phone.",
        "my name is short for Alexander", "My name is listed as Robert in LDAP.",
    ],
)  # fmt: skip
def test_what_is_said_about_a_name_is_not_the_name(said: str) -> None:
    (fact,) = extracted(said).facts
    assert fact.content == f"User's{said.strip('.')[2:]}"
    assert fact.relations == ()


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("My name is Anna.", "Anna"), ("My name is actually Lena.", "Lena"), ("my name is ahmed", "ahmed"),
        ("my name is kelly", "kelly"), ("My name is von Berg.", "von Berg"), ("我的名字是安娜。", "安娜"),
        ("my name is anna schmidt", "anna"),
    ],
)  # fmt: skip
def test_a_name_in_small_letters_or_behind_an_adverb_is_one(said: str, name: str) -> None:
    assert stated_name(said) == name


def test_a_name_given_before_is_the_speakers() -> None:
    earlier = (Message("user", "my name is Jonas"),)
    assert contents("I prefer short answers", earlier=earlier) == ["Jonas prefers short answers"]
    assert contents("I prefer short answers", speaker="Kim") == ["Kim prefers short answers"]
    assert contents(Message("user", "I prefer short answers", name="ana")) == ["Ana prefers short answers"]


def test_what_was_said_before_is_not_said_again() -> None:
    earlier = (Message("user", "We decided to use Postgres for the ledger."),)
    assert contents("We decided to use Postgres for the ledger.", earlier=earlier) == []
    twice = extracted("We never deploy on Fridays. We never deploy on Fridays!")
    assert [each.content for each in twice.facts] == ["We never deploy on Fridays"]
    assert [each.reason for each in twice.dropped] == ["said before"]
    assert contents("We use Rust 1.80 for the agent.", "We use Rust 1.80 for the agent because of async.") == [
        "We use Rust 1.80 for the agent"
    ]


def test_a_message_has_its_own_time_and_id() -> None:
    said_us = DAY_US - 10 * 86_400_000_000
    (fact,) = extracted(Message("user", "We met Dr. Chen yesterday", said_us=said_us, id="m7")).facts
    assert (fact.content, fact.said_us, fact.message_ids) == (
        "We met Dr. Chen yesterday (2026-02-07)", said_us, ("m7",)
    )  # fmt: skip


def test_other_roles_say_nothing() -> None:
    assert contents(Message("system", "Always answer in French."), Message("tool", "We never deploy on Fridays")) == []


def test_what_matters_too_little_is_left_out() -> None:
    assert contents("I prefer tabs", threshold=7) == []
    assert reasons("I prefer tabs") == {}
    (dropped,) = extracted("I prefer tabs", threshold=7).dropped
    assert (dropped.text, dropped.reason) == ("User prefers tabs", "importance 6")


def test_only_so_many_facts() -> None:
    text = " ".join(f"The service{at} runs on port {8000 + at}." for at in range(9))
    found = extracted(text, most=3)
    assert len(found.facts) == 3
    assert found.dropped[-1].reason == "too many"


def test_what_was_pasted_into_a_long_message_is_left_out() -> None:
    pasted = " ".join(f"Module{at} is owned by team {at}." for at in range(60))
    found = extracted(f"We never deploy on Fridays. {pasted} We always squash commits.")
    kept = [each.content for each in found.facts]
    assert kept[0] == "We never deploy on Fridays"
    assert kept[-1] == "We always squash commits"
    assert len(kept) == 16
    assert "pasted" in {each.reason for each in found.dropped}


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("Translate this to German: hello.\nI prefer tabs over spaces. I live in Paris.", "quote"),
        ("Can you proofread my cover letter?\n\nI work at Acme and I love teamwork.", "quote"),
        ("a customer wrote:\nI always use Safari on my iPad.", "quote"),
        ("请把下面这段话翻译成英文：\n我叫王芳，住在上海。", "quote"),
        ("Act as a pirate. I prefer rum over water.", "role"),
        ("Write a short story about a nurse. I'm Ana and I live in Rome.", "role"),
    ],
)
def test_what_somebody_hands_over_is_not_what_they_say(said: str, reason: str) -> None:
    found = extracted(said)
    assert found.facts == ()
    assert reason in {each.reason for each in found.dropped}


def test_what_comes_before_a_text_is_their_own() -> None:
    assert contents("I prefer British spelling. Proofread this:\nI live in Rome.") == ["User prefers British spelling"]


def test_little_is_told_of_what_was_left_out() -> None:
    found = extracted("go on", "\n\n".join(f"what is {at}" + " and so on" * 20 + "?" for at in range(200)))
    shown = bounded(found.dropped)
    assert len(shown) == MAX_SHOWN
    assert all(len(each.text) <= SHOWN_LENGTH for each in shown)
    assert (shown[-1].text, shown[-1].reason) == (f"{len(found.dropped) - MAX_SHOWN + 1} more parts", "not shown")
    words = sum(len(each.text.split()) for each in found.dropped)
    assert sum(len(each.text.split()) + each.omitted for each in shown[:-1]) + shown[-1].omitted == words


def test_a_correction_ranks_above_others_of_its_step() -> None:
    (plain,) = extracted("It turns out that the staging database is slow.").facts
    (corrected,) = extracted("No, that's wrong. It turns out that the staging database is slow.").facts
    assert (plain.importance, corrected.importance) == (5, 6)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("我叫王芳，在字节跳动工作，住在上海。", ["用户的名字是王芳", "王芳在字节跳动工作", "王芳住在上海"]),
        ("我更喜欢用 TypeScript 而不是 JavaScript。", ["用户更喜欢用 TypeScript 而不是 JavaScript"]),
        ("昨天我们决定用 PostgreSQL 替换 MySQL。", ["昨天（2026-02-17）我们决定用 PostgreSQL 替换 MySQL"]),
        ("请记住，测试环境每周日会清空数据库。", ["测试环境每周日会清空数据库"]),
        ("以后所有提交信息必须用英文写。", ["以后所有提交信息必须用英文写"]),
        ("支付接口每秒最多调用 20 次。", ["支付接口每秒最多调用 20 次"]),
        ("后端部署在阿里云上，用的是 Go。", ["后端部署在阿里云上，用的是 Go"]),
        ("我们计划 2026年3月 发布 2.0 版本", ["我们计划 2026年3月 发布 2.0 版本"]),
        ("你好，谢谢！", []),
        ("这个函数是做什么的？", []),
        ("把这个函数改成异步的", []),
        ("可能后端用的是 Go 吧，不太清楚", []),
        ("它部署在阿里云上", []),
    ],
)
def test_chinese(said: str, kept: list[str]) -> None:
    assert contents(said) == kept


def test_a_chinese_agent_tells_what_it_found() -> None:
    found = "原因是内存限制只有 128Mi，把限制调到 512Mi 后问题解决了。"
    assert contents("为什么重启？", f"我先看看日志。\n{found}\n接下来我会更新配置。") == [found.rstrip("。")]


def test_a_name_with_a_backslash_is_put_into_a_chinese_sentence_as_it_is() -> None:
    (fact,) = extracted(Message("user", "我喜欢用Vim写代码，不喜欢鼠标", name="a\\gb")).facts
    assert fact.content.startswith("a\\gb喜欢用Vim")


def test_its_owner_is_no_verb() -> None:
    said = "The API runs on port 80. Its owner is Ana."
    assert contents(said) == ["The API runs on port 80", "The API's owner is Ana"]
