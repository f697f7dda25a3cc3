"""Stores on disk: one SQLite file, one connection and one writer thread each. The only layer that touches SQLite."""
