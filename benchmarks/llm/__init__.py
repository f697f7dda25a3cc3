"""A real language model on this machine, for measurements by hand."""
