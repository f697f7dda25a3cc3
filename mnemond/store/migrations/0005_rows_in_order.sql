-- What is written together lies together (docs/decisions/0013): memories have a number that stays theirs, edges are
-- stored by it, and outcomes of operations in the order of writing.
-- References to `insights` are by name: the new table takes the place of the old one.
CREATE TABLE insights_with_number(
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  content TEXT NOT NULL,
  category TEXT NOT NULL DEFAULT 'general',
  importance INTEGER NOT NULL DEFAULT 3 CHECK(importance BETWEEN 1 AND 5),
  tags TEXT NOT NULL DEFAULT '[]',
  entities TEXT NOT NULL DEFAULT '[]',
  source TEXT NOT NULL DEFAULT 'user',
  embedding BLOB,
  access_count INTEGER NOT NULL DEFAULT 0 CHECK(access_count >= 0),
  last_accessed_at TEXT,
  effective_importance REAL NOT NULL DEFAULT 0.5,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  deleted_at TEXT,
  -- identity and provenance
  content_hash TEXT,
  channel TEXT,
  conversation_id TEXT,
  source_context TEXT,
  metadata TEXT,
  origin_model TEXT,
  prompt_version TEXT,
  confidence REAL,
  -- scope and typing
  user_id TEXT,
  session_id TEXT,
  agent_id TEXT,
  intent TEXT,
  importance10 INTEGER,
  memory_type TEXT NOT NULL DEFAULT 'memory'
    CHECK(memory_type = 'memory' OR memory_type = 'procedural' OR memory_type = 'summary'),
  trigger TEXT,
  trigger_type TEXT,
  domain_state TEXT,
  -- retrieval
  keywords TEXT,
  evolved_keywords TEXT,
  embedding_model TEXT,
  embedding_dim INTEGER,
  trigger_embedding BLOB,
  -- temporal validity
  event_start TEXT,
  event_end TEXT,
  valid_from TEXT,
  invalid_at TEXT,
  expires_at TEXT,
  -- reinforcement
  boost_days REAL NOT NULL DEFAULT 0,
  last_boosted_at TEXT,
  paired_with TEXT,
  corroboration_count INTEGER NOT NULL DEFAULT 0,
  last_corroborated_at TEXT,
  pinned INTEGER NOT NULL DEFAULT 0 CHECK(pinned IN (0, 1)),
  -- state
  status TEXT NOT NULL DEFAULT 'active'
    CHECK(status = 'active' OR status = 'superseded' OR status = 'merged'
      OR status = 'forgotten' OR status = 'pruned' OR status = 'expired'),
  superseded_by TEXT,
  consolidated_at TEXT,
  trust TEXT NOT NULL DEFAULT 'user' CHECK(trust = 'user' OR trust = 'agent' OR trust = 'tool' OR trust = 'web'),
  quarantined INTEGER NOT NULL DEFAULT 0 CHECK(quarantined IN (0, 1)),
  CHECK((status = 'active') = (deleted_at IS NULL))
) STRICT;
INSERT INTO insights_with_number(
  number,
  id, content, category, importance, tags, entities, source, embedding, access_count, last_accessed_at,
  effective_importance, created_at, updated_at, deleted_at, content_hash, channel, conversation_id, source_context,
  metadata, origin_model, prompt_version, confidence, user_id, session_id, agent_id, intent, importance10,
  memory_type, trigger, trigger_type, domain_state, keywords, evolved_keywords, embedding_model, embedding_dim,
  trigger_embedding, event_start, event_end, valid_from, invalid_at, expires_at, boost_days, last_boosted_at,
  paired_with, corroboration_count, last_corroborated_at, pinned, status, superseded_by, consolidated_at, trust,
  quarantined
)
SELECT
  rowid,
  id, content, category, importance, tags, entities, source, embedding, access_count, last_accessed_at,
  effective_importance, created_at, updated_at, deleted_at, content_hash, channel, conversation_id, source_context,
  metadata, origin_model, prompt_version, confidence, user_id, session_id, agent_id, intent, importance10,
  memory_type, trigger, trigger_type, domain_state, keywords, evolved_keywords, embedding_model, embedding_dim,
  trigger_embedding, event_start, event_end, valid_from, invalid_at, expires_at, boost_days, last_boosted_at,
  paired_with, corroboration_count, last_corroborated_at, pinned, status, superseded_by, consolidated_at, trust,
  quarantined
FROM insights ORDER BY rowid;
CREATE TABLE edge_rows(
  source INTEGER NOT NULL REFERENCES insights(number),
  target INTEGER NOT NULL REFERENCES insights(number),
  kind INTEGER NOT NULL CHECK(kind BETWEEN 0 AND 3),
  weight REAL NOT NULL CHECK(weight >= 0 AND weight <= 1),
  metadata TEXT NOT NULL DEFAULT '{}',
  created_at TEXT NOT NULL,
  boost_days REAL NOT NULL DEFAULT 0,
  last_boosted_at TEXT,
  created_by TEXT NOT NULL DEFAULT 'auto'
    CHECK(created_by = 'auto' OR created_by = 'host' OR created_by = 'user' OR created_by = 'import'
      OR created_by = 'worker'),
  PRIMARY KEY(source, target, kind),
  CHECK(source <> target)
) STRICT, WITHOUT ROWID;
INSERT INTO edge_rows(
  source, target, kind, weight, metadata, created_at, boost_days, last_boosted_at, created_by
)
SELECT
  s.number, t.number, CASE e.edge_type WHEN 'temporal' THEN 0 WHEN 'semantic' THEN 1 WHEN 'causal' THEN 2 ELSE 3 END,
  e.weight, e.metadata, e.created_at, e.boost_days, e.last_boosted_at, e.created_by
FROM edges AS e
  LEFT JOIN insights_with_number AS s ON s.id = e.source_id
  LEFT JOIN insights_with_number AS t ON t.id = e.target_id
ORDER BY 1, 2, 3;
CREATE INDEX edge_rows_by_target ON edge_rows(target) WHERE kind = 2;
DROP TABLE edges;
DROP TABLE insights;
ALTER TABLE insights_with_number RENAME TO insights;
CREATE INDEX insights_by_successor ON insights(superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX insights_by_partner ON insights(paired_with) WHERE paired_with IS NOT NULL;
CREATE INDEX insights_by_retirement ON insights(deleted_at, id) WHERE deleted_at IS NOT NULL;
CREATE VIEW edges(
  source_id, target_id, edge_type, weight, metadata, created_at, boost_days, last_boosted_at, created_by
) AS
SELECT s.id, t.id, CASE r.kind WHEN 0 THEN 'temporal' WHEN 1 THEN 'semantic' WHEN 2 THEN 'causal' ELSE 'entity' END,
  r.weight, r.metadata, r.created_at, r.boost_days, r.last_boosted_at, r.created_by
FROM edge_rows AS r JOIN insights AS s ON s.number = r.source JOIN insights AS t ON t.number = r.target;
CREATE TABLE operations_in_order(
  op_id TEXT PRIMARY KEY NOT NULL,
  method TEXT NOT NULL,
  request_digest TEXT NOT NULL,
  outcome TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;
INSERT INTO operations_in_order(op_id, method, request_digest, outcome, created_at)
SELECT op_id, method, request_digest, outcome, created_at FROM operations ORDER BY created_at, op_id;
DROP TABLE operations;
ALTER TABLE operations_in_order RENAME TO operations;
