"""Wire ↔ model, grouped by noun: the only place that knows both."""
