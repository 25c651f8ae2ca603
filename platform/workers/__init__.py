"""Workers and their hosts: who takes work, under which lease, and whose turn it is."""
