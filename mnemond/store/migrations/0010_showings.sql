-- What the sessions of agents were shown, as `mnemonctl session show` lists it: a ring, written in batches after the
-- answers. A row has no word of a prompt and none of a memory (docs/decisions/0045).
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
-- How often a memory was judged useful, and how often misleading.
ALTER TABLE insights ADD COLUMN useful INTEGER NOT NULL DEFAULT 0 CHECK(useful >= 0);
ALTER TABLE insights ADD COLUMN misled INTEGER NOT NULL DEFAULT 0 CHECK(misled >= 0);
