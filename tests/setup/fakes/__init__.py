"""Stand-ins for the programs of hosts: each is copied into a test's home as a program of its own."""
