-- Lines of core summaries with the memories that they rest on, the operation that made a version, and when it was taken
-- back. Nothing wrote core summaries before.
ALTER TABLE core_summaries ADD COLUMN lines TEXT NOT NULL DEFAULT '[]';
ALTER TABLE core_summaries ADD COLUMN reason TEXT NOT NULL DEFAULT '';
ALTER TABLE core_summaries ADD COLUMN upto INTEGER NOT NULL DEFAULT 0;
ALTER TABLE core_summaries ADD COLUMN op_id TEXT NOT NULL DEFAULT '';
ALTER TABLE core_summaries ADD COLUMN expired_op TEXT;
ALTER TABLE core_summaries ADD COLUMN expired_at TEXT;
CREATE INDEX core_summaries_by_op ON core_summaries(op_id);
