"""Embedders: what one promises, the two that ship with the package, and how to get one by its name."""
