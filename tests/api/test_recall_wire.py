"""recall on the wire: what is refused and in which words, and which keys an answer always has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from mnemond.api.registry import METHODS
from mnemond.api.types_changes import LinkParams
from mnemond.api.types_memories import RecallParams, RememberParams
from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.model.outcomes import RememberResult
from mnemond.model.query import MODES, PROFILES
from mnemond.wire.params import MAX_EXACT, decode_params
from tests.api.factories import CALL, Bench, ToyEmbedder, bench
from tests.tables import each_row

# ------------------------------------------------------------ what is refused


async def refused(over: Bench, **params: Any) -> MnemonError:
    with pytest.raises(MnemonError) as caught:
        await over.reads.recall(CALL, decode_params(RecallParams, msgspec.json.encode({"query": "x", **params})))
    assert caught.value.kind is INVALID_PARAMS
    assert caught.value.outcome == "rejected"
    return caught.value


MODE_NAMES = "mode must be one of beam, none, ppr, probabilistic"
INTENT_NAMES = "it must be one of why, when, entity, general"
PROFILE_NAMES = "profile must be one of mem0, mnemon, mnemond, mnemosyne"


@each_row(
    ("field", "value", "sentence"),
    [
        ("mode", "beem", f"{MODE_NAMES}; it is 'beem'"),
        ("mode", 5, f"{MODE_NAMES}; it is 5"),
        ("mode", ["beam"], f"{MODE_NAMES} or null; it is a list of 1"),
        ("seed", -1, f"seed is -1; allowed are 0 to {MAX_EXACT}"),
        ("seed", MAX_EXACT + 1, f"seed is {MAX_EXACT + 1}; allowed are 0 to {MAX_EXACT}"),
        ("seed", 1.5, "seed must be a whole number or one of random or null; it is the number 1.5"),
        ("seed", "chance", "seed must be a whole number or one of random; it is 'chance'"),
        ("order", "oldest", "order must be one of score, time; it is 'oldest'"),
        ("order", None, "order must be one of score, time; it is null"),
        ("explain", "yes", "explain must be true or false; it is a string of 3 characters"),
        ("explain", 1, "explain must be true or false; it is the number 1"),
        ("profile", "mnemom", f"{PROFILE_NAMES}; it is 'mnemom'"),
        ("profile", 5, f"{PROFILE_NAMES}; it is 5"),
        ("intent", 5, "intent must be a string or null; it is the number 5"),
        ("intent", "", f"intent is ''; {INTENT_NAMES}"),
        ("intent", "Whence", f"intent is 'Whence'; {INTENT_NAMES}; did you mean \"when\"?"),
        ("now", 5, "now must be a string or null; it is the number 5"),
        ("as_of", 5, "as_of must be a string or null; it is the number 5"),
        ("include_invalid", "no", "include_invalid must be true or false; it is a string of 2 characters"),
        ("touch", 0, "touch must be true or false; it is the number 0"),
        ("anchors", "keyword",
         "anchors must be a list of one of entity, keyword, recency, vector or null; it is a string of 7 characters"),
        ("limit", 0, "limit is 0; allowed are 1 to 1000"),
        ("limit", 1001, "limit is 1001; allowed are 1 to 1000"),
        ("context", 1, "context must be true or false; it is the number 1"),
        ("compact", "x", "compact must be true or false; it is a string of 1 characters"),
        ("basic", None, "basic must be true or false; it is null"),
        ("min_importance", 6, "min_importance is 6; allowed are 1 to 5"),
        ("tags", "infra", "tags must be a list of strings; it is a string of 5 characters"),
        ("metadata", [], "metadata must be an object or null; it is a list of 0"),
        ("session_id", "", "session_id has 0 characters; allowed are 1 to 200 characters"),
        ("explian", True, "there is no parameter 'explian'; did you mean \"explain\"?"),
    ],
)  # fmt: skip
async def test_the_sentence_names_the_field_what_is_allowed_and_what_came(
    tmp_path: Path, field: str, value: object, sentence: str
) -> None:
    async with bench(tmp_path) as over:
        error = await refused(over, **{field: value})
        assert [(problem.field, problem.message) for problem in error.problems] == [(field, sentence)]


@pytest.mark.parametrize(
    ("field", "value", "named"), [("anchors[0]", ["keywords"], "anchors"), ("any_tags[1]", ["a", 5], "any_tags")]
)
async def test_an_item_of_a_list_is_named_by_its_place(
    tmp_path: Path, field: str, value: list[object], named: str
) -> None:
    async with bench(tmp_path) as over:
        (problem,) = (await refused(over, **{named: value})).problems
        assert problem.field == field
        assert problem.message.startswith(f"{field} must be ")


@each_row("field", ["now", "as_of"])
@each_row("value", ["yesterday", "", "2024-02-30", "2024-03-12T00:00:00", "2024-13-01T00:00:00Z"])
async def test_a_time_that_is_none_is_shown_with_one_that_is(tmp_path: Path, field: str, value: str) -> None:
    async with bench(tmp_path) as over:
        (problem,) = (await refused(over, **{field: value})).problems
        assert problem.field == field
        assert problem.message.startswith(f"{field}: ")
        assert f'"{value}"' in problem.message
        assert "2026-02-18" in problem.message


async def test_every_bad_field_is_told_at_once_and_none_at_length(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        error = await refused(over, mode="x" * 5000, seed=-1, order="y" * 5000, explain=2, profile="z" * 5000)
        assert {problem.field for problem in error.problems} == {"mode", "seed", "order", "explain", "profile"}
        assert all(len(problem.message) < 200 for problem in error.problems)
        late = await refused(over, intent="i" * 5000, now="n" * 5000, as_of="a" * 5000, budget=5)
        assert {problem.field for problem in late.problems} == {"intent", "now", "as_of", "budget"}
        assert all(len(problem.message) < 300 for problem in late.problems)


@each_row("field", ["mode", "seed", "intent", "now", "as_of", "anchors", "store"])
async def test_null_is_as_good_as_nothing(tmp_path: Path, field: str) -> None:
    async with bench(tmp_path) as over:
        await fill(over, "tea at four")
        nothing: dict[str, Any] = {field: None}
        assert await recalled(over, **nothing) == await recalled(over)


# ------------------------------------------------------------ what is answered


async def fill(over: Bench, *texts: str, **fields: Any) -> list[str]:
    made = []
    for text in texts:
        result = await over.remembering.remember(CALL, RememberParams(content=text, no_diff=True, **fields))
        assert isinstance(result, RememberResult)
        made.append(result.id or "")
        over.clock.us += 1_000_000
    return made


async def recalled(over: Bench, query: str = "tea", **params: Any) -> dict[str, Any]:
    """The answer as JSON, read back."""
    asked = decode_params(RecallParams, msgspec.json.encode({"query": query, **params}))
    answer: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(await over.reads.recall(CALL, asked)))
    return answer


def contents(answer: dict[str, Any]) -> list[str]:
    return [hit["insight"]["content"] for hit in answer["results"]]


HIT = {"insight", "score", "intent", "via", "via_all", "confidence", "signals", "path"}
INSIGHT = {
    "id", "content", "category", "importance", "tags", "entities", "source", "access_count", "effective_importance",
    "created_at", "updated_at", "valid_from", "invalid_at", "project", "project_id", "other_project",
}  # fmt: skip
META = {
    "intent", "intent_source", "anchor_count", "traversed", "mode", "weights", "embedding", "window", "hint", "rerank",
    "took_ms",
}  # fmt: skip
SIGNALS = {"keyword", "entity", "similarity", "graph"}


@each_row("profile", PROFILES)
@each_row("embedders", [(), (ToyEmbedder(),)])
async def test_an_answer_has_every_key_of_the_specification(
    tmp_path: Path, profile: str, embedders: tuple[ToyEmbedder, ...]
) -> None:
    async with bench(tmp_path, *embedders) as over:
        one, other = await fill(over, "tea at four", "cake at five")
        await over.changes.link(CALL, LinkParams(source_id=one, target_id=other, type="causal"))
        for mode in (None, *MODES):
            for query in ("tea last week", "the", "unheard of", "why tea"):
                check_keys(await recalled(over, query, profile=profile, mode=mode))


def check_keys(answer: dict[str, Any]) -> None:
    assert answer.keys() == {"results", "meta"}
    assert answer["meta"].keys() >= META
    assert len(answer["meta"]["weights"]) == 4
    assert isinstance(answer["meta"]["rerank"]["applied"], bool)
    for hit in answer["results"]:
        assert hit.keys() >= HIT
        assert hit["insight"].keys() == INSIGHT
        assert hit["signals"].keys() - {"prior"} == SIGNALS
        assert ("prior" in hit["signals"]) is (
            answer["meta"]["profile"] == "mnemosyne" and answer["meta"]["hint"] != "empty_query"
        )
        assert hit["via"] == (hit["via_all"][0] if len(hit["via_all"]) == 1 else "hybrid")
        assert all(step.keys() == {"from", "edge", "weight"} for step in hit["path"])
        assert hit["explanation"] is None


@pytest.mark.parametrize("profile", [each for each in PROFILES if each != "mnemosyne"])  # which starts at one
async def test_an_explanation_is_sent_to_those_who_ask_for_one(tmp_path: Path, profile: str) -> None:
    async with bench(tmp_path) as over:
        await fill(over, "tea at four", "tea and a long story about cake")
        asked: dict[str, Any] = {"query": "tea at four", "profile": profile, "mode": "none"}
        plain, explained = await recalled(over, **asked), await recalled(over, **asked, explain=True)
        assert {hit["explanation"] for hit in plain["results"]} == {None}
        first, second = [hit.pop("explanation") for hit in explained["results"]]
        judged = {"unasked"} if profile == "mnemond" else set[str]()
        assert first.keys() == second.keys() == {"parts", "above"} | judged
        assert first["parts"]
        assert first["above"]
        assert second["above"] == []
        for hit in plain["results"]:
            del hit["explanation"]
        assert explained == plain


async def test_the_window_and_the_seed_are_told(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await fill(over, "tea at four", created_at="2024-03-12T10:00:00Z")
        now = {"now": "2024-03-20T12:00:00Z"}
        hard = await recalled(over, "tea last week", profile="mnemon", **now)
        soft = await recalled(over, "tea last week", **now)
        span = {"since": "2024-03-11T00:00:00.000000Z", "until": "2024-03-18T00:00:00.000000Z"}
        assert (hard["meta"]["window"], soft["meta"]["window"]) == (span | {"hard": True}, span | {"hard": False})
        assert contents(hard) == contents(soft) == ["tea at four"]
        gone = await recalled(over, "tea last week", profile="mnemon", now="2024-06-20T12:00:00Z")
        assert gone["meta"]["window"]["hard"] is False
        assert contents(gone) == ["tea at four"]
        walked = await recalled(over, mode="probabilistic", seed=7)
        assert (walked["meta"]["mode"], walked["meta"]["seed"]) == ("probabilistic", 7)
        assert (hard["meta"]["seed"], hard["meta"]["draws"]) == (None, 0)


async def test_an_open_window_ends_with_the_last_day_that_can_be_written(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await fill(over, "tea at four")
        since = await recalled(over, "tea since 2024-03-12")
        before = await recalled(over, "tea before 2024-03-12")
        assert since["meta"]["window"]["until"] == "9999-12-31T00:00:00.000000Z"
        assert before["meta"]["window"]["since"] == "0001-01-01T00:00:00.000000Z"


async def test_an_intent_is_told_as_it_was_meant(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await fill(over, "tea at four")
        read, given = await recalled(over, "why tea"), await recalled(over, "why tea", intent="entity")
        assert (read["meta"]["intent"], read["meta"]["intent_source"]) == ("WHY", "auto")
        assert (given["meta"]["intent"], given["meta"]["intent_source"]) == ("ENTITY", "override")
        assert {hit["intent"] for hit in given["results"]} == {"ENTITY"}


@each_row("profile", PROFILES)
async def test_use_counts_where_something_speaks_for_it_and_it_is_wanted(tmp_path: Path, profile: str) -> None:
    async with bench(tmp_path) as over:
        name, _ = await fill(over, "tea at four", "cake at five")
        for quiet in ({"touch": False}, {"as_of": "2999-01-01"}, {"include_invalid": True}, {"basic": True}):
            assert "tea at four" in contents(await recalled(over, profile=profile, mode="none", **quiet))
        assert over.used == []
        await recalled(over, profile=profile, mode="none")
        assert over.used == [name]
        over.used.clear()
        await recalled(over, "the", profile=profile)
        assert over.used == []


async def test_equal_texts_are_told_in_either_profile(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        old, new = await fill(over, "tea at four", "Tea at four")
        for profile in PROFILES:
            (hit,) = (await recalled(over, profile=profile, mode="none"))["results"]
            assert (hit["insight"]["id"], hit["also"]) == (new, [old])


async def test_the_order_is_the_one_that_is_asked_for(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await fill(over, "a long story about cake, and at the end tea", "tea at four")
        assert contents(await recalled(over, "tea at four"))[0] == "tea at four"
        assert contents(await recalled(over, "tea at four", order="time"))[-1] == "tea at four"


async def test_a_question_may_be_given_by_position(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await fill(over, "tea at four", "tea at five")
        positional = METHODS["recall"].positional
        answer: Any = await over.reads.recall(CALL, decode_params(RecallParams, b'["tea", 1]', positional))
        assert len(answer.results) == 1
