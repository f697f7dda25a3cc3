"""mnemonctl: the thin client of mnemond."""
