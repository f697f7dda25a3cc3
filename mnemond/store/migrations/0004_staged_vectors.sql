CREATE TABLE staged_vectors(
  insight_id TEXT PRIMARY KEY NOT NULL REFERENCES insights(id) ON DELETE CASCADE,
  content_hash TEXT NOT NULL,
  embedding BLOB
) STRICT, WITHOUT ROWID;
