"""Each host in a file of its own."""
