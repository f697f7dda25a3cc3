"""Being a good service: what a service manager is told, the log's file, and a configuration read anew."""
