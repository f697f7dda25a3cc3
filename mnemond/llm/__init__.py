"""Language models behind a server, which answer a prompt with JSON. Nothing is sent unless one is configured."""
