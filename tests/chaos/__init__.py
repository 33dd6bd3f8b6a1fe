"""Shakes a real gate from outside with faults and checks what must always hold: `python -m tests.chaos`."""
