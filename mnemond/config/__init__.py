"""Settings: their declaration, and where they are read from."""
