"""Divide the budget of a session among what it is shown, so that the best memories win it.

Prompts come one after another, and no later one is known yet: an online knapsack. The rule is the threshold of Zhou,
Chakrabarty and Lukose (Budget constrained bidding in keyword auctions and online knapsack problems, 2008): where values
lie between L and 1, a memory with which the share z of the room for prompts is used needs the value (e/L)^z · L/e. Up
to z = 1/(1 + ln(1/L)) everything passes, then the bar rises, to 1 at the end. Where each takes little of the room, at
least 1/(1 + ln(1/L)) of the greatest value possible is shown, and no rule guarantees more. See docs/decisions/0045.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from mnemond.config.settings import HookSettings
from mnemond.hooks.prompt_text import PromptText
from mnemond.model.answers import RecallHit
from mnemond.text.prompt_escape import quarters, token_count

BRIEF_SHARE: Final = 2 / 3
"""Share of the budget for what a session begins with; prompts have what it leaves. 1,000 of 1,500 tokens are 4,000
Latin letters; `hooks.max_characters` allows 2,400 by default: only scripts of a token a letter are cut by this."""

WEAKEST: Final = 0.1
"""L: a memory that the settings just admit counts a tenth of the surest one, so that it may use three tenths of the
room for prompts (1/(1 + ln 10)). Chosen by hand: with plain values, from .62, the first prompts of fifty took two
thirds whatever they were; between .05 and .2 it makes no difference."""

BRIEF_TRIES: Final = 4
"""Times a brief is rendered: a text of one script fits at the second."""

MARGIN: Final = 0.97
"""Part of the room for a brief that the next try aims at, as scripts are mixed unevenly."""

TRIED: Final = 2
"""Results that are tried for each that may be shown: rendering a hostile one takes .5 ms."""

NOTHING: Final = PromptText("", [], [])


class Candidate(NamedTuple):
    """A result of recall with the probability, in [0, 1], that the prompt needs it; its explanation has the reasons."""

    hit: RecallHit
    probability: float


class Fitted(NamedTuple):
    """The text to show with its estimated size, and for each memory that is left out the reason."""

    rendered: PromptText
    chosen: list[Candidate]
    tokens: int
    refused: list[tuple[Candidate, str]]


def bar(used: float, least: float) -> float:
    """Return the probability that a memory needs where the share `used` of the room is used, in [`least`, 1]. Values
    are probabilities from `least` to 1, stretched to L to 1."""
    value: float = WEAKEST / math.e * (math.e / WEAKEST) ** used
    return least + (1.0 - least) * max(0.0, value - WEAKEST) / (1.0 - WEAKEST)


def fit(
    found: Sequence[Candidate],
    render: Callable[[Sequence[RecallHit]], PromptText],
    settings: HookSettings,
    spent: int,
    begun: int = 0,
) -> Fitted:
    """Choose memories for a prompt, of those `found` in their order, in a session that used `spent` tokens of its
    budget, `begun` of them for what it began with."""
    limit, least = settings.session_tokens, settings.min_probability
    fitted = Fitted(NOTHING, [], 0, [])
    for place, each in enumerate(found):
        if len(fitted.chosen) == settings.prompt_results or place >= TRIED * settings.prompt_results:
            fitted.refused.append((each, f"{settings.prompt_results} others come first"))
            continue
        rendered = render([candidate.hit for candidate in (*fitted.chosen, each)])
        tokens = size(rendered)
        needed = bar((spent + tokens - begun) / max(1, limit - begun), least) if limit else least
        if len(rendered.shown) <= len(fitted.chosen):
            fitted.refused.append((each, "no room in hooks.max_characters"))
        elif limit and spent + tokens > limit:
            fitted.refused.append((each, "no room in the session's budget"))
        elif each.probability < needed and (needed > least or not fitted.chosen):
            # One beside a surer memory may have less than `least`: it is shown only with that one, with room to spare.
            left = f"what is left of the session's budget is for {needed:.2f} and more"
            fitted.refused.append((each, f"probability {each.probability:.2f}; {left}"))
        else:
            fitted = fitted._replace(rendered=rendered, chosen=[*fitted.chosen, each], tokens=tokens)
    return fitted


def fit_brief(render: Callable[[int], PromptText], settings: HookSettings, spent: int) -> Fitted:
    """Render what a session begins with within its share of the budget; `render` takes the most characters."""
    most, limit = settings.max_characters, settings.session_tokens
    room = min(int(limit * BRIEF_SHARE), limit - spent) if limit else 0
    for _ in range(BRIEF_TRIES):
        rendered = render(most)
        tokens = size(rendered)
        if not limit or tokens <= room:
            return Fitted(rendered, [], tokens, [])
        most = max(0, int(most * MARGIN * room / tokens))
    return Fitted(NOTHING, [], 0, [])


def size(rendered: PromptText) -> int:
    """Return the estimated tokens of a text."""
    return token_count(quarters(rendered.text))
