"""The ground of the site: errors, the clock, the event log, the object store, the doorbell."""
