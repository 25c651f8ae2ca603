"""Foundations of the site: errors, clock, event log, object store, notifications and shared admin code."""
