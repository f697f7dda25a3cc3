"""What models are told is true: every tool, parameter, value and command that a text names is one that there is."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from mnemond.api.types_daemon import CliRunParams
from mnemond.cli import grammar, recall
from mnemond.cli.grammar import Invocation
from mnemond.config.prompt_texts import shipped
from mnemond.hooks.prompt_files import PromptFiles
from mnemond.mcp import render, tools
from mnemond.model.answers import MemoryInProject, RecallMeta
from mnemond.text.prompt_escape import quarters, token_count
from tests.tables import each_row

MAX_TOKENS: Final = 1_500
"""Of everything that every session has: tools as they are listed, instructions, and the opening of a brief."""

DECLARED: dict[str, dict[str, Any]] = {
    name: json.loads(msgspec.json.encode(tool)) for name, tool in tools.tools().items()
}
PROPERTIES: dict[str, dict[str, Any]] = {name: tool["inputSchema"]["properties"] for name, tool in DECLARED.items()}
VALUES = {str(each) for found in PROPERTIES.values() for schema in found.values() for each in schema.get("enum", ())}
LABELS = {"project:NAME", "project NAME"}
"""How a memory of another project is labelled, in MCP and in a shell."""

OTHERS = {
    "mnemonctl", "mnemond", "--project none", *LABELS, *(f"meta.{name}" for name in RecallMeta.__struct_fields__)
}  # fmt: skip
"""Names in code that are no tools: the command, the server, an option, labels, and members of a result."""


def texts() -> dict[str, str]:
    """All that models are told of this memory, by name."""
    files = PromptFiles(Path("/nonexistent"))
    described = "\n".join(
        "\n".join([tool["description"], *(str(each.get("description", "")) for each in PROPERTIES[name].values())])
        for name, tool in DECLARED.items()
    )
    return {"guide": files.guide(), "opening": files.opening(), "skill": files.skill(), "tools": described}


def named(text: str) -> Iterator[str]:
    """What stands in code in a text, lines of a shell and forms of answers aside."""
    prose = re.sub(r"^```\n.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    yield from (each for each in re.findall(r"`([^`]+)`", prose) if not each.startswith("<"))


@each_row("name", ["guide", "opening", "skill", "tools"])
def test_a_text_names_only_what_there_is(name: str) -> None:
    known = {*PROPERTIES, *VALUES, *OTHERS, *(each for found in PROPERTIES.values() for each in found)}
    assert set(named(texts()[name])) <= known


def test_the_skill_names_every_parameter_of_every_tool_and_no_other() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.+) \|$", texts()["skill"], re.MULTILINE)
    assert [tool for tool, _ in rows] == list(PROPERTIES)
    for tool, cell in rows:
        assert set(re.findall(r"`(\w+)`", cell)) == set(PROPERTIES[tool]) - {"store"}, tool
    assert all("store" in found for found in PROPERTIES.values())
    assert "Each takes `store`" in texts()["skill"]


def test_labels_are_those_that_are_shown() -> None:
    it = MemoryInProject("1", "text", "fact", 3, project="NAME", project_id="NAME", other_project=True)
    assert {render._project(it).strip(), recall._project(it)} == LABELS
    assert isinstance(grammar.parse(CliRunParams(argv=["list", "--project", "none"])), Invocation)


def test_every_command_of_the_skill_is_understood() -> None:
    commands = re.findall(r"^mnemonctl .+$", texts()["skill"], re.MULTILINE)
    assert len(commands) > 8
    for line in commands:
        _, *words = shlex.split(line.partition("  #")[0])
        argv = ["aaaaaaaa" if each.endswith("ID") else each for each in words]
        if argv[0] != "COMMAND":
            assert isinstance(grammar.parse(CliRunParams(argv=argv)), Invocation), line


def test_the_answers_that_the_skill_explains_are_given() -> None:
    skill, given = texts()["skill"].replace("\n  ", " "), Path(render.__file__).read_text("utf-8")
    explained = re.findall(r"\*([A-Z][^*]+)\*", skill)
    assert explained
    assert all(each.lower() in given.lower() for each in explained)
    assert "nothing known surely fits" in skill
    assert render.NOTHING_FITS.lower().startswith("nothing known surely fits")


def test_the_range_of_importance_is_the_declared_one() -> None:
    declared = PROPERTIES["remember"]["importance"]
    assert f"`importance` {declared['minimum']} to {declared['maximum']}" in texts()["skill"]


def test_all_of_it_together_costs_little() -> None:
    told = texts()
    listed = msgspec.json.encode(list(tools.tools().values())).decode()
    sizes = [token_count(quarters(each)) for each in (listed, told["guide"], told["opening"])]
    assert sum(sizes) <= MAX_TOKENS, sizes


def test_the_whole_set_costs_what_the_setting_says() -> None:
    core, full = (msgspec.json.encode(list(tools.tools(each).values())).decode() for each in ("core", "full"))
    assert 1_400 < token_count(quarters(full)) - token_count(quarters(core)) < 1_600


def test_no_advice_is_given_twice() -> None:
    """The guide says when; tools say what they do. Each sentence of the guide is in no other text of a session."""
    told = texts()
    sentences = [each.strip() for each in re.split(r"[.;:]\s", " ".join(told["guide"].split())) if len(each) > 30]
    opening = told["opening"]
    advice = [each for each in sentences if each.rstrip(".") not in opening]
    assert len(advice) > 5
    assert not [each for each in advice if each in " ".join(told["tools"].split())]


def test_a_guide_fits_what_claude_code_passes_on() -> None:
    assert len(texts()["guide"]) <= 2_048
    assert shipped("guide.md").startswith("# ")
