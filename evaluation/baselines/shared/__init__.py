"""Files that several bundled submissions contain; `evaluation.formats.query.catalogue` says which ones."""
