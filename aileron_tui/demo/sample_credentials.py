"""A configuration with the credentials of the sample service."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from aileron_tui.demo.sample_service import FILES_CREDENTIAL, MAIL_CREDENTIAL
from aileron_tui.files.config import Config, ConnectorSettings, CredentialSource, Policy

_VARIABLES: Final = {
    "local://aileron/mail": ("AILERON_SAMPLE_MAIL_TOKEN", MAIL_CREDENTIAL),
    "local://aileron/files": ("AILERON_SAMPLE_FILES_KEY", FILES_CREDENTIAL),
}


@contextmanager
def sample_config(policy: Policy | None = None) -> Iterator[Config]:
    """Yields a configuration with the sample credentials, which are in the environment during the block."""
    previous = {name: os.environ.get(name) for name, _ in _VARIABLES.values()}
    os.environ.update(dict(_VARIABLES.values()))
    try:
        connectors = {fqn: ConnectorSettings(CredentialSource(env=name)) for fqn, (name, _) in _VARIABLES.items()}
        yield Config(policy or Policy(), (), connectors)
    finally:
        for name, value in previous.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
