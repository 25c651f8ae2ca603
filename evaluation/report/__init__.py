"""One self-contained HTML page about a match or a tournament."""
