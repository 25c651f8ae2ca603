"""A round while it runs: its states, and the organiser's dashboard."""
