"""Fixtures of the gate's tests that these cases use too."""

from tests.gate.conftest import compiled, env, service

__all__ = ["compiled", "env", "service"]
