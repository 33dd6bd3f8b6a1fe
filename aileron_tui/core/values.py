"""`dataclass`, with what all such classes have in common written once instead of compiled for each.

The standard library compiles six functions for a frozen class, and there are many: that was half of what the console
added to the start of its parts. Here only `__init__` is compiled. The type checker alone holds a class to be frozen.
"""

from typing import TYPE_CHECKING

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    import dataclasses
    from operator import attrgetter

    def dataclass(*, frozen=False, slots=False, eq=True):
        """The standard library's decorator, for the options that are used here."""

        def decorate(cls):
            made = dataclasses.dataclass(slots=slots, eq=False, repr=False)(cls)
            methods = _repr, *(_comparison(made, frozen) if eq else ())
            for name, method in zip(("__repr__", "__eq__", "__hash__"), methods, strict=False):
                if name not in made.__dict__:
                    setattr(made, name, method)
            return made

        return decorate

    def _repr(self):
        shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def _comparison(cls, frozen):
        """How two of a class are equal and, if they cannot change, how one is hashed."""
        names = [field.name for field in dataclasses.fields(cls) if field.compare]
        values = attrgetter(*names) if names else type

        def equal(self, other):
            return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

        def hashed(self):
            return hash(values(self))

        return equal, hashed if frozen else None
