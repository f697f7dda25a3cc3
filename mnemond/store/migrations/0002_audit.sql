ALTER TABLE memory_operations ADD COLUMN undoes TEXT;
CREATE INDEX memory_operations_by_undone ON memory_operations(undoes) WHERE undoes IS NOT NULL;
CREATE INDEX insights_by_successor ON insights(superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX insights_by_partner ON insights(paired_with) WHERE paired_with IS NOT NULL;
CREATE INDEX insights_by_retirement ON insights(deleted_at, id) WHERE deleted_at IS NOT NULL;
