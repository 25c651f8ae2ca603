"""Result bundle of a round of the query format: its lines, their writer, reader and verification."""
