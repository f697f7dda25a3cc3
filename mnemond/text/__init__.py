"""Text rules shared by every layer above: pure functions of a string with bounded caches, and their data files."""
