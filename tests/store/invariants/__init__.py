"""Every invariant fires for its own violation, and for no other."""
