DROP INDEX edges_by_target;
CREATE INDEX edges_by_target ON edges(target_id) WHERE edge_type = 'causal';
