"""Sync with other devices: records of what is known here, and their union with those of others."""
