"""Archives of whole competitions: written on one site, and read into another one."""
