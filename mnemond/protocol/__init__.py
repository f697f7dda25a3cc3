"""The wire: message types, the one registry of methods, versions. No I/O and no knowledge of how anything is done."""
