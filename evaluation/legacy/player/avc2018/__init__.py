"""How a program of 2018 plays in this arena: its supervisor, and the connection of the program to it."""
