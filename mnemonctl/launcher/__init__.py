"""Programs that hosts run: each module here is copied into a file of its own (`mnemonctl.setup.files`)."""
