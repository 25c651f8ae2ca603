"""The teams' git repositories, served over HTTP."""
