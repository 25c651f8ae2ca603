"""The formats of competitions: one package each, which the rest of the site knows only by what it registers."""
