"""Signing keys, the keys that may approve, and signed decisions."""
