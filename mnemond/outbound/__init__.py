"""The way out: the only package that speaks to anything beyond this machine's own files and sockets."""
