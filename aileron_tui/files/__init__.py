"""The only layer that knows paths, and that reads and writes configuration, manifests and private files."""
