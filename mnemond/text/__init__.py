"""Text rules shared by everything above: pure functions of a string, no I/O, no state but bounded memos."""
