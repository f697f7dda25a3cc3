-- Sync with other devices (docs/sync.md): what is known of each memory and link, and the files that were read and written.
-- `state` holds stamps and hashes, no texts; of a link its value. `seq` counts what has to be published.
CREATE TABLE sync_rows(
  kind TEXT NOT NULL CHECK(kind = 'memory' OR kind = 'edge'),
  key TEXT NOT NULL,
  state TEXT NOT NULL,
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
