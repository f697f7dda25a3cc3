"""Tests of the ranking rules."""
