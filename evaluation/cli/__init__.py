"""The `gauntlet` command: one file for each subcommand."""
