"""Outcomes as mnemond stored them before they became the results of the wire, brought into today's shape.

They had names of their own, no texts or states that follow from other fields, and `Remembered` left out what was empty.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from mnemond.model.outcomes import (
    EMBEDDER_KEPT,
    PIN_MESSAGES,
    SWITCHING,
    EmbedCalibrateResult,
    EmbedRunResult,
    EmbedSwitchResult,
    ForgetResult,
    GcDone,
    GcKept,
    LinkResult,
    MergeResult,
    PinResult,
    RememberResult,
    RestoreResult,
    SupersedeResult,
    UndoResult,
    UnlinkResult,
    UpdateResult,
    forget_message,
    supersede_message,
)

Fields = dict[str, Any]

_LEFT_OUT: Final[Fields] = {
    "action": "added", "replaced_id": None, "duplicate_of": None, "similarity": None, "matched_id": None, "reason": "",
    "edges_created": {}, "causal_candidates": [], "redacted": [], "embed_error": None, "auto_pruned": 0,
    "redundancy": None, "substance": None, "trigger_type": None, "conflicts": [], "dry_run": False, "replayed": False,
}  # fmt: skip


def _merged(merged_id: str) -> str:
    """The message of a merge by the rules of then, which could drop clauses."""
    return f"it says what {merged_id} said as well, which is out of recall"


def _remembered(old: Fields) -> Fields:
    found = [each | {"content": "", "category": ""} for each in old.get("candidates", ())]
    return _LEFT_OUT | _quality(old) | {
        "diff_suggestion": old.get("suggestion", "ADD"),
        "semantic_candidates": found,
        "hypothetical_queries": old.get("queries", []),
        "scope": {name: old.get(name) for name in ("user_id", "session_id", "agent_id")},
    }  # fmt: skip


def _quality(old: Fields) -> Fields:
    notes = old.get("notes", [])
    return old | {"quality_details": notes, "quality_warnings": list(dict.fromkeys(each["label"] for each in notes))}


def _forgotten(old: Fields) -> Fields:
    message = forget_message(old["merged_into"], purged=old["purged"])
    return old | {"status": "purged" if old["purged"] else "deleted", "message": message}


def _pinned(old: Fields) -> Fields:
    message = PIN_MESSAGES[old["pinned"], old["changed"]]
    return old | {"status": "pinned" if old["pinned"] else "unpinned", "message": message}


def _superseded(old: Fields) -> Fields:
    message = supersede_message(old["id"], old["instead_of"])
    return old | {"id": old["superseded_id"], "superseded_by": old["id"], "status": "superseded", "message": message}


def _collected(old: Fields) -> Fields:
    return old | {"status": "purged" if old["purged"] else "retired", "count": len(old["ids"])}


def _embedded(old: Fields) -> Fields:
    same = {name: old[name] for name in ("op_id", "model", "dimension", "replayed")}
    if old["message"] is not None:
        return same | {"status": "complete", "message": old["message"]}
    if old["id"] is not None:
        return same | {"status": "embedded", "id": old["id"]}
    return same | {"status": "backfill_complete", "succeeded": old["succeeded"], "failed": old["failed"]}


def _calibrated(old: Fields) -> Fields:
    """Without the thresholds, which are those of the present settings."""
    cosines = {name: round(old[name], 6) for name in ("unrelated", "paraphrase")}
    unknown = {"update": 0.0, "duplicate": 0.0, "override": None, "link": 0.0, "review": 0.0}
    return old | cosines | {"status": "calibrated", "thresholds": unknown}


EARLIER: Final[dict[str, tuple[type, Callable[[Fields], Fields]]]] = {
    "Remembered": (RememberResult, _remembered),
    "Forgotten": (ForgetResult, _forgotten),
    "Linked": (LinkResult, lambda old: old | {"status": "linked", "metadata": msgspec.json.decode(old["metadata"])}),
    "Unlinked": (UnlinkResult, lambda old: old | {"status": "unlinked"}),
    "Pinned": (PinResult, _pinned),
    "Revised": (UpdateResult, lambda old: _quality(old) | {"status": "updated" if old["changed"] else "unchanged"}),
    "Superseded": (SupersedeResult, _superseded),
    "Merged": (
        MergeResult,
        lambda old: _quality(old) | {"status": "merged", "message": _merged(old["merged_id"])},
    ),
    "Restored": (RestoreResult, lambda old: old | {"status": "restored"}),
    "Undone": (UndoResult, lambda old: old | {"status": "undone"}),
    "Collected": (GcDone, _collected),
    "Retained": (GcKept, lambda old: old | {"status": "retained", "new_access": old["access_count"]}),
    "Embedded": (EmbedRunResult, _embedded),
    "SwitchStarted": (EmbedSwitchResult, lambda old: old | {"status": "switching", "message": SWITCHING}),
    "SwitchDropped": (EmbedSwitchResult, lambda old: old | {"status": "aborted", "message": EMBEDDER_KEPT}),
    "Calibrated": (EmbedCalibrateResult, _calibrated),
}
"""By the name under which it was stored: today's struct, and its fields."""
