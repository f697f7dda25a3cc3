"""Embedders: models that turn texts into vectors, built in or behind a server."""
