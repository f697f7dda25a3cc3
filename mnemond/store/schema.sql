-- The schema of every store.
CREATE TABLE "insights"(
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
  quarantined INTEGER NOT NULL DEFAULT 0 CHECK(quarantined IN (0, 1)), project TEXT, useful INTEGER NOT NULL DEFAULT 0 CHECK(useful >= 0), misled INTEGER NOT NULL DEFAULT 0 CHECK(misled >= 0),
  CHECK((status = 'active') = (deleted_at IS NULL))
) STRICT;
CREATE INDEX insights_by_successor ON insights(superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX insights_by_partner ON insights(paired_with) WHERE paired_with IS NOT NULL;
CREATE INDEX insights_by_retirement ON insights(deleted_at, id, status) WHERE deleted_at IS NOT NULL;

-- Edges by the numbers of memories (docs/decisions/0013). Read the view `edges`, which says the same by their ids.
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
CREATE INDEX edge_rows_by_target ON edge_rows(target) WHERE kind = 2;

CREATE VIEW edges(
  source_id, target_id, edge_type, weight, metadata, created_at, boost_days, last_boosted_at, created_by
) AS
SELECT s.id, t.id, CASE r.kind WHEN 0 THEN 'temporal' WHEN 1 THEN 'semantic' WHEN 2 THEN 'causal' ELSE 'entity' END,
  r.weight, r.metadata, r.created_at, r.boost_days, r.last_boosted_at, r.created_by
FROM edge_rows AS r JOIN insights AS s ON s.number = r.source JOIN insights AS t ON t.number = r.target;

CREATE TABLE oplog(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  operation TEXT NOT NULL,
  insight_id TEXT,
  detail TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL,
  op_id TEXT
) STRICT;
CREATE TABLE recalls(
  id INTEGER PRIMARY KEY,
  insight_id TEXT,
  detail TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL
) STRICT;
CREATE TABLE showings(
  id INTEGER PRIMARY KEY,
  session TEXT NOT NULL,
  host TEXT NOT NULL,
  agent TEXT NOT NULL DEFAULT '',
  moment TEXT NOT NULL,
  tokens INTEGER NOT NULL,
  insight_id TEXT NOT NULL,
  reason TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL
) STRICT;

-- What operations did, for undo and history: a row for each memory, with its states; and one with the method and no
-- memory ('') for changes of other rows, which name the operations that made and ended them.
CREATE TABLE memory_operations(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  operation_type TEXT NOT NULL,
  memory_id TEXT NOT NULL,
  before_state TEXT,
  after_state TEXT,
  triggered_by TEXT NOT NULL DEFAULT 'user',
  op_id TEXT NOT NULL,
  created_at TEXT NOT NULL,
  undoes TEXT
) STRICT;
CREATE INDEX memory_operations_by_memory ON memory_operations(memory_id);
CREATE INDEX memory_operations_by_op ON memory_operations(op_id);
CREATE INDEX memory_operations_by_undone ON memory_operations(undoes) WHERE undoes IS NOT NULL;

CREATE TABLE "operations"(
  op_id TEXT PRIMARY KEY NOT NULL,
  method TEXT NOT NULL,
  request_digest TEXT NOT NULL,
  outcome TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;

CREATE TABLE "entities"(
  id TEXT PRIMARY KEY NOT NULL,
  name TEXT NOT NULL,
  canonical_name TEXT NOT NULL,
  entity_type TEXT NOT NULL,
  attributes TEXT,
  embedding BLOB,
  created_at TEXT NOT NULL,
  core_summary TEXT,
  core_summary_updated TEXT,
  sense TEXT NOT NULL DEFAULT '',
  UNIQUE(canonical_name, sense)
) STRICT;

CREATE TABLE entity_aliases(
  alias TEXT PRIMARY KEY NOT NULL,
  entity_id TEXT NOT NULL REFERENCES entities(id)
) STRICT, WITHOUT ROWID;

CREATE TABLE memory_entities(
  memory_id TEXT NOT NULL REFERENCES insights(id),
  entity_id TEXT NOT NULL REFERENCES entities(id),
  mention_text TEXT,
  PRIMARY KEY(memory_id, entity_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_entities_by_entity ON memory_entities(entity_id);

CREATE TABLE relationship_evidence(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  source_id TEXT NOT NULL REFERENCES entities(id),
  type TEXT NOT NULL,
  slot TEXT NOT NULL DEFAULT '',
  target_id TEXT REFERENCES entities(id),
  value TEXT,
  kind TEXT NOT NULL CHECK(kind = 'start' OR kind = 'seen' OR kind = 'until' OR kind = 'end'),
  at TEXT NOT NULL,
  granularity TEXT NOT NULL DEFAULT 'exact',
  strength REAL NOT NULL CHECK(strength >= 0 AND strength <= 1),
  memory_id TEXT REFERENCES insights(id),
  quote TEXT NOT NULL DEFAULT '',
  origin TEXT NOT NULL CHECK(origin = 'model' OR origin = 'host' OR origin = 'user'),
  op_id TEXT NOT NULL,
  created_at TEXT NOT NULL,
  expired_op TEXT,
  expired_at TEXT,
  CHECK((target_id IS NULL) <> (value IS NULL)),
  CHECK((expired_op IS NULL) = (expired_at IS NULL))
) STRICT;
CREATE TABLE "relationships"(
  id TEXT PRIMARY KEY NOT NULL,
  first_id TEXT NOT NULL,
  source_id TEXT NOT NULL REFERENCES entities(id),
  type TEXT NOT NULL,
  slot TEXT NOT NULL DEFAULT '',
  target_id TEXT REFERENCES entities(id),
  value TEXT,
  strength REAL NOT NULL CHECK(strength >= 0 AND strength <= 1),
  valid_from TEXT,
  granularity TEXT NOT NULL DEFAULT 'exact',
  invalid_at TEXT,
  end_granularity TEXT NOT NULL DEFAULT 'exact',
  invalidated_by TEXT,
  created_at TEXT NOT NULL,
  expired_at TEXT,
  CHECK((target_id IS NULL) <> (value IS NULL)),
  CHECK(valid_from IS NULL OR invalid_at IS NULL OR valid_from < invalid_at)
) STRICT;
CREATE UNIQUE INDEX relationships_active ON relationships(
  source_id, type, slot, coalesce(target_id, ''), coalesce(value, ''), coalesce(valid_from, '')
) WHERE expired_at IS NULL;
CREATE INDEX relationships_by_source ON relationships(source_id);
CREATE INDEX relationships_by_target ON relationships(target_id) WHERE target_id IS NOT NULL;
CREATE INDEX evidence_by_source ON relationship_evidence(source_id, type, slot);
CREATE INDEX evidence_by_target ON relationship_evidence(target_id) WHERE target_id IS NOT NULL;
CREATE INDEX evidence_by_memory ON relationship_evidence(memory_id) WHERE memory_id IS NOT NULL;
CREATE INDEX evidence_by_op ON relationship_evidence(op_id);

-- What was decided about names: `same` (the row `other` is a name of `entity_id`; the row stays), `not_same` (never to be
-- proposed again), `alias` (`other` is a canonical name, `name` its spelling).
CREATE TABLE entity_links(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL CHECK(kind = 'same' OR kind = 'not_same' OR kind = 'alias'),
  entity_id TEXT NOT NULL REFERENCES entities(id),
  other TEXT NOT NULL,
  name TEXT NOT NULL DEFAULT '',
  op_id TEXT NOT NULL,
  created_at TEXT NOT NULL,
  expired_op TEXT,
  expired_at TEXT,
  CHECK((expired_op IS NULL) = (expired_at IS NULL))
) STRICT;
CREATE UNIQUE INDEX entity_links_active ON entity_links(kind, entity_id, other) WHERE expired_at IS NULL;

CREATE TABLE hypothetical_queries(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  insight_id TEXT NOT NULL REFERENCES insights(id),
  ord INTEGER NOT NULL,
  query TEXT NOT NULL,
  embedding BLOB,
  UNIQUE(insight_id, ord)
) STRICT;

CREATE TABLE core_summaries(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  entity_id TEXT NOT NULL REFERENCES entities(id),
  version INTEGER NOT NULL,
  text TEXT NOT NULL,
  node_ids TEXT NOT NULL DEFAULT '[]',
  scores TEXT,
  generator TEXT NOT NULL,
  created_at TEXT NOT NULL, lines TEXT NOT NULL DEFAULT '[]', reason TEXT NOT NULL DEFAULT '', upto INTEGER NOT NULL DEFAULT 0, op_id TEXT NOT NULL DEFAULT '', expired_op TEXT, expired_at TEXT,
  UNIQUE(entity_id, version)
) STRICT;
CREATE INDEX core_summaries_by_op ON core_summaries(op_id);

CREATE TABLE node_metrics(
  insight_id TEXT PRIMARY KEY NOT NULL REFERENCES insights(id),
  pagerank REAL,
  degree INTEGER,
  community INTEGER,
  computed_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE "pending_reviews"(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL CHECK(kind IN ('conflict', 'link', 'merge', 'names', 'order', 'summary')),
  payload TEXT NOT NULL,
  content TEXT CHECK(content IS NULL OR kind = 'order'),
  created_at TEXT NOT NULL,
  resolved_at TEXT,
  resolution TEXT
) STRICT;

CREATE TABLE jobs(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,
  payload TEXT NOT NULL DEFAULT '{}',
  run_after TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  claimed_at TEXT,
  done_at TEXT,
  error TEXT
) STRICT;

CREATE TABLE metrics(
  name TEXT NOT NULL,
  bucket TEXT NOT NULL,
  value REAL NOT NULL,
  PRIMARY KEY(name, bucket)
) STRICT, WITHOUT ROWID;

CREATE TABLE meta(
  key TEXT PRIMARY KEY NOT NULL,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE staged_vectors(
  insight_id TEXT PRIMARY KEY NOT NULL REFERENCES insights(id) ON DELETE CASCADE,
  content_hash TEXT NOT NULL,
  embedding BLOB
) STRICT, WITHOUT ROWID;

-- What waits to be read for what is worth remembering. A row holds nothing that is a memory already.
CREATE TABLE exchanges(
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  dedupe_key TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK(kind = 'exchange' OR kind = 'summary'),
  state TEXT NOT NULL DEFAULT 'pending' CHECK(state = 'pending' OR state = 'done' OR state = 'failed'),
  tries INTEGER NOT NULL DEFAULT 0 CHECK(tries >= 0),
  not_before TEXT,
  written INTEGER NOT NULL DEFAULT 0 CHECK(written >= 0),
  queued_at TEXT NOT NULL,
  said_at TEXT NOT NULL,
  host TEXT NOT NULL,
  conversation_id TEXT,
  project TEXT,
  error TEXT,
  facts TEXT,
  prompt TEXT NOT NULL,
  reply TEXT NOT NULL,
  purged TEXT NOT NULL DEFAULT '', user_id TEXT, session_id TEXT, agent_id TEXT, resolves INTEGER NOT NULL DEFAULT 1 CHECK(resolves IN (0, 1)),
  CHECK(facts IS NULL OR (prompt = '' AND reply = '')),
  CHECK(state <> 'done' OR (prompt = '' AND reply = '' AND facts IS NULL AND purged = ''))
) STRICT;
CREATE INDEX exchanges_pending ON exchanges(number) WHERE state = 'pending';

-- Questions, tasks and symptoms in which a memory should come to mind; part of what recall finds it by, not of its text.
CREATE TABLE cues(
  memory INTEGER NOT NULL REFERENCES insights(number),
  ord INTEGER NOT NULL,
  text TEXT NOT NULL,
  source TEXT NOT NULL DEFAULT 'given' CHECK(source = 'given' OR source = 'learned' OR source = 'generated'),
  PRIMARY KEY(memory, ord)
) STRICT, WITHOUT ROWID;

-- Calls of tools to which a rule belongs, and how often that was so.
CREATE TABLE triggers(
  memory INTEGER NOT NULL REFERENCES insights(number),
  ord INTEGER NOT NULL,
  pattern TEXT NOT NULL,
  enforce TEXT NOT NULL DEFAULT 'tell' CHECK(enforce = 'tell' OR enforce = 'ask' OR enforce = 'deny'),
  state TEXT NOT NULL DEFAULT 'on' CHECK(state = 'on' OR state = 'off' OR state = 'proposed'),
  PRIMARY KEY(memory, ord)
) STRICT, WITHOUT ROWID;
CREATE TABLE trigger_counts(
  memory INTEGER NOT NULL REFERENCES insights(number),
  pattern TEXT NOT NULL,
  matched INTEGER NOT NULL DEFAULT 0,
  shown INTEGER NOT NULL DEFAULT 0,
  followed INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY(memory, pattern)
) STRICT, WITHOUT ROWID;

-- Imports: what undoes, accepts and repeats them. An import of another program's memories notes where each came from, by
-- a hash of its name there, so that a second one changes nothing; `memory_id` is null for what says too little.
CREATE TABLE imports(
  op_id TEXT PRIMARY KEY NOT NULL,
  kind TEXT NOT NULL,
  digest TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'open' CHECK(state = 'open' OR state = 'done'),
  created_at TEXT NOT NULL,
  accepted_at TEXT
) STRICT;
CREATE TABLE imported(
  source TEXT NOT NULL,
  op_id TEXT NOT NULL REFERENCES imports(op_id),
  memory_id TEXT,
  PRIMARY KEY(source)
) STRICT, WITHOUT ROWID;
CREATE INDEX imported_by_op ON imported(op_id);

-- Sync with other devices (docs/sync.md): what is known of each thing that devices share, and the files that were read and
-- written. `value` holds stamps and hashes of memories, and of others what devices said, with names, which a purge removes.
-- `here`: the store has it; `counted`: the part of uses that the counts of the memory have. `seq` counts what has to be
-- published.
CREATE TABLE "sync_rows"(
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  stamp TEXT NOT NULL,
  state TEXT NOT NULL,
  value TEXT,
  restamped TEXT NOT NULL,
  here INTEGER NOT NULL CHECK(here IN (0, 1)),
  counted TEXT,
  seq INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY(kind, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX sync_rows_by_seq ON sync_rows(seq);
CREATE TABLE sync_files(
  target TEXT NOT NULL,
  device TEXT NOT NULL,
  name TEXT NOT NULL,
  digest TEXT NOT NULL,
  PRIMARY KEY(target, device, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE sync_targets(
  target TEXT PRIMARY KEY NOT NULL,
  label TEXT NOT NULL,
  published INTEGER NOT NULL DEFAULT 0,
  purges INTEGER NOT NULL DEFAULT 0,
  files INTEGER NOT NULL DEFAULT 0,
  whole INTEGER NOT NULL DEFAULT 0 CHECK(whole IN (0, 1)),
  synced_at TEXT
) STRICT;

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
