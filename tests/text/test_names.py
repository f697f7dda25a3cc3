"""Names of people, organisations and places in ordinary sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.text.entities import extract
from mnemond.text.entity_shapes import split
from mnemond.text.name_lists import name_lists
from mnemond.text.names import bare_name, names_in
from mnemond.text.names_chinese import chinese_names
from tests.timing import cpu_s

SHORT = {"person": "P", "organization": "O", "location": "L"}


def named(text: str) -> list[str]:
    """Names of the three types with a letter for the type, as the extraction of entities gives them."""
    return [f"{SHORT[each.kind]} {each.name}" for each in extract(text) if each.kind in SHORT]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Bob Smith works at Acme Corp in Paris", ["P Bob Smith", "O Acme Corp", "L Paris"]),
        ("Ana no longer", ["P Ana"]),
        ("Our landlord is Piotr Nowakowski.", ["P Piotr Nowakowski"]),
        ("We met Laura Chen from Spotify in Berlin.", ["P Laura Chen", "O Spotify", "L Berlin"]),
        ("Sean O'Connor and Ms. O'Brien share a desk.", ["P Sean O'Connor", "P O'Brien"]),
        ("Mohammed bin Salman visited Riyadh.", ["P Mohammed bin Salman", "L Riyadh"]),
        ("Nguyen Van Minh owns it", ["P Nguyen Van Minh"]),
        ("Lucía and Jean-Luc Moreau", ["P Lucía", "P Jean-Luc Moreau"]),
        ("Anna K. Lindqvist signs", ["P Anna K. Lindqvist"]),
        ("Mika moved to Lisbon", ["P Mika", "L Lisbon"]),
        ("Gita reports to Marcus", ["P Gita", "P Marcus"]),
        ("Prof. Dr. Zhelev agreed", ["P Zhelev"]),
        ("Zorblatt said no", ["P Zorblatt"]),
        ("Zorblatt is on call, Querent is allergic to nuts", ["P Zorblatt", "P Querent"]),
        ("Zorblatt's birthday", ["P Zorblatt"]),
        ("Zorblatt Querent owns the queue", ["P Zorblatt Querent"]),
        ("Owner: Zorblatt", ["P Zorblatt"]),
        ("Our plumber is Zorblatt", ["P Zorblatt"]),
        ("Will Turner joined, Mark Weber left", ["P Will Turner", "P Mark Weber"]),
        ("Grace is on leave, Rose's desk is free", ["P Grace", "P Rose"]),
        ("Since May Ingrid leads", ["P Ingrid"]),
    ],
)
def test_people(text: str, expected: list[str]) -> None:
    assert named(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I studied at the University of Edinburgh.", ["O University of Edinburgh"]),
        ("the Rotary Club of Leeds and Stanford University", ["O Rotary Club of Leeds", "O Stanford University"]),
        ("supplier Hartmann & Sons delivers", ["O Hartmann & Sons"]),
        ("My doctor is at St. Mary's Hospital.", ["O St. Mary's Hospital"]),
        ("I work for Novabase, she joined Querent", ["O Novabase", "O Querent"]),
        ("our supplier Zorblatt is late", ["O Zorblatt"]),
        ("She works at Apple. Oracle rejected it.", ["O Apple", "O Oracle"]),
        ("The courier from DHL comes at ten.", ["O DHL"]),
        ("the ThyssenKrupp offer", ["O ThyssenKrupp"]),
        ("my cousin lives in Zorblatt", ["L Zorblatt"]),
        ("Olga left Zorblatt, we left Querent", ["P Olga", "O Zorblatt", "O Querent"]),
        ("at 14 Garrick Street, near the Golden Gate Bridge", ["L Garrick Street", "L Golden Gate Bridge"]),
        ("Via Garibaldi 8, Mill Lane 22", ["L Via Garibaldi", "L Mill Lane"]),
        ("from Oslo to Bergen, then New York", ["L Oslo", "L Bergen", "L New York"]),
        ("Banco Santander, the Windermere Lake", ["O Banco Santander", "L Windermere Lake"]),
    ],
)
def test_organisations_and_places(text: str, expected: list[str]) -> None:
    assert named(text) == expected


def test_what_a_person_uses_is_a_tool() -> None:
    text = "For citations I use Zotero. Ana uses Zorblatt for tables. Use Querent. We use Quux paper"
    assert [name for name, kind in names_in(split(text)) if kind == "tool"] == ["Zotero", "Zorblatt"]


@pytest.mark.parametrize(
    "text",
    [
        "Checkout Service depends on Billing.",
        "Team Phoenix owns the deploy pipeline.",
        "Open Questions For Thursday",
        "Important: Do Not Restart The Worker During Imports",
        "We use Apple laptops. Target date is 1 May. Rose bushes.",
        "Hope the weather holds. April and August are busy. Latin was fun.",
        "The Security Group, the Working Group and a MIT license",
        "Jenkins builds, Prometheus scrapes, Terraform plans",
        "The Product Owner decides. Dr. No",
        "Use Zorblatt, using Zorblatt: we use Zorblatt paper",
        "The server moved to Querent and reports to the hub, the team left Zorblatt",
        "our office at Street, a Street",
        "Max Retries is 5, Grace Period is over, Bill Payment runs",
        "Port Forwarding is disabled. We moved from Notion to Obsidian. Signed by Legal. Told Product.",
        "University Students and Museum Tickets, Cambridge Analytica",
        "Das Essen ist fertig, der Speicherplatz und die Einbahnstraße nicht.",
        "Die Datenbank läuft, die Kunden-Stiftung zahlt, Im Jan 2024",
        "程序启动失败，方便的时候，周末，高峰期，何时上线",
        "我们公司，附近的医院，上市公司，苹果比梨贵，小程序",
        "王，欧阳，小李",
    ],
)
def test_what_names_nothing(text: str) -> None:
    assert named(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tim arbeitet bei Siemens in Erlangen.", ["P Tim", "O Siemens", "L Erlangen"]),
        ("Herr Dr. Weiß hat den Vertrag geprüft.", ["P Weiß"]),
        ("Die Firma Krüger GmbH liefert am Montag.", ["O Krüger GmbH"]),
        ("Er studiert an der TU Dresden.", ["O TU Dresden"]),
        ("Das Fraunhofer-Institut und der SC Freiburg", ["O Fraunhofer-Institut", "O SC Freiburg"]),
        ("Unser Büro ist in der Schillerstraße 12.", ["L Schillerstraße"]),
        ("Jan kommt heute, Jan ist krank, Jan hat Zeit.", ["P Jan"]),
        ("Sie wohnt in Zorblatt und arbeitet bei Querent", ["L Zorblatt", "O Querent"]),
        ("Leitung: Zorblatt, mein Nachbar Zorblatt Querent ist da", ["P Zorblatt", "P Zorblatt Querent"]),
        ("Mein Arzt heißt Grace und das ist Art", ["P Grace"]),
        ("Wir fahren nach Essen und von Bosch zur alten Linde.", ["L Essen", "O Bosch"]),
    ],
)
def test_german_has_lists_titles_and_prepositions_alone(text: str, expected: list[str]) -> None:
    assert named(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("张伟负责支付模块。", ["P 张伟"]),
        ("欧阳雪和小王说", ["P 欧阳雪", "P 小王"]),
        ("王老师在南京市", ["P 王老师", "L 南京市"]),
        ("她在苹果工作", ["O 苹果"]),
        ("马丽娟已经离职，去了字节跳动。", ["P 马丽娟", "O 字节跳动"]),
        ("昨天参观明德中学，北京大学第三医院", ["O 明德中学", "O 北京大学第三医院"]),
        ("联系陈可说", ["P 陈可"]),
        ("李万说，李两二说", ["P 李万"]),
        ("李万东负责", ["P 李万东"]),
        ("高峰辞职", ["P 高峰"]),
    ],
)
def test_chinese(text: str, expected: list[str]) -> None:
    assert named(text) == expected


@pytest.mark.parametrize(
    "unit",
    ["Ana ", "Dr. ", "Xa Xb ", "in X at Y ", "王", "上海大学", "中国", "公司", "O'", "A. ", "de Ana ", "University of ",
     "St. ", "老王", "Lives in Xanadu ", "& ", "A-", "第一", "Ana's ", "live "],
)  # fmt: skip
def test_hostile_text_takes_linear_time(unit: str) -> None:
    text = unit * (40_000 // len(unit))
    assert cpu_s(lambda: extract(text)) < 3


PIECES = st.sampled_from([
    *("Ana", "Bob's", "Dr", ".", "von", "O", "'", "Smith", "GmbH", "University", "of", "in", "lives", "works", "at"),
    *("X", "Street", "May", "&", "Sons", ":", "Owner", "St", "Jan", "12", "der", "Paris", "Apple", "\n", "said", "-"),
    *("王", "小明", "负责", "大学", "北京", "欧阳", "在", "McKay", "É", "Fraunhofer-Institut", "is", "on", "call"),
])  # fmt: skip


@given(st.lists(PIECES, max_size=20), st.sampled_from(["", " "]))
def test_every_name_is_a_part_of_the_text(pieces: list[str], joint: str) -> None:
    text = joint.join(pieces)
    without_blanks = "".join(text.split())
    for name, _ in names_in(split(text)):
        assert "".join(name.split()) in without_blanks
    for name, _ in chinese_names(without_blanks or "x"):
        assert name in without_blanks


def test_a_name_loses_its_possessive_alone() -> None:
    assert [bare_name(word) for word in ("Ana's", "Ana’s", "O'Brien", "Ana'll", "Ana")] == [
        *("Ana", "Ana", "O'Brien", "Ana", "Ana"),
    ]  # fmt: skip


def test_lists_agree_with_one_another() -> None:
    lists = name_lists()
    assert lists.given_certain <= lists.given_ambiguous
    assert len(lists.given) > 500
