"""The check of `doctor` on metrics: whether the gate can count what it does."""

from collections.abc import Iterator
from importlib.util import find_spec

from aileron_tui.cli.machine_checks import Check, Status
from aileron_tui.files.config import Config
from aileron_tui.files.extras import install_command


def metrics(config: Config) -> Iterator[Check]:
    """Whether metrics can be served; nothing if they are not wanted."""
    if not config.metrics.enabled:
        return
    if find_spec("prometheus_client"):
        yield Check("metrics", Status.OK, "served at /v1/metrics")
        return
    fix = f"Install it with `{install_command('metrics')}`, and restart the gate."
    yield Check("metrics", Status.WARN, "the metrics extra is not installed", "prometheus_client is missing", fix)
