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
