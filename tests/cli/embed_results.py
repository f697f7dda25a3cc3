"""Results of the methods behind `mnemonctl embed`, and what people read of the status."""

from __future__ import annotations

from mnemond.api.types_extract import CalibrationView, EmbedStatusResult, SwitchView, WorkView
from mnemond.model.outcomes import EmbedCalibrateResult, EmbedRunResult, EmbedSwitchResult, ThresholdsView

ID = "1a2b3c4d-0000-4000-8000-000000000001"

THRESHOLDS = ThresholdsView(update=0.67, duplicate=0.91, override=None, link=0.81, review=0.53)

STATUS = EmbedStatusResult(
    store="default", total_insights=1234, embedded=1230, coverage=0.996759, provider="builtin", available=False,
    ollama_available=False, reason="it is not installed", model="minilm", dimension=256, stale=3,
    work=WorkView("switch", 512, 1234, 2, "nomic is away"),
    switch=SwitchView("nomic", "ollama", 768, 512, 1234, "2026-02-17T09:30:00.000000Z"),
    calibration=CalibrationView(0.49, 0.96, "shipped"), thresholds=THRESHOLDS,
)  # fmt: skip

EMBEDDED = EmbedRunResult(status="embedded", id=ID, dimension=256, model="minilm", op_id="op-1", replayed=False)
RAN = EmbedRunResult(
    status="backfill_complete", succeeded=1, failed=2, dimension=256, model="minilm", op_id="op-1", replayed=True
)
NOTHING = EmbedRunResult(
    status="complete", message="every memory has one", dimension=256, model="minilm", op_id="op-1", replayed=False
)
SWITCHING = EmbedSwitchResult(
    status="switching", model="nomic", provider="ollama", dimension=768, total=1234,
    started_at="2026-02-17T09:30:00.000000Z", message="the present vectors serve", op_id="op-1", replayed=False,
)  # fmt: skip
ABORTED = EmbedSwitchResult(
    status="aborted", model="nomic", dropped=512, message="it keeps minilm", op_id="op-1", replayed=True
)
CALIBRATED = EmbedCalibrateResult(
    status="calibrated", model="minilm", unrelated=0.4, paraphrase=0.9, pairs=500, paraphrases=1,
    thresholds=THRESHOLDS, op_id="op-1", replayed=True,
)  # fmt: skip

ALL = (STATUS, EMBEDDED, RAN, NOTHING, SWITCHING, ABORTED, CALIBRATED)

EMBED_TRANSCRIPT = """\
Store "default"
  embedded    1,230 of 1,234 memories (100 %), 3 of another model
  model       minilm (builtin, 256 dimensions), not available
  reason      it is not installed
  at work     switch, 512 of 1,234, 2 failed; waiting: nomic is away
  switching   to nomic (ollama), 512 of 1,234, since 2026-02-17T09:30:00.000000Z
  calibrated  unrelated .49, paraphrases .96, as shipped
  links from  .81, candidates from .53
"""
