"""Manifests, good and bad, each with what must be found in it and where."""
