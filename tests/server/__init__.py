"""The server, over real Unix sockets and toy methods."""
