"""Sockets and requests: bytes arrive, messages are dispatched, replies leave. Knows no memory concept."""
