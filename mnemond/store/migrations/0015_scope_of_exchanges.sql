-- For whom the facts of an exchange will be, null for everybody; and whether they may replace what they contradict.
ALTER TABLE exchanges ADD COLUMN user_id TEXT;
ALTER TABLE exchanges ADD COLUMN session_id TEXT;
ALTER TABLE exchanges ADD COLUMN agent_id TEXT;
ALTER TABLE exchanges ADD COLUMN resolves INTEGER NOT NULL DEFAULT 1 CHECK(resolves IN (0, 1));
