"""Tests of the opencode client."""
