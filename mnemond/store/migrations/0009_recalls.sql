-- Recalls as the log shows them: a ring of its own, so that they push out no line about a write, written in batches
-- after the answers. A line has no word of the question and none of a memory.
CREATE TABLE recalls(
  id INTEGER PRIMARY KEY,
  insight_id TEXT,
  detail TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL
) STRICT;
