"""The formats that the commands play: a package each behind one interface."""
