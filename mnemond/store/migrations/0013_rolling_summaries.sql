-- What was said in a conversation waits in `messages` until it is part of its summary (docs/decisions/0049). A summary
-- belongs to the project of its last message; `reason` is why the rules made it although a model is configured.
ALTER TABLE messages ADD COLUMN project TEXT;
ALTER TABLE rolling_summaries ADD COLUMN project TEXT;
ALTER TABLE rolling_summaries ADD COLUMN generator TEXT NOT NULL DEFAULT 'rules';
ALTER TABLE rolling_summaries ADD COLUMN reason TEXT;
