"""Cause and effect: where a note is cut, which connectives are none, and which clause another text repeats."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemond.text.causes import MAX_CLAIMS, claims, claims_between, content_words, role_of
from tests.tables import each_row

CAUSE_FIRST = "a->b"
"""The first text is the cause."""

PAIRS = [
    # connectives before the cause, at either place
    ("Flour got dearer.", "Because flour got dearer, the bakery raised its prices.", "a->b"),
    ("The bakery raised its prices.", "The bakery raised its prices because flour got dearer.", "b->a"),
    ("We can't adopt the kitten.", "Because Mia is allergic to cats we can't adopt the kitten.", "b->a"),
    ("The rink opens in January.", "As the lake froze early, the rink opens in January.", "none"),
    ("Postgres supports row security.", "Postgres was chosen since it supports row security.", "a->b"),
    ("The goalkeeper is injured.", "Jonas plays in goal on Saturday, as the goalkeeper is injured.", "a->b"),
    ("Every claim goes through Dublin.", "Payouts take six weeks, for every claim has to go through Dublin.", "a->b"),
    ("Flights from Lyon are cancelled.", "Due to the strike, flights from Lyon are cancelled.", "b->a"),
    ("Certificate expired on 3 May.", "The outage on Tuesday was caused by an expired certificate.", "a->b"),
    # connectives before the effect
    ("Marta's bike was stolen.", "Marta's bike was stolen, so she takes the tram.", "a->b"),
    ("Marta takes the tram.", "Marta's bike was stolen, so she takes the tram.", "b->a"),
    ("The bus takes the long way.", "The bridge is closed. That's why the bus takes the long way.", "b->a"),
    (
        "Two clerks can no longer book the same seat.",
        "Row locks prevent two clerks from booking the same seat.",
        "b->a",
    ),
    ("A customs form was missing.", "The reason for the delay is a missing customs form.", "a->b"),
    ("The delivery is delayed.", "The reason the delivery is delayed is a missing customs form.", "b->a"),
    ("A customs form was missing.", "The reason for the delay was that a customs form was missing.", "a->b"),
    # purposes
    ("Backups fit on the old disk now.", "We turned on compression so that backups fit on the old disk.", "b->a"),
    ("Backups must fit on the old disk.", "We turned on compression so that backups fit on the old disk.", "a->b"),
    ("The museum wants to attract families.", "It opened a playroom in order to attract families.", "a->b"),
    ("Reports load fast already.", "We added an index in order to load reports fast.", "none"),
    ("The sensor reports once per hour.", "To save battery, the sensor reports once per hour.", "b->a"),
    ("Spare parts go by road.", "As the courier refuses batteries, spare parts go by road.", "b->a"),
    ("The crane stands still.", "The permit expired, meaning that the crane stands still.", "b->a"),
    ("Bots can't scrape the catalogue.", "Rate limiting keeps bots from scraping the catalogue.", "b->a"),
    ("Milo is vegan.", "Milo is vegan so we order from Green Bowl.", "a->b"),
    ("The trail is washed out.", "Prices rose. The trail is washed out by rain and therefore we stay.", "a->b"),
    # German
    ("Der Testserver ist nachts abgeschaltet.", "Um Kosten zu sparen, schalten wir den Testserver nachts ab.", "b->a"),
    ("Tim ist im Urlaub.", "Lea übernimmt die Schicht, da Tim im Urlaub ist.", "a->b"),
    ("Der Lüfter ist laut.", "Der Lüfter ist laut, daher schläft niemand.", "a->b"),
    ("Die Suche dauert nun 20 ms.", "Durch den Index dauert die Suche nun 20 ms.", "b->a"),
    ("Der Koch arbeitet nur sechs Tage.", "Montags ist zu, weil der Koch nur sechs Tage arbeitet.", "a->b"),
    ("Die Brücke ist gesperrt.", "Wegen des Hochwassers ist die Brücke gesperrt.", "b->a"),
    ("Der Beleg fehlte.", "Der Beleg fehlte, deshalb lehnte die Kasse den Antrag ab.", "a->b"),
    ("Der Lüfter war defekt.", "Der Ausfall wurde durch einen defekten Lüfter verursacht.", "a->b"),
    ("Der Server wurde getauscht.", "Der Server wurde wegen eines Lüfterschadens getauscht.", "b->a"),
    ("Am Dienstag ist Streik in der Kita.", "Infolge des Streiks bleibt die Kita am Dienstag zu.", "a->b"),
    ("Die Prüfer verlangen zwei Freigaben.", "Damit zwei Freigaben vorliegen, schützen wir den Branch.", "none"),
    # Chinese
    ("运动会取消了。", "因为下雨,运动会取消了。", "b->a"),
    ("数据库连接池满了。", "数据库连接池满了,导致登录接口报错。", "a->b"),
    ("小张对花生过敏。", "小张对花生过敏,所以午餐不点宫保鸡丁。", "a->b"),
    ("服务器的磁盘损坏了。", "服务器宕机是由磁盘损坏引起的。", "a->b"),
    ("台风周五登陆厦门。", "因台风周五登陆厦门,团建改期了。", "a->b"),
    ("猫找回来了。", "邻居帮忙,结果猫找回来了。", "b->a"),
    ("出口成本上升了。", "新政策使出口成本上升。", "b->a"),
    ("门票收入下降。", "雨季令门票收入下降。", "b->a"),
    ("机房停电了两小时。", "线路老化是机房停电的原因。", "b->a"),
    ("旅行取消了。", "成本太高,于是取消了旅行。", "b->a"),
    # no cause, or none of the two
    ("The Lisbon office closed.", "The Berlin office closed because the lease ended.", "none"),
    ("Das Büro in Bonn schließt.", "Das Büro in Köln schließt, weil die Miete steigt.", "none"),
    ("上海分店关门了。", "因为租金上涨,北京分店关门了。", "none"),
    ("We did not enable tracing.", "Latency rose because we enabled tracing.", "none"),
    ("The server in rack 7 has 64 GB of RAM.", "The server in rack 7 was replaced because its fan died.", "none"),
    ("Der Drucker im Keller ist neu.", "Der Drucker im Keller klemmt, weil das Papier feucht ist.", "none"),
    ("The sensor in hall A is dirty.", "The alarm went off because the sensor in hall B is dirty.", "none"),
    ("新办公室在十楼。", "因为合同到期,我们搬到了新办公室。", "none"),
    ("The office is on the third floor.", "The office has been cold since Monday.", "none"),
    ("The new driver was installed.", "The crash was not caused by the new driver.", "none"),
    ("Tom's back office desk is oak.", "Tom quit because of his back.", "none"),
    ("The v1 API has 214 endpoints.", "The v2 API was late because the spec kept changing.", "none"),
    ("The room 12 projector is broken.", "We moved out because the room 14 projector is broken.", "none"),
    ("Wei's sister studies in Munich.", "Wei moved to Munich as a result of the merger.", "none"),
    ("The design review starts at two.", "An hour or so is enough for the design review.", "none"),
    ("Der Schlüssel für den Keller ist neu.", "Da ist der Schlüssel für den Keller.", "none"),
    ("办公室网络很慢。", "不是因为办公室网络很慢才超时的。", "none"),
    ("小吴下周出差去西安。", "因公出差的报销找财务小吴。", "none"),
    ("", "Because it rained, we stayed.", "none"),
]


def direction(first: str, second: str) -> str:
    found = claims_between(claims(second), second, claims(first), first)
    return "none" if found is None else "b->a" if found.new_is_cause else CAUSE_FIRST


@each_row(("first", "second", "expected"), PAIRS)
def test_the_clause_that_is_repeated_decides(first: str, second: str, expected: str) -> None:
    turned = {"a->b": "b->a", "b->a": "a->b", "none": "none"}
    assert direction(first, second) == expected
    assert direction(second, first) == turned[expected]


def test_both_notes_are_read() -> None:
    clogged = "The extruder overheated because its fan was clogged."
    assert direction(clogged, "The extruder overheated, so the shipment left late.") == "a->b"
    assert direction(clogged, "The extruder overheated because the room was hot.") == "none"
    assert direction(clogged, "The alarm rang because its fan was clogged.") == "none"


@each_row(
    ("text", "sub_type", "signal"),
    [
        ("The leak led to a crash", "enables", "led to"),
        ("The bug causes a crash", "causes", "causes"),
        ("The lock prevents races", "prevents", "prevents"),
        ("The lock stays because it prevents deadlocks in the pool", "prevents", "because"),
        ("Races were prevented by the lock", "prevents", "prevented by"),
        ("Slow because of the disk", "causes", "because"),
        ("Der Puffer verhindert Aussetzer", "prevents", "verhindert"),
        ("Der Fehler führte zum Absturz", "causes", "führte zum"),
        ("Das ist der Grund für den Riss", None, None),
        ("Der Frost ist der Grund für den Riss", "causes", "ist der grund für"),
        ("锁可以防止竞争", "prevents", "防止"),
    ],
)
def test_sub_type_and_signal(text: str, sub_type: str | None, signal: str | None) -> None:
    found = [(claim.sub_type, claim.signal) for claim in claims(text)]
    assert found[:1] == ([] if sub_type is None else [(sub_type, signal)])


@each_row(
    "text",
    [
        "We use Redis since 2019",
        "so much for the plan",
        "It runs in Frankfurt since May and has 3 GB of memory",
        "as soon as the office opens",
        "The causes of the outage are unknown",
        "the blocked queue",
        "Many thanks to Jae",
        "Was ist denn los",
        "Der Fehler kommt daher und bleibt",
        "Der Weg führt durch den Park",
        "To be honest, nobody reads it",
        "The meaning of the flag is unknown",
        "She keeps the door open",
        "结果下周公布",
        "大使馆的指令牌",
        "知其所以然",
        "It failed, not because the disk was full",
        "Sie blieb nicht wegen des Geldes",
    ],
)
def test_what_is_no_cause(text: str) -> None:
    assert claims(text) == ()


def test_forms_of_a_word_are_alike() -> None:
    assert role_of(claims("Verspätung, weil der Kran die Lieferung beschädigte"), "Lieferungen beschädigt") is not None
    assert content_words("She ran, lost and broke it") == content_words("She runs, loses and breaks it")


def test_a_text_of_connectives_takes_no_longer_than_another() -> None:
    assert len(claims("it fell because rain fell " * 300)) <= MAX_CLAIMS
    assert claims("because " * 1000) == ()
    assert claims("the reason for " + "is was " * 1000) is not None


PIECES = st.sampled_from(
    ["because", "since", "so", ",", ".", "the disk", "was full", "led to", "weil", "wegen", "Regen", "fiel", "aus",
     "因为", "导致", "磁盘", "由", "引起", "the reason for", "is", "not", "damit", "so that", "v1", "v2"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=14), st.lists(PIECES, max_size=14))
def test_the_direction_is_that_of_the_texts_whichever_comes_first(one: list[str], other: list[str]) -> None:
    for first, second in ((" ".join(one), " ".join(other)), ("".join(one), "".join(other))):
        turned = {"a->b": "b->a", "b->a": "a->b", "none": "none"}
        assert direction(first, second) == turned[direction(second, first)]
        assert direction(first, first) == "none"


@given(st.text(max_size=120))
def test_any_text_can_be_read(text: str) -> None:
    for claim in claims(text):
        assert claim.cause.words
        assert claim.effect.words
