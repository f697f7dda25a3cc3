"""The programs of others, unchanged, against the real daemon: `make hosts` installs them."""
