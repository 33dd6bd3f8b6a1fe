"""The checks of `doctor` on opencode servers."""

from collections.abc import Iterator, Mapping
from typing import Final

from aileron_tui.cli.machine_checks import Check, Status, failed
from aileron_tui.core.address import read_address
from aileron_tui.core.jsontext import JsonObject
from aileron_tui.runtime.errors import NotAllowed, RuntimeFault
from aileron_tui.runtime.opencode.list_reader import unlisted_reason
from aileron_tui.runtime.opencode.opencode_client import OpencodeClient
from aileron_tui.runtime.opencode.opencode_server import NamedOpencode, OpencodeServer, find_opencode
from aileron_tui.runtime.token_redaction import TokenRedactor

TRIED_VERSION: Final = "1.18.33"

_NO_SERVER: Final = "Check that `opencode serve` is running there."
_SET_PASSWORD: Final = (
    "Start opencode with OPENCODE_SERVER_PASSWORD, and set password_env or password_file in [[sources]]."  # noqa: S105  # a sentence
)
_ASK: Final = 'Set "permission": {"*": "ask"} in opencode.json.'


def opencode(id_: str, named: NamedOpencode, env: Mapping[str, str]) -> Iterator[Check]:
    """Whether opencode is found, asks, and lets only those in who know its password."""
    try:
        server = find_opencode(named, env)
    except RuntimeFault as error:
        yield failed(id_, error, _NO_SERVER)
        return
    redact = TokenRedactor(*server.secrets)
    client = OpencodeClient(server)
    try:
        for check in _checks(id_, server, client):
            yield Check(check.id, check.status, *map(redact, (check.words, check.detail, check.fix)))
    finally:
        client.close()


def _checks(id_: str, server: OpencodeServer, client: OpencodeClient) -> Iterator[Check]:
    try:
        version = client.version()
    except NotAllowed:
        words = "the password is not accepted" if server.password else "a password is needed, and none is set"
        fix = "Set password_env, password_file or password_command to opencode's own OPENCODE_SERVER_PASSWORD."
        yield Check(id_, Status.FAIL, words, server.url, fix)
        return
    except RuntimeFault as error:
        yield failed(id_, error, _NO_SERVER)
        return
    yield Check(id_, Status.OK, f"opencode {version} at {server.url}", f"tried with version {TRIED_VERSION}")
    yield from _password(id_, server)
    yield from _waiting(id_, client)
    yield from _permissions(id_, client)


def _password(id_: str, server: OpencodeServer) -> Iterator[Check]:
    if not read_address(server.url).is_confidential:
        words = "not encrypted: others on the network can read and change what you see"
        yield Check(f"{id_}.network", Status.WARN, words, fix="Use an ssh tunnel or https.")
    open_client = OpencodeClient(OpencodeServer(server.url))
    try:
        open_client.version()
    except NotAllowed:
        yield Check(f"{id_}.password", Status.OK, "needed and accepted")
    except RuntimeFault as error:
        yield failed(f"{id_}.password", error, _NO_SERVER)
    else:
        words = "opencode has no password: any program on this machine, even the agent, can answer its requests"
        yield Check(f"{id_}.password", Status.WARN, words, fix=_SET_PASSWORD)
    finally:
        open_client.close()


def _waiting(id_: str, client: OpencodeClient) -> Iterator[Check]:
    try:
        listed = client.waiting()
    except RuntimeFault as error:
        yield failed(f"{id_}.waiting", error, _NO_SERVER)
        return
    if why := unlisted_reason(listed):
        words = "opencode cannot list its requests now, because one of them breaks its list"
        yield Check(
            f"{id_}.waiting", Status.WARN, words, why, "Keep a console open, or answer that request in opencode."
        )
    else:
        yield Check(f"{id_}.waiting", Status.OK, f"{len(listed):,} waiting")


def _permissions(id_: str, client: OpencodeClient) -> Iterator[Check]:
    """Whether opencode asks at all: by default it runs everything."""
    try:
        config = client.config()
    except RuntimeFault as error:
        yield failed(f"{id_}.permission", error, _NO_SERVER)
        return
    if _asks_about_all(config):
        yield Check(f"{id_}.permission", Status.OK, "opencode asks before it uses any tool")
    elif config.get("permission"):
        words = "opencode does not ask about everything: its settings allow some calls"
        yield Check(f"{id_}.permission", Status.WARN, words, fix=_ASK)
    else:
        words = "opencode runs nearly everything without asking, because no permission is set"
        yield Check(f"{id_}.permission", Status.WARN, words, fix=_ASK)


def _asks_about_all(config: JsonObject) -> bool:
    permission = config.get("permission")
    if permission == "ask":
        return True
    if not isinstance(permission, dict) or permission.get("*") != "ask":
        return False
    return all(
        value in ("ask", "deny") or (isinstance(value, dict) and all(one in ("ask", "deny") for one in value.values()))
        for value in permission.values()
    )
