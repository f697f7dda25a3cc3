"""The Model Context Protocol as it is spoken here: 2026-07-28, and the four revisions with a handshake before it."""
