"""mnemond as a service of systemd or launchd."""
