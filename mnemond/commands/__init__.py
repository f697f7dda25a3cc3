"""The command line: its grammar, one file per command, and what people see on a terminal. No I/O."""
