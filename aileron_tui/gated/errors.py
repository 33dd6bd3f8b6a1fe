"""What a gated function raises instead of running, and what it raises if nobody knows whether it ran.

GatedError
├── Denied            the operator or a rule denied the call; nothing was run
├── NobodyAnswered    the time was over before anybody answered; nothing was run
├── Withdrawn         the call was withdrawn before anybody answered; nothing was run
├── NotAsked          the gate could not be asked, or refused to ask; nothing was run
├── ArgumentRefused   an argument that cannot be shown and signed exactly; nothing was asked or run
├── AnswerRefused     an approval that is not valid, or an edit that does not fit the function; nothing was run
└── OutcomeUnknown    the call may have been run
"""

from typing import Any, Self

from aileron_tui.core.errors import AileronError


class GatedError(AileronError):
    """The base class of all errors in this package. Its text is written for the program's agent as well."""

    def __init__(self, title: str, detail: str = "", hint: str = "") -> None:
        super().__init__(title, detail, hint)
        self.args = (str(self),)  # some frameworks show an agent the `repr` of an exception

    def __str__(self) -> str:
        said = super().__str__()
        if not self.hint:
            return said
        return f"{said}{'' if said.endswith(('.', '!', '?')) else '.'} {self.hint}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), self.title, self.detail, self.hint, self.__dict__)


class Denied(GatedError):
    """The operator or a rule denied the call, so nothing was run. `reason` is why, "" if no reason was given."""

    reason: str = ""

    @classmethod
    def because(cls, tool: str, reason: str) -> Self:
        """The denial of a call."""
        from aileron_tui.core.visible_text import inline  # noqa: PLC0415  # only if somebody denies something

        made = cls(f"the operator denied {tool}, so it was not run", inline(reason) if reason else "")
        made.reason = reason
        return made


class NobodyAnswered(GatedError):
    """Nobody answered in time, so nothing was run. This is not a denial."""


class Withdrawn(GatedError):
    """The call was withdrawn before it was answered, so nothing was run."""


class NotAsked(GatedError):
    """The gate could not be asked or refused to ask, so nothing was run."""


class ArgumentRefused(GatedError, TypeError):
    """An argument that cannot be shown and signed exactly, so nothing was asked. `parameter` is its name."""

    parameter: str = ""


class AnswerRefused(GatedError):
    """The approval is not valid for this call, so nothing was run."""


class OutcomeUnknown(GatedError):
    """Nobody knows whether the call was run. Look at what it changes before you call it again."""


def _rebuilt(kind: type[GatedError], title: str, detail: str, hint: str, fields: dict[str, Any]) -> GatedError:
    """An error that was pickled, for example by a process pool."""
    error = kind(title, detail, hint)
    error.__dict__.update(fields)
    return error
