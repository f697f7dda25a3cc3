"""A result of `stats`, and what people read of it."""

from __future__ import annotations

from mnemond.api.types_admin import Quantiles, StatsResult

STATS = StatsResult(
    store="default", total_insights=87, deleted_insights=3, by_status={"active": 87, "forgotten": 3},
    by_category={"fact": 80, "decision": 7}, by_type={"memory": 87}, by_source={"user": 60, "agent": 27},
    edge_count=210, edges_by_type={"temporal": 90, "semantic": 0, "causal": 4, "entity": 116},
    embedding="minilm_static_256_int8", embedded=86, embedded_share=0.988506,
    age_days=Quantiles(0.01, 0.5, 12.25, 80.0, 120.5), unused_days=Quantiles(0.0, 0.1, 3.0, 40.0, 90.0),
    importance=Quantiles(0.05, 0.12, 0.5, 0.91, 1.3), importance_bands={"0-0.1": 2, "0.1-0.25": 0, "1+": 85},
    database_bytes=1_258_291, log_bytes=4_096, free_bytes=8_192,
    index_bytes={"vectors": 131_072, "codes": 0, "words": 20_480}, index_total_bytes=151_552, rows=90,
    judged={"useful": 12, "misled": 1},
    refused={"2026-05-12": {"courtesy": 5, "question": 2}, "2026-05-11": {"short": 1}},
)  # fmt: skip

STATS_TRANSCRIPTS = {
    "stats": """\
Store "default"
  memories    87, 3 out of recall (forgotten 3)
  categories  fact 80, decision 7
  links       210: temporal 90, causal 4, entity 116
  types       memory 87
  sources     user 60, agent 27
  embedding   minilm_static_256_int8, 86 embedded (98.9 %)
  made        mostly 0.5 to 80 days ago (median 12.2, at most 120)
  used        mostly 0.1 to 40 days ago (median 3, at most 90)
  importance  mostly 0.12 to 0.91 (median 0.5, at most 1.3)
              0-0.1 2, 1+ 85
  file        1.2 MiB, 8.0 KiB of it free, log 4.0 KiB
  index       148.0 KiB in 90 rows: vectors 128.0 KiB, words 20.0 KiB
  judged      useful 12, misled 1
  refused     2026-05-12  courtesy 5, question 2
              2026-05-11  short 1
""",
}
