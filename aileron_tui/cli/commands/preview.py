"""Print the prompt for a call with its preview, as the operator would see it. No request is made and nothing runs.

For a tool of an MCP server, give --mcp NAME, or --policy FILE and the command that starts the server.
"""

import argparse
import logging
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Final

from aileron_tui.cli import action_inputs, preview_recording
from aileron_tui.cli.exit_codes import FAILED, NOT_FOUND, OK, USAGE
from aileron_tui.cli.output import columns, print_json, write, write_error
from aileron_tui.cli.preview_advice import advice, rejections
from aileron_tui.core.action import Action
from aileron_tui.core.bundle import Bundle
from aileron_tui.core.errors import AileronError
from aileron_tui.core.findings import Severity
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.prompt import Asker, Prompt, lines
from aileron_tui.core.prompt_rows import input_rows
from aileron_tui.core.resolved_call import ResolvedCall
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
from aileron_tui.sandbox.connector_package import ConnectorPackage, load_keyring, read_packages
from aileron_tui.sandbox.credentials import Accounts
from aileron_tui.sandbox.http_exchange import Recording
from aileron_tui.sandbox.preview import PreviewOutcome
from aileron_tui.sandbox.sandbox import Sandbox

TAKES_COMMAND: Final = True
_INSTALLED: Final = "what is installed"
_COMPILING_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class _Setup:
    """The actions, the connectors and the configuration for fetching a preview."""

    bundle: Bundle
    packages: Mapping[str, ConnectorPackage]
    config: Config


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("action", metavar="ACTION", help="the action to call, or the tool of an MCP server")
    action_inputs.arguments(parser)
    parser.add_argument(
        "--manifests",
        metavar="DIR",
        type=Path,
        action="append",
        default=[],
        help="the manifests; can be given several times; default: what is installed, or the samples",
    )
    parser.add_argument("--demo", action="store_true", help="use the sample service and its credentials")
    parser.add_argument("--json", action="store_true", help="print the prompt, its digest and the preview as JSON")
    preview_recording.arguments(parser)
    server = parser.add_argument_group(
        "tools of MCP servers", "The command of a server that is not set up comes last, after `--`."
    )
    server.add_argument("--mcp", metavar="NAME", default="", help="a server that `setup mcp` has set up")
    server.add_argument("--policy", metavar="FILE", type=Path, help="use this policy; default: the one of the server")
    server.add_argument("--url", metavar="URL", default="", help="the address of a server that is not set up")
    parser.set_defaults(command=[])


def run(options: argparse.Namespace) -> int:
    """Returns 0 on success, 1 if the preview is unavailable, 2 for wrong usage, 5 if there is no such action."""
    logging.getLogger("aileron_tui").addHandler(logging.NullHandler())  # failures are printed below
    if options.mcp or options.policy or options.url or options.command:
        if options.record or options.replay:
            write_error("--record and --replay are for actions, not for tools of MCP servers")
            return USAGE
        from aileron_tui.cli import mcp_preview  # noqa: PLC0415  # only for tools

        return mcp_preview.run(options)
    own, where = _own_setup(options)
    action = own.bundle.actions.get(options.action)
    if action is None:
        return _unknown_action(options.action, own.bundle, where, options.manifests)
    try:
        args = action_inputs.read_inputs(action.name, {field.name: field.type for field in action.inputs}, options)
        if invalid := input_errors(action.inputs, args):
            raise action_inputs.InvalidInputs("; ".join(sentence for _, sentence in invalid))
    except action_inputs.InvalidInputs as error:
        write_error(str(error))
        return USAGE
    with _sample_setup(_sample_folder(options)) if options.demo else nullcontext(own) as setup:
        # The manifests are changed to use the port of the sample service, so the action is read again.
        action = setup.bundle.actions.get(action.name)
        if action is None:
            detail, hint = "its manifest is not copied", "Arrange the folder like the bundled manifests."
            raise AileronError(f"cannot use {options.action} with the sample service", detail, hint)
        recording = preview_recording.opened(options, action.name)
        accounts = None if options.demo or options.replay else _accounts(setup.config, action)
        prompt, outcome = _prompt(setup, action, args, recording, accounts)
    if options.json:
        _print_document(action, prompt, outcome)
    else:
        _print(action, prompt, outcome)
        for line in advice(action, outcome, options.manifests) if outcome else ():
            write(sys.stderr, f"  {inline(line)}")
    if recording:
        preview_recording.finish(recording, options, action.name, outcome)
    return FAILED if prompt.preview and prompt.preview.unavailable else OK


