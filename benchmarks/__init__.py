"""Benchmarks. Each measures two things in turns and compares their ratio with a limit."""

from pkgutil import iter_modules


def names() -> list[str]:
    """The names of all benchmarks."""
    return [module.name for module in iter_modules(__path__) if not module.name.startswith("_")]
