"""Frozen values that everything above speaks of: insights, edges, changes and outcomes. No I/O, no clock."""
