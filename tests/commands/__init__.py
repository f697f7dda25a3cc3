"""The command line as the daemon sees it."""
