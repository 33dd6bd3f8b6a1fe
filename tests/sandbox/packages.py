"""Builds connector packages from guest modules, and actions that use them."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from aileron_tui.core.action import Action, Approval, Requirement, Step
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.core.preview_directive import PreviewDirective
from aileron_tui.sandbox.connector_package import ConnectorPackage

NAME = "github://example/mail"
VERSION = "1.0.0"
OAUTH2 = """
[capabilities.credential]
kind = "oauth2"
[capabilities.credential.oauth2]
authorize_url = "https://accounts.example/auth"
token_url = "https://accounts.example/token"
client_id = "client"
scopes = ["mail"]
"""
API_KEY = """
[capabilities.credential]
kind = "api_key"
header = "X-Api-Key"
format = "Key {key}"
"""
AWS = """
[capabilities.credential]
kind = "aws_sigv4"
service = "athena"
region = "us-east-1"
access_key_id = "AKIDEXAMPLE"
"""
MAIL_ROWS = {
    "To": "message.payload.headers.To",
    "Subject": "message.payload.headers.Subject",
    "Cc": "message.payload.headers.Cc",
    "Body": "message.snippet",
}


def package(wasm: bytes, hosts: Iterable[str] | None = (), credential: str = "", name: str = NAME) -> ConnectorPackage:
    """Returns a package with this module and grant."""
    listed = ", ".join(f'"{host}"' for host in hosts or ())
    network = f"[capabilities.network]\nhosts = [{listed}]\n" if hosts is not None else ""
    manifest = f'[connector]\nname = "{name}"\nversion = "{VERSION}"\n{network}{credential}'
    return ConnectorPackage(wasm, manifest.encode())


def pin_of(connector_package: ConnectorPackage) -> str:
    """Returns the hash that an action pins."""
    return f"sha256:{hashlib.sha256(connector_package.wasm + connector_package.manifest).hexdigest()}"


@dataclass(slots=True)
class ActionOptions:
    """The parts of an action that tests vary."""

    args: JsonObject = field(default_factory=lambda: {"id": "${args.draft_id}"})
    render: Mapping[str, str] = field(default_factory=lambda: dict(MAIL_ROWS))
    multiline: frozenset[str] = frozenset({"Body"})
    steps: tuple[Step, ...] = (Step("send", NAME, "send_draft", False, {"draft_id": "${args.draft_id}"}),)
    capabilities: tuple[str, ...] = ("send_draft",)
    preview: bool = True
    gated: bool = True


def action(connector_package: ConnectorPackage, options: ActionOptions | None = None, pin: str = "") -> Action:
    """Returns an action that pins this package."""
    options = options or ActionOptions()
    directive = PreviewDirective("get_draft", options.args, tuple(options.render.items()), options.multiline)
    return Action(
        "send-draft",
        "1.0.0",
        "github://example/actions/send-draft@1.0.0",
        (Requirement(NAME, VERSION, pin or pin_of(connector_package), options.capabilities),),
        "send a draft",
        (),
        options.steps,
        Approval(options.gated, None, directive if options.preview else None),
        "",
    )
