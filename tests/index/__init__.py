"""Tests of the in-memory index."""
