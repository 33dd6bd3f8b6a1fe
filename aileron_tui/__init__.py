"""A terminal console where a person approves or denies what AI agents are about to do, and the gate behind it."""

__version__ = "0.1.0"