def _note_compiling(sandbox: Sandbox, call: ResolvedCall) -> None:
    """Says at a terminal why it takes so long the first time."""
    names = [found.name for found in sandbox.not_loaded(call) if sandbox.compiling_since(found) is not None]
    if names and sys.stderr.isatty():
        write(sys.stderr, f"compiling the connector {', '.join(map(inline, names))}; that is done once")


def _accounts(config: Config, action: Action) -> Accounts:
    """The accounts that the connectors of an action are bound to. What is encrypted is unlocked if somebody is here."""
    from aileron_tui.accounts.account_secrets import AccountSecrets, ConfiguredAccounts  # noqa: PLC0415  # not for tools
    from aileron_tui.accounts.secret_store import SecretStores  # noqa: PLC0415
    from aileron_tui.cli import source_options  # noqa: PLC0415
    from aileron_tui.cli.bindings_here import bindings_here  # noqa: PLC0415
    from aileron_tui.core.binding_change import FILE  # noqa: PLC0415

    stores, bindings = SecretStores(paths().data), bindings_here()
    secrets = AccountSecrets(paths().data, stores, ConfiguredAccounts.of(config))
    secrets.note(bindings)
    configured = {name for name, settings in config.connectors.items() if settings.credential}
    used = {needed.name for needed in action.requires} - configured
    encrypted = any(name in used and known.binding.store == FILE for (name, _), known in bindings.items())
    if encrypted and stores.vault.locked and sys.stdin.isatty():
        with source_options.unlocked_key(None) as key:
            stores.vault.unlock(stores.vault.open_with(key))
    return secrets


def _prompt(
    setup: _Setup, action: Action, args: JsonObject, recording: Recording | None, accounts: Accounts | None
) -> tuple[Prompt, PreviewOutcome | None]:
    cache, keyring = private_folder(paths().cache), load_keyring(paths().keyring)
    settings = sandbox_settings(setup.config, cache, keyring, accounts=accounts)
    with Sandbox(setup.packages, settings, recording=recording) as sandbox:
        call = sandbox.resolve(action, args)
        note = threading.Timer(_COMPILING_SECONDS, _note_compiling, (sandbox, call))
        note.start()
        try:
            outcome = sandbox.preview(call) if action.gated else None
        finally:
            note.cancel()
    prompt = Prompt(
        kind="action",
        action=action.name,
        connector=call.connector,
        args=call.args,
        inputs=input_rows(action.inputs, call.args),
        preview=outcome.result if outcome else None,
        asker=Asker(),
        risk=assess(action, setup.config.risk),
        steps=call.steps,
        warnings=(*call.needs, *call.warnings),
    )
    return prompt, outcome


def _own_setup(options: argparse.Namespace) -> tuple[_Setup, str]:
    """What would be used, and where it is: the folders that were named, or else what a gate uses."""
    config = load_config(paths().config)
    folders: list[Path] = options.manifests
    if config.connectors and not options.demo:
        _check_names(config, folders)
    if not folders and not options.demo:
        from aileron_tui.cli.installed_here import installed_here  # noqa: PLC0415  # only without --manifests
        from aileron_tui.packages.installed import installed_content  # noqa: PLC0415

        known = installed_here()
        if known.replace_samples:
            content = installed_content(known)
            return _Setup(content.bundle, content.connectors, config), _INSTALLED
    folders = folders or [bundled("manifests")]
    for folder in folders:
        if not folder.is_dir():
            raise AileronError(f"no such folder: {folder}", hint="Choose another one with --manifests.")
    where = ", ".join(map(str, folders))
    return _Setup(load_bundle(*folders), read_packages(*folders), config), where


