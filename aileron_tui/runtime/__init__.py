"""The client of a gate: where it is, what it can be asked, and what it tells."""
