"""Text rules shared by everything above: pure functions of a string with bounded caches, and the data files they read."""
