"""Prompts of the release and of the user, and the texts that are put into them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.errors import CONFIG, MnemonError
from mnemond.llm.prompts import ARGUMENTS, PROFILES, Profile, Prompt, numbers_in, read_prompts, release, without
from tests.tables import each_row

KEYS = (
    "substance_filter", "extract_entities", "generate_trigger", "generate_hypothetical_query", "generate_cues",
    "extract_relations",
    "generate_core_summary", "update_core_summary", "naturalize_time_delta", "extract_facts", "extract_facts_simple",
    "classify_conflict", "merge_facts", "find_links",
)  # fmt: skip


def own(tmp_path: Path, text: str) -> Path:
    (tmp_path / "prompt").mkdir(exist_ok=True)
    (tmp_path / "prompt" / "prompts.toml").write_text(text)
    return tmp_path


@each_row("profile", PROFILES)
def test_the_release_has_every_prompt_and_uses_every_text(profile: Profile) -> None:
    templates = release(profile)
    assert tuple(templates) == KEYS
    for key, text in templates.items():
        assert numbers_in(text) == set(range(1, len(ARGUMENTS[key]) + 1)), key
        assert "$" not in text


def test_profiles_differ_where_models_do() -> None:
    small, large = release("small"), release("large")
    assert [key for key in KEYS if small[key] != large[key]] == ["extract_facts"]
    assert "quote" in large["extract_facts"]


def test_tokens_are_replaced_once() -> None:
    prompt = Prompt("merge_facts", r"a {{1}} b {{2}} c {{1}} \{{1}} {{x}}", "release")
    assert prompt.render("{{2}}", r"\{{1}}") == r"a {{2}} b \{{1}} c {{2}} {{1}} {{x}}"


@given(st.text(), st.text())
def test_values_come_out_as_they_went_in(one: str, two: str) -> None:
    assert Prompt("merge_facts", "<{{1}}|{{2}}>", "release").render(one, two) == f"<{one}|{two}>"


@each_row("template", ["{{3}}", "{{0}}", "{{1}} {{3}}"])
def test_a_token_without_a_text_is_an_error(template: str) -> None:
    with pytest.raises(MnemonError, match="has a token beyond") as caught:
        Prompt("merge_facts", template, "release").render("a", "b")
    assert caught.value.kind is CONFIG


def test_a_prompt_is_named_by_its_hash() -> None:
    one, other = Prompt("merge_facts", "a", "release"), Prompt("merge_facts", "b", "release")
    assert one.digest == Prompt("merge_facts", "a", "x").digest
    assert (one.digest != other.digest, len(one.digest)) == (True, 12)


def test_without_a_file_the_release_counts(tmp_path: Path) -> None:
    found = read_prompts(tmp_path, "small")
    assert (found.errors, found.warnings) == ((), ())
    assert found["merge_facts"].origin == "release"


def test_a_file_replaces_single_keys(tmp_path: Path) -> None:
    text = 'merge_facts = "join {{1}} and {{2}}"\n[large]\nmerge_facts = "unite {{1}}, {{2}}"\n'
    data_dir = own(tmp_path, text)
    small, large = read_prompts(data_dir, "small"), read_prompts(data_dir, "large")
    assert small["merge_facts"].render("a", "b") == "join a and b"
    assert large["merge_facts"].render("a", "b") == "unite a, b"
    assert small["merge_facts"].origin.endswith("prompt/prompts.toml")
    assert small["update_core_summary"].origin == "release"


def test_a_text_that_is_not_used_is_a_warning(tmp_path: Path) -> None:
    found = read_prompts(own(tmp_path, 'merge_facts = "join {{2}}"\n'), "small")
    assert found.errors == ()
    assert found.warnings == (f"{tmp_path}/prompt/prompts.toml: merge_facts does not use {{{{1}}}}, older",)
    assert found["merge_facts"].template == "join {{2}}"


@each_row(
    ("text", "expected"),
    [
        ('merge_facts = "{{3}}"', "merge_facts has a token beyond {{1}} … {{2}}"),
        ('merge = "x"', '"merge" is no prompt; there are substance_filter'),
        ("merge_facts = 3", "merge_facts is no text"),
        ('merge_facts = " "', "merge_facts is no text"),
        ('[large]\nmerge = "x"', '[large] "merge" is no prompt'),
        ('[huge]\nmerge_facts = "x"', '"huge" is no prompt'),
        ("small = 3", '"small" is no prompt'),
        ("merge_facts = ", "cannot be used: Invalid value"),
        ('x = "' + "y" * 70_000 + '"', "cannot be used: it is larger than 65,536 bytes"),
    ],
)
def test_a_file_with_an_error_is_left_aside_with_the_reason(tmp_path: Path, text: str, expected: str) -> None:
    found = read_prompts(own(tmp_path, text), "large")
    assert expected in found.errors[0]
    assert all(each.origin == "release" for each in found.by_key.values())


def test_keys_are_removed_and_the_rest_stays_as_it_is() -> None:
    text = '# mine\nmerge_facts = "a" # one\nupdate_core_summary = "b"\n\n[large]\nmerge_facts = "c"\n'
    assert without(text, ["merge_facts"]) == '# mine\nupdate_core_summary = "b"\n\n'
    assert without(text, ["extract_facts"]) == text
