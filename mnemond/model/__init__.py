"""Frozen values used by all layers above: insights, edges, changes and outcomes. No I/O, no clock."""
