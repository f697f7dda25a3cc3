-- Statements about relations and decisions about names are exchanged as well (docs/sync.md). Their `state` has names, which
-- a purge removes from it.
CREATE TABLE sync_rows_new(
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  state TEXT NOT NULL,
  seq INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY(kind, key)
) STRICT, WITHOUT ROWID;
INSERT INTO sync_rows_new SELECT kind, key, state, seq FROM sync_rows;
DROP TABLE sync_rows;
ALTER TABLE sync_rows_new RENAME TO sync_rows;
CREATE INDEX sync_rows_by_seq ON sync_rows(seq);
