"""Backups of a running site, and a site restored from one."""
