-- Triggers of rules: the calls of tools to which a memory belongs (docs/decisions/0044), and what became of them. By the
-- number of the memory. Counts are kept by the text of the trigger, so that they outlive another order of them.
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
