"""What `lint` says about the built connectors of a folder: their modules and their signatures."""

from collections.abc import Iterator
from pathlib import Path

from aileron_tui.core.action import read_action
from aileron_tui.core.connector import read_connector
from aileron_tui.core.errors import AileronError
from aileron_tui.core.findings import Finding
from aileron_tui.files.bundle_layout import ACTION_FILE, SIGNATURE_FILE, ConnectorFiles, find_files, is_file
from aileron_tui.files.manifest_files import LARGEST_MODULE, UnreadableFile, read_file
from aileron_tui.files.paths import paths
from aileron_tui.packages.archive import WASM_START
from aileron_tui.sandbox.connector_package import PublisherKeyring, load_keyring, verifies

_MODULE_START = WASM_START + b"\x01\0\0\0"
_SIGNATURE_SIZE = 64


def connector_findings(folder: Path) -> Iterator[Finding]:
    """The problems of modules and signatures. A signature counts as wrong if its publisher is trusted here."""
    files = find_files(str(folder), [])
    try:
        keyring = load_keyring(paths().keyring)
    except AileronError:  # doctor reports it
        keyring = PublisherKeyring()
    for connector in files.connectors:
        yield from _connector(connector, keyring, folder)
    for action in map(Path, files.actions):
        if action.name == ACTION_FILE and is_file(str(action.with_name(SIGNATURE_FILE))):
            yield from _action(action, keyring, folder)


def _connector(files: ConnectorFiles, keyring: PublisherKeyring, folder: Path) -> Iterator[Finding]:
    try:
        module = read_file(files.module, LARGEST_MODULE) if files.module else None
        manifest = read_file(files.manifest)
    except UnreadableFile:  # it is reported with the manifests
        return
    if module is None:
        return
    if not module.startswith(_MODULE_START):
        component = module.startswith(WASM_START)
        message = "this is a WebAssembly component, not a module" if component else "this is not a WebAssembly module"
        fix = "Build it for WASI preview 1: with Go GOOS=wasip1 GOARCH=wasm, with zig -target wasm32-wasi."
        yield Finding("module", message, fix, files.module)
    connector = read_connector(manifest, files.manifest).value
    if files.signature and connector:
        yield from _signature(Path(files.signature), connector.name, module + manifest, keyring, folder)


def _action(file: Path, keyring: PublisherKeyring, folder: Path) -> Iterator[Finding]:
    try:
        data = read_file(str(file))
    except UnreadableFile:
        return
    action = read_action(data, str(file)).value
    if action:
        name = action.source.rpartition("@")[0]
        yield from _signature(file.with_name(SIGNATURE_FILE), name, data, keyring, folder)


def _signature(file: Path, name: str, signed: bytes, keyring: PublisherKeyring, folder: Path) -> Iterator[Finding]:
    fix = f"Sign it again with `aileron-tui pin {folder} --sign KEY.pem`, or remove the file."
    try:
        signature = read_file(str(file), _SIGNATURE_SIZE)
    except UnreadableFile as error:
        yield Finding("signature", f"cannot read the signature: {error}", fix, str(file))
        return
    authority, keys = keyring.keys(name)
    if len(signature) != _SIGNATURE_SIZE:
        message = f"a signature has {_SIGNATURE_SIZE} bytes, and this file has {len(signature)}"
        yield Finding("signature", message, fix, str(file))
    elif keys and not any(verifies(key, signature, signed) for key in keys):
        message = f"no key that is trusted for {authority} signed this version of it"
        yield Finding("signature", message, fix, str(file))
