-- A summary of a conversation is for those for whom its messages were said: two users may give theirs the same id.
-- Those from before are for readers without a name, as the hooks are.
CREATE TABLE summaries_by_reader(
  conversation_id TEXT NOT NULL,
  user_id TEXT NOT NULL DEFAULT '',
  session_id TEXT NOT NULL DEFAULT '',
  agent_id TEXT NOT NULL DEFAULT '',
  summary TEXT NOT NULL,
  upto_message_id INTEGER NOT NULL,
  updated_at TEXT NOT NULL,
  project TEXT,
  generator TEXT NOT NULL DEFAULT 'rules',
  reason TEXT,
  PRIMARY KEY(conversation_id, user_id, session_id, agent_id)
) STRICT, WITHOUT ROWID;
INSERT INTO summaries_by_reader(conversation_id, summary, upto_message_id, updated_at, project, generator, reason)
  SELECT conversation_id, summary, upto_message_id, updated_at, project, generator, reason FROM rolling_summaries;
DROP TABLE rolling_summaries;
ALTER TABLE summaries_by_reader RENAME TO rolling_summaries;
