"""Causal cues of spec 6.4, and the directions of chapter 07."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.text.cues import CausalCue, causal_cue, deciding, direction


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Chose SQLite because the team lacks Redis", ("effect", "causes", "because")),
        ("We pinned it since the proxy strips headers, and it needs a header", ("effect", "causes", "since")),
        ("Since we do not own the host, TLS stays off", ("effect", "causes", "since")),
        ("It was slow due  to the disk", ("effect", "causes", "due to")),
        ("The outage was caused by a full disk", ("effect", "causes", "caused by")),
        ("Late owing to the strike", ("effect", "causes", "owing to")),
        ("Fixed thanks to the new index", ("effect", "causes", "thanks to")),
        ("Disk was full. As a result the writes failed", ("effect", "causes", "as a result")),
        ("Failed as a result of the merge", ("effect", "causes", "as a result of")),
        ("Therefore we wait", ("effect", "causes", "therefore")),
        ("The key is short, thus weak", ("effect", "causes", "thus")),
        ("and hence slow", ("effect", "causes", "hence")),
        ("Consequently we left", ("effect", "causes", "consequently")),
        ("Split the file so that tests run alone", ("effect", "enables", "so that")),
        ("Cached in order to save calls", ("effect", "enables", "in order to")),
        ("We decided to leave AWS", ("effect", "causes", "decided to")),
        ("Qdrant was chosen because filtering is faster", ("effect", "causes", "because")),
        ("因为团队没有经验", ("effect", "causes", "因为")),
        ("由于网络慢", ("effect", "causes", "由于")),
        ("所以改了", ("effect", "causes", "所以")),
        ("因此失败", ("effect", "causes", "因此")),
        ("为了加快速度", ("effect", "enables", "为了")),
        ("加索引以便搜索", ("effect", "enables", "以便")),
        ("团队决定迁移", ("effect", "causes", "决定")),
        ("The flaky NFS mount leads to WAL corruption", ("cause", "enables", "leads to")),
        ("The leak led to a crash", ("cause", "enables", "led to")),
        ("This results in panics", ("cause", "causes", "results in")),
        ("The bug causes a crash", ("cause", "causes", "causes")),
        ("Caching enables offline use", ("cause", "enables", "enables")),
        ("The lock prevents races", ("cause", "prevents", "prevents")),
        ("Added a lock to prevent races", ("cause", "prevents", "prevent")),
        ("The firewall blocks port 22", ("cause", "prevents", "blocks")),
        ("It blocks the writer", ("cause", "prevents", "blocks")),
        ("The proxy blocked the upload", ("cause", "prevents", "blocked")),
        ("This ensures order", ("cause", "causes", "ensures")),
        ("Which means that clients wait", ("cause", "causes", "means that")),
        ("内存泄漏导致崩溃", ("cause", "causes", "导致")),
        ("锁可以防止竞争", ("cause", "prevents", "防止")),
        ("防火墙阻止访问", ("cause", "prevents", "阻止")),
        ("記憶體不足導致崩潰", ("cause", "causes", "導致")),
    ],
)
def test_every_cue_has_its_role_and_sub_type(text: str, expected: tuple[str, str, str]) -> None:
    cue = causal_cue(text)
    assert cue is not None
    assert (cue.role, cue.sub_type, cue.signal) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "We use Redis since 2019",
        "Caroline lives there since last May",
        "Things have been fine ever since we moved",
        "A lot's happened since we talked",
        "It has not changed since the metric was added",
        "since I was 17 I paint",
        "You developed since coming out. It was great",
        "since the release",
        "Validators miss some blocks in a row",
        "reject blocks with evidence",
        "the unavailable blocks a provider has",
        "The causes of the outage are unknown",
        "Search the results in Table 3",
        "All leads, so that was awesome",
        "enabled by default",
        "Many thanks to Jae",
        "Thanks to everyone who helped",
        "despite the rain",
        "Enable TLS",
        "the blocked queue",
        "cause-and-effect",
        "决定性的一步",
        "知其所以然",
        "a blockchain prevention",
    ],
)
def test_what_is_no_cue(text: str) -> None:
    assert causal_cue(text) is None


def test_the_first_cue_decides_the_role_and_the_strongest_the_sub_type() -> None:
    assert causal_cue("Because it leads to races, blocks writers") == CausalCue("effect", "enables", "because")
    assert causal_cue("It leads to races because the lock is gone") == CausalCue("cause", "enables", "leads to")
    assert causal_cue("Kept it despite the cost, because it prevents races") == CausalCue(
        "effect", "prevents", "because"
    )
    assert causal_cue("Enabled caching because it is slow") == CausalCue("effect", "enables", "because")
    assert causal_cue("blocking the loop, because of I/O") == CausalCue("effect", "prevents", "because")


@pytest.mark.parametrize(
    ("new", "previous", "expected", "sub_type"),
    [
        (
            "Chose SQLite because the team lacks Redis experience",
            "Team lacks Redis experience",
            "previous_to_new",
            "causes",
        ),
        (
            "The flaky NFS mount leads to WAL corruption",
            "WAL corruption seen on the build server",
            "new_to_previous",
            "enables",
        ),
        ("The Redis skills gap is real", "Chose SQLite because of the Redis gap", "new_to_previous", "causes"),
        ("WAL corruption on the server", "The NFS mount causes WAL corruption", "previous_to_new", "causes"),
        ("It fails because of the mount", "The NFS mount prevents locking", "previous_to_new", "causes"),
    ],
)
def test_direction_goes_from_cause_to_effect(new: str, previous: str, expected: str, sub_type: str) -> None:
    cues = causal_cue(new), causal_cue(previous)
    assert direction(*cues) == expected
    decided = deciding(*cues)
    assert decided is not None
    assert decided.sub_type == sub_type


def test_no_cue_no_direction() -> None:
    assert direction(None, None) is None
    assert deciding(None, None) is None


@given(
    st.lists(
        st.sampled_from(
            ["because", "since", "blocks", "leads", "to", "the", "因为", "导致", "despite", "thanks", "we", ".", "is"]
        ),
        max_size=12,
    )
)
def test_any_text_is_read(words: list[str]) -> None:
    for text in (" ".join(words), "".join(words)):
        cue = causal_cue(text)
        assert cue is None or cue.signal in " ".join(text.split())


@given(st.text(max_size=80))
def test_no_text_raises(text: str) -> None:
    causal_cue(text)
