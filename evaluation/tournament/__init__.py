"""Who plays whom and how the results become tables: pure."""
