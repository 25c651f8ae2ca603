"""Page of a round, its gallery and its released files."""
