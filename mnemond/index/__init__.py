"""A store's memories in memory: postings, vectors, columns and links, read through immutable snapshots. No I/O."""
