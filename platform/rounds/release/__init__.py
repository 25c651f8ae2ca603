"""The release of the parts of a published round: their files, their signature, and their embargo."""
