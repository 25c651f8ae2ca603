"""The formats that the commands play: one module each behind one interface."""
