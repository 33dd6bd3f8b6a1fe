"""Signing keys, who may approve, and signed decisions."""
