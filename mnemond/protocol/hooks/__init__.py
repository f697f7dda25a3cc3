"""What coding agents say by themselves: the payloads their hooks write, and the answers they take."""
