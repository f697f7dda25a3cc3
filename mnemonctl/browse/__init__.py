"""`mnemonctl browse`: the memories of a store in the terminal."""
