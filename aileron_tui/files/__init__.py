"""Paths, and reading and writing the configuration, manifests and private files. No other layer does this."""
