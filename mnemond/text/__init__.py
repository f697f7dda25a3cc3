"""Text rules shared by everything above: pure functions of a string, bounded caches, and the data files that they read."""
