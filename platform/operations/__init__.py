"""What operators run: the check of an installation, backups, and restores."""
