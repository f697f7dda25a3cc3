-- Cues of memories: questions, tasks and symptoms in which a memory should come to mind (docs/decisions/0042). By the
-- number of the memory, so that those of memories written together lie together.
CREATE TABLE cues(
  memory INTEGER NOT NULL REFERENCES insights(number),
  ord INTEGER NOT NULL,
  text TEXT NOT NULL,
  source TEXT NOT NULL DEFAULT 'given' CHECK(source = 'given' OR source = 'learned' OR source = 'generated'),
  PRIMARY KEY(memory, ord)
) STRICT, WITHOUT ROWID;
