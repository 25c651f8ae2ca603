"""Shared admin code: permissions, columns with links and counts, confirmed actions."""
