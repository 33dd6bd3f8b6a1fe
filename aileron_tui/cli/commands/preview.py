"""Fetch the preview of a call and print the prompt as the operator would see it; nothing is asked and nothing runs."""

import argparse
import json
import logging
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aileron_tui.cli import action_inputs
from aileron_tui.cli.exit_codes import FAILED, NOT_FOUND, OK, USAGE
from aileron_tui.cli.output import columns
from aileron_tui.core.action import Action
from aileron_tui.core.bundle import Bundle
from aileron_tui.core.errors import AileronError
from aileron_tui.core.findings import Severity
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.prompt import Asker, ConnectorRef, Prompt, lines
from aileron_tui.core.prompt_rows import input_rows
from aileron_tui.core.risk import assess
from aileron_tui.core.toml_schema import nearest
from aileron_tui.core.values import dataclass
from aileron_tui.core.visible_text import inline
from aileron_tui.files.config import Config
from aileron_tui.files.config_file import load_config
from aileron_tui.files.manifest_files import load_bundle
from aileron_tui.files.paths import bundled, paths
from aileron_tui.files.private_files import private_folder
from aileron_tui.gate.call_inputs import input_errors
from aileron_tui.gate.installed_bundle import sandbox_settings
from aileron_tui.sandbox.connector_package import load_keyring, read_packages
from aileron_tui.sandbox.preview import PreviewOutcome
from aileron_tui.sandbox.sandbox import Sandbox


@dataclass(frozen=True, slots=True)
class _Bench:
    """What a preview is fetched with."""

    manifests: Path
    config: Config


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("action", metavar="ACTION", help="whose prompt to show")
    action_inputs.arguments(parser)
    parser.add_argument("--manifests", metavar="DIR", type=Path, help="where the action is; the bundled suite if none")
    parser.add_argument("--demo", action="store_true", help="run the sample service for it, with its credentials")
    parser.add_argument("--json", action="store_true", help="prompt, digest, answer and details as one JSON document")


def run(options: argparse.Namespace) -> int:
    """0 if the prompt is whole, 1 if the preview is unavailable, 2 usage, 5 if there is no such action."""
    logging.getLogger("aileron_tui").addHandler(logging.NullHandler())  # what went wrong is told below
    manifests: Path = options.manifests or bundled("manifests")
    if not manifests.is_dir():
        raise AileronError(f"there is no folder {manifests}", hint="Name one with --manifests.")
    bundle = load_bundle(manifests)
    action = bundle.actions.get(options.action)
    if action is None:
        return _absent(options.action, bundle, manifests)
    try:
        args = action_inputs.given(action.name, {field.name: field.type for field in action.inputs}, options)
        if wrong := input_errors(action.inputs, args):
            raise action_inputs.Misused("; ".join(sentence for _, sentence in wrong))
    except action_inputs.Misused as error:
        sys.stderr.write(f"error: {inline(str(error))}\n")
        return USAGE
    with _sample_bench(manifests) if options.demo else _own_bench(manifests) as bench:
        # Another port is another manifest, so the action is read again from where the connectors are.
        action = load_bundle(bench.manifests).actions.get(action.name)
        if action is None:
            detail, hint = "it cannot be put on the sample service", "Lay the folder out as the bundled suite is."
            raise AileronError(f"{options.action} is lost on the way", detail, hint)
        prompt, outcome = _prompted(bench, action, args)
    if options.json:
        _print_json(action, prompt, outcome)
    else:
        _print(action, prompt, outcome)
    return FAILED if prompt.preview and prompt.preview.unavailable else OK


def _prompted(bench: _Bench, action: Action, args: JsonObject) -> tuple[Prompt, PreviewOutcome | None]:
    settings = sandbox_settings(bench.config, private_folder(paths().cache), load_keyring(paths().keyring))
    with Sandbox(read_packages(bench.manifests), settings) as sandbox:
        outcome = sandbox.preview(action, args) if action.gated else None
        connector = _connector(sandbox, action)
    prompt = Prompt(
        kind="action",
        action=action.name,
        connector=connector,
        args=args,
        inputs=input_rows(action.inputs, args),
        preview=outcome.result if outcome else None,
        asker=Asker(),
        risk=assess(action, bench.config.risk),
    )
    return prompt, outcome


def _connector(sandbox: Sandbox, action: Action) -> ConnectorRef:
    name = action.execute[0].connector
    needed = action.requirement(name)
    if needed is None:
        return ConnectorRef(name, trust="not installed")
    return ConnectorRef(name, needed.version, needed.hash, sandbox.trust(needed))


@contextmanager
def _own_bench(manifests: Path) -> Iterator[_Bench]:
    yield _Bench(manifests, load_config(paths().config))


@contextmanager
def _sample_bench(manifests: Path) -> Iterator[_Bench]:
    """The manifests on a sample service of their own, which ends with the command."""
    from aileron_tui.demo.sample_bundle import materialise  # noqa: PLC0415  # only for --demo
    from aileron_tui.demo.sample_credentials import sample_config  # noqa: PLC0415
    from aileron_tui.demo.sample_service import SampleService  # noqa: PLC0415

    with (
        SampleService() as service,
        tempfile.TemporaryDirectory(prefix="aileron-tui-") as folder,
        sample_config() as config,
    ):
        yield _Bench(materialise(Path(folder) / "manifests", service.port, manifests), config)


def _print(action: Action, prompt: Prompt, outcome: PreviewOutcome | None) -> None:
    if not action.gated:
        sys.stdout.write(f"{inline(action.name)} needs no approval, so nobody is asked.\n")
        return
    sys.stdout.write("".join(f"{line}\n" for line in lines(prompt, columns(sys.stdout))))
    if outcome and outcome.failure and outcome.failure.message != outcome.failure.reason:
        sys.stderr.write(f"  {inline(outcome.failure.message)}\n")


def _print_json(action: Action, prompt: Prompt, outcome: PreviewOutcome | None) -> None:
    document: JsonObject = {
        "action": action.name,
        "gated": action.gated,
        "digest": prompt.digest,
        "prompt": prompt.fields(),
        "lines": [str(line) for line in lines(prompt)],
        "output": outcome.output if outcome else None,
        "details": outcome.details if outcome else None,
    }
    sys.stdout.write(json.dumps(document, indent=2) + "\n")


def _absent(name: str, bundle: Bundle, manifests: Path) -> int:
    sys.stderr.write(f'error: there is no action "{inline(name)}" in {inline(str(manifests))}\n')
    close = nearest(name, list(bundle.actions))
    if close:
        sys.stderr.write(f'  Did you mean "{inline(close)}"?\n')
    if any(finding.severity is Severity.ERROR for finding in bundle.findings):
        sys.stderr.write(f"  Some manifests cannot be used; aileron-tui lint {inline(str(manifests))} says why.\n")
    return NOT_FOUND
