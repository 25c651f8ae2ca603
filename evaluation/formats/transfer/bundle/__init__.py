"""Result bundle of a round of the transfer format: its lines, their writer, reader and verification."""
