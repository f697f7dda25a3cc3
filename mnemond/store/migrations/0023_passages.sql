-- What was said in the sessions of agents, exchange by exchange, beside the memories (docs/decisions/0081). `op_id` is the
-- operation that kept it; `gone_op` the one that took it out of recall, null while it is in; `back_op` the one that brought
-- it back. `embedding`: float32 of shape (pieces, dimension), empty for a text of which the embedder `embedded_by` (its
-- fingerprint) knows no word.
CREATE TABLE passages(
  id TEXT PRIMARY KEY NOT NULL,
  dedupe_key TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK(kind = 'exchange' OR kind = 'summary'),
  said_at TEXT NOT NULL,
  host TEXT NOT NULL,
  conversation_id TEXT NOT NULL DEFAULT '',
  project TEXT NOT NULL DEFAULT '',
  user_id TEXT NOT NULL DEFAULT '',
  session_id TEXT NOT NULL DEFAULT '',
  agent_id TEXT NOT NULL DEFAULT '',
  op_id TEXT NOT NULL,
  gone_op TEXT,
  back_op TEXT,
  prompt TEXT NOT NULL,
  answer TEXT NOT NULL,
  embedding BLOB,
  embedded_by TEXT,
  CHECK((embedding IS NULL) = (embedded_by IS NULL))
) STRICT;
CREATE INDEX passages_by_conversation ON passages(conversation_id, said_at);
CREATE INDEX passages_by_time ON passages(said_at);
CREATE INDEX passages_by_op ON passages(op_id);
CREATE INDEX passages_by_gone_op ON passages(gone_op) WHERE gone_op IS NOT NULL;
CREATE INDEX passages_by_back_op ON passages(back_op) WHERE back_op IS NOT NULL;
CREATE INDEX passages_unembeddable ON passages(embedded_by) WHERE length(embedding) = 0;
