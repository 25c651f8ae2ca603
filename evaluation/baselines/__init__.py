"""The bundled submissions, each a complete repository in a folder of its own."""
