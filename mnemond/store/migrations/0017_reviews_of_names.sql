-- Reviews may ask whether two names are of one thing: `kind` 'names', whose payload names rows of `entities`.
CREATE TABLE reviews_of_names(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL CHECK(kind IN ('conflict', 'link', 'merge', 'names', 'summary')),
  payload TEXT NOT NULL,
  created_at TEXT NOT NULL,
  resolved_at TEXT,
  resolution TEXT
) STRICT;
INSERT INTO reviews_of_names SELECT id, kind, payload, created_at, resolved_at, resolution FROM pending_reviews ORDER BY id;
DELETE FROM sqlite_sequence WHERE name = 'reviews_of_names';
INSERT INTO sqlite_sequence(name, seq) SELECT 'reviews_of_names', seq FROM sqlite_sequence WHERE name = 'pending_reviews';
DROP TABLE pending_reviews;
ALTER TABLE reviews_of_names RENAME TO pending_reviews;
