"""A temporary home for one run: sample service, suite, configuration, ledger and key."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from aileron_tui.core.values import dataclass
from aileron_tui.demo.sample_bundle import materialise
from aileron_tui.demo.sample_credentials import sample_config
from aileron_tui.demo.sample_data import LONG
from aileron_tui.demo.sample_service import SampleService, ServiceFault
from aileron_tui.files.config import Policy
from aileron_tui.files.private_files import private_folder
from aileron_tui.gate.gate_state import GateSetup
from aileron_tui.signing.key_store import UnlockedKey, for_this_run
from aileron_tui.surface.key_enrolment import enrolled

WAIT_SECONDS: Final = 300
"""How long a demo request waits for an answer."""

_LONG_DRAFT_SECONDS: Final = 3.0


@dataclass(frozen=True, slots=True)
class SampleHome:
    """Everything that a run of the demo needs."""

    root: Path
    service: SampleService
    setup: GateSetup
    key: UnlockedKey


@contextmanager
def sample_home(cache: Path | None = None) -> Iterator[SampleHome]:
    """Yields a home in a temporary folder, which is deleted when the block ends.

    `cache` may contain compiled connectors from earlier runs; they are looked up by hash.
    """
    with (
        SampleService() as service,
        tempfile.TemporaryDirectory(prefix="aileron-demo-") as folder,
        sample_config(Policy(timeout=WAIT_SECONDS)) as config,
        for_this_run("demo") as key,
    ):
        service.slow_seconds = _LONG_DRAFT_SECONDS
        service.faults[LONG] = ServiceFault.SLOW
        root = Path(folder)
        manifests = materialise(root / "manifests", service.port)
        setup = GateSetup(private_folder(root / "data"), manifests, config, cache or private_folder(root / "cache"))
        with enrolled(setup.data, key):
            yield SampleHome(root, service, setup, key)
