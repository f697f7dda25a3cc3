"""What a host runs: each module here is copied into a file of its own (`mnemonctl.setup.files`)."""
