"""recall on the wire: what is refused and in which words, and which keys an answer always has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

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


async def test_every_bad_field_is_told_at_once_and_none_at_length(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        error = await refused(over, mode="x" * 5000, seed=-1, order="y" * 5000, explain=2, profile="z" * 5000)
        assert {problem.field for problem in error.problems} == {"mode", "seed", "order", "explain", "profile"}
        assert all(len(problem.message) < 200 for problem in error.problems)
        late = await refused(over, intent="i" * 5000, now="n" * 5000, as_of="a" * 5000, budget=5)
        assert {problem.field for problem in late.problems} == {"intent", "now", "as_of", "budget"}
        assert all(len(problem.message) < 300 for problem in late.problems)


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


async def test_an_open_window_ends_with_the_last_day_that_can_be_written(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await fill(over, "tea at four")
        since = await recalled(over, "tea since 2024-03-12")
        before = await recalled(over, "tea before 2024-03-12")
        assert since["meta"]["window"]["until"] == "9999-12-31T00:00:00.000000Z"
        assert before["meta"]["window"]["since"] == "0001-01-01T00:00:00.000000Z"


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
