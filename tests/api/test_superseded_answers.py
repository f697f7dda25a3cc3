"""What held before, in the answer to a question how something was."""

from __future__ import annotations

from pathlib import Path

from mnemond.api.types_changes import SupersedeParams
from mnemond.api.types_memories import ContextParams, RecallParams, RememberParams
from mnemond.cli.grammar import Output, success
from mnemond.cli.help import BY_NAME
from mnemond.cli.output import Style
from mnemond.mcp.render import recalled
from mnemond.model.answers import CompactResult, ContextResult, FormerState, RecallHit, RecallResult
from tests.api.factories import CALL, Bench, bench
from tests.tables import each_row

MARTA, TOMAS, INES = (f"The owner of billing is {name}" for name in ("Marta", "Tomas", "Ines"))
MADE = {MARTA: "2023-02-01T09:00:00Z", TOMAS: "2024-03-01T09:00:00Z", INES: "2025-06-01T09:00:00Z"}


def shown(result: RecallResult | CompactResult) -> str:
    """What the client prints."""
    return success(BY_NAME["recall"], result, Output("text", style=Style(columns=100))).stdout


class Owners:
    """A store in which the owner of billing changed."""

    def __init__(self, over: Bench) -> None:
        self.over = over
        self.ids: dict[str, str] = {}

    async def remember(self, text: str, instead_of: str | None = None, **fields: object) -> None:
        made = MADE.get(text, "2023-01-01T09:00:00Z")
        params = RememberParams(content=text, no_diff=True, created_at=made, **fields)  # type: ignore[arg-type]
        stored = (await self.over.remembering.remember(CALL, params)).id
        assert stored is not None
        self.ids[text] = stored
        if instead_of is not None:
            await self.over.changes.supersede(CALL, SupersedeParams(old_id=self.ids[instead_of], new_id=stored))

    async def fill(self) -> None:
        await self.remember("The office has a coffee machine")
        await self.remember(MARTA)
        await self.remember(TOMAS, MARTA)
        await self.remember(INES, TOMAS)

    async def recall(self, question: str, **fields: object) -> list[RecallHit]:
        params = RecallParams(query=question, **fields)  # type: ignore[arg-type]
        found = await self.over.reads.recall(CALL, params)
        assert isinstance(found, RecallResult)
        return list(found.results)

    async def first(self, question: str, **fields: object) -> list[str]:
        return [hit.insight.content for hit in await self.recall(question, **fields)][:2]


@each_row(
    ("question", "expected"),
    [
        ("Who was the owner of billing before?", [TOMAS, INES]),
        ("Who was the owner of billing originally?", [MARTA, INES]),
        ("Wer war früher owner of billing?", [TOMAS, INES]),
        ("Who was the owner of billing in 2023?", [MARTA, INES]),
        ("Who was the owner of billing in April 2024?", [TOMAS, INES]),
        ("Who is the owner of billing?", [INES]),
        ("owner of billing", [INES]),
    ],
)
async def test_what_held_at_the_time_asked_for_stands_above_what_holds_now(
    tmp_path: Path, question: str, expected: list[str]
) -> None:
    async with bench(tmp_path) as over:
        owners = Owners(over)
        await owners.fill()
        assert (await owners.first(question))[: len(expected)] == expected


async def test_a_former_state_says_until_when_it_held(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        owners = Owners(over)
        await owners.fill()
        question = "Who was the owner of billing before?"
        first, second, *_ = await owners.recall(question)
        assert first.former == FormerState(first.insight.invalid_at or "", owners.ids[INES])
        assert first.via == "former"
        assert (first.score, first.confidence) == (second.score, second.confidence)
        assert second.former is None
        short = await over.reads.recall(CALL, RecallParams(query=question, compact=True))
        assert isinstance(short, CompactResult)
        assert [hit.former == first.former for hit in short.results][:2] == [True, False]
        assert f"until {first.former.until[:10]}  {TOMAS}" in shown(short)
        whole = await over.reads.recall(CALL, RecallParams(query=question))
        assert isinstance(whole, RecallResult)
        held = first.former.until[:10]
        assert f"held until {held}; {owners.ids[INES][:8]} holds now" in shown(whole)
        assert f" held until {held} user> {TOMAS}" in recalled(whole, "a" * 32)
        text = await over.reads.context(CALL, ContextParams(query=question))
        assert isinstance(text, ContextResult)
        assert f"until:{first.former.until[:10]}> {TOMAS}" in text.text
