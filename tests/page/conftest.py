"""The fixtures of a gate, for the tests of its page."""

from tests.gate.conftest import compiled, env, service

__all__ = ["compiled", "env", "service"]
