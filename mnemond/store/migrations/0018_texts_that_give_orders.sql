-- A text of a conversation that orders a program to store something waits for a person (docs/decisions/0054): it is no
-- memory, so the row has its text, until the decision cannot be taken back any more.
CREATE TABLE reviews_with_text(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL CHECK(kind IN ('conflict', 'link', 'merge', 'names', 'order', 'summary')),
  payload TEXT NOT NULL,
  content TEXT CHECK(content IS NULL OR kind = 'order'),
  created_at TEXT NOT NULL,
  resolved_at TEXT,
  resolution TEXT
) STRICT;
-- A number is not given again, also of a review that is gone.
INSERT INTO sqlite_sequence(name, seq) SELECT 'reviews_with_text', seq FROM sqlite_sequence
  WHERE name = 'pending_reviews';
INSERT INTO reviews_with_text(id, kind, payload, created_at, resolved_at, resolution)
  SELECT id, kind, payload, created_at, resolved_at, resolution FROM pending_reviews ORDER BY id;
DROP TABLE pending_reviews;
ALTER TABLE reviews_with_text RENAME TO pending_reviews;
