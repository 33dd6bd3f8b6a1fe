"""A call as it would run: the one value that the preview, the prompt, its digest and the op are made from.

What a step sends is decided here and nowhere else:

- A key that the manifest defines for the step always wins over an input of the call with the same name.
- Inputs of the call that the step does not define are passed along with their types, as Aileron's runtime does.
- `name = "${args.name}"` keeps the type of the input. Any other template becomes text.
- What refers to an input that was not given is left out (`core/interpolation.py`).
- Every number has one spelling, that of canonical JSON.
"""

from collections.abc import Mapping

from aileron_tui.core.action import Action, Step
from aileron_tui.core.frozen_json import frozen_object
from aileron_tui.core.interpolation import interpolate, missing_args, own_template
from aileron_tui.core.jsontext import JsonObject, with_canonical_numbers
from aileron_tui.core.name_warnings import name_warnings
from aileron_tui.core.resolved_step import ConnectorRef, ResolvedStep
from aileron_tui.core.values import dataclass


@dataclass(frozen=True, slots=True)
class ResolvedCall:
    """A call of an action. `args` is what the agent sent, `steps` is what would run.

    `preview_inputs` is what the preview op receives. It is None if the action has no preview, or if the preview needs
    an input that was not given, which is then in `preview_lacks`. `warnings` are for the operator.
    """

    action: Action
    args: JsonObject
    steps: tuple[ResolvedStep, ...]
    preview_inputs: JsonObject | None = None
    preview_lacks: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def connector(self) -> ConnectorRef:
        """The connector of the first step, which is also the connector of the preview."""
        return self.steps[0].connector if self.steps else ConnectorRef("")

    @property
    def needs(self) -> tuple[str, ...]:
        """Why the call cannot run before somebody signs in to an account or chooses one, in words."""
        return tuple(dict.fromkeys(step.connector.needs for step in self.steps if step.connector.needs))


def resolve_call(
    action: Action, args: JsonObject, connectors: Mapping[str, ConnectorRef], warnings: tuple[str, ...] = ()
) -> ResolvedCall:
    """Resolves a call. `connectors` has the connectors that the action pins, by name. A null input is not given.

    `warnings` are joined by those about names of ops, which can have any letters.
    """
    given = frozen_object(with_canonical_numbers({key: item for key, item in args.items() if item is not None}))
    steps = tuple([_resolve_step(step, given, connectors) for step in action.execute])
    warnings = (*warnings, *name_warnings("op", [step.op for step in steps]))
    if (preview := action.approval.preview) is None:
        return ResolvedCall(action, given, steps, warnings=warnings)
    if missing := missing_args(preview.args, given):
        return ResolvedCall(action, given, steps, None, missing[0], warnings)
    inputs = with_canonical_numbers(interpolate(preview.args, given))
    return ResolvedCall(action, given, steps, frozen_object(inputs), warnings=warnings)


def _resolve_step(step: Step, args: JsonObject, connectors: Mapping[str, ConnectorRef]) -> ResolvedStep:
    inputs = with_canonical_numbers(interpolate(step.inputs, args))
    for name, item in args.items():
        if name not in step.inputs or step.inputs[name] == own_template(name):
            inputs[name] = item
    connector = connectors.get(step.connector) or ConnectorRef(step.connector, trust="not installed")
    return ResolvedStep(step.id, step.op, connector, inputs)
