"""Requests, prompts, decisions and manifests as values and pure functions, without I/O and without a terminal."""
