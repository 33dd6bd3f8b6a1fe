"""Clients for a gate and a daemon: discovery, HTTP calls, events and errors."""