def _check_names(config: Config, folders: list[Path]) -> None:
    """Refuses settings of a connector that does not exist: whoever misspelled its name expects them to be used."""
    from aileron_tui.cli.installed_here import installed_here  # noqa: PLC0415  # loads the ledger
    from aileron_tui.packages.found_sources import known_connectors, unknown_names  # noqa: PLC0415

    known = known_connectors(installed_here(), (*folders, *config.manifests))
    for why in unknown_names(config.connectors, known):
        problem, _, fix = why.partition(". ")
        raise AileronError(f"{paths().config}: {problem}", hint=fix)


def _sample_folder(options: argparse.Namespace) -> Path:
    folders: list[Path] = options.manifests or [bundled("manifests")]
    if len(folders) > 1:
        raise AileronError("the sample service uses one folder of manifests", hint="Give --manifests once.")
    return folders[0]


@contextmanager
def _sample_setup(manifests: Path) -> Iterator[_Setup]:
    """The manifests changed to use a sample service, which ends with the command."""
    from aileron_tui.demo.sample_bundle import materialise  # noqa: PLC0415  # only for --demo
    from aileron_tui.demo.sample_credentials import sample_config  # noqa: PLC0415
    from aileron_tui.demo.sample_service import SampleService  # noqa: PLC0415

    with (
        SampleService() as service,
        tempfile.TemporaryDirectory(prefix="aileron-tui-") as folder,
        sample_config() as config,
    ):
        changed = materialise(Path(folder) / "manifests", service.port, manifests)
        yield _Setup(load_bundle(changed), read_packages(changed), config)


def _print(action: Action, prompt: Prompt, outcome: PreviewOutcome | None) -> None:
    if not action.gated:
        sys.stdout.write(f"{inline(action.name)} needs no approval, so there is no prompt.\n")
        return
    sys.stdout.write("".join(f"{line}\n" for line in lines(prompt, columns(sys.stdout))))
    write(sys.stdout, *(f"! {inline(warning)}" for warning in prompt.warnings))
    if outcome and outcome.retried and not outcome.failure:
        write(sys.stderr, f"  {inline(outcome.retried)}")
    if outcome and outcome.failure and outcome.failure.message != outcome.failure.reason:
        write(sys.stderr, f"  {inline(outcome.failure.message)}")


def _print_document(action: Action, prompt: Prompt, outcome: PreviewOutcome | None) -> None:
    document: JsonObject = {
        "action": action.name,
        "gated": action.gated,
        "digest": prompt.digest,
        "prompt": prompt.fields(),
        "lines": [str(line) for line in lines(prompt)],
        "output": outcome.output if outcome else None,
        "details": outcome.details if outcome else None,
    }
    print_json(document)


def _unknown_action(name: str, bundle: Bundle, where: str, folders: list[Path]) -> int:
    if rejected := rejections(name, folders):
        write_error(f"{name} cannot be used", *rejected)
        return NOT_FOUND
    sys.stderr.write(f'error: no action "{inline(name)}" in {inline(where)}\n')
    close = nearest(name, list(bundle.actions))
    if close:
        sys.stderr.write(f'  Did you mean "{inline(close)}"?\n')
    if any(finding.severity is Severity.ERROR for finding in bundle.findings):
        command = "aileron-tui installed" if where == _INSTALLED else f"aileron-tui lint {inline(where)}"
        sys.stderr.write(f"  Some manifests have errors. To see them, run: {command}\n")
    return NOT_FOUND
