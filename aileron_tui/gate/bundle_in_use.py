"""Which bundle a gate uses: the installed packages, or a folder.

A folder that was named is used as it is. Otherwise the gate uses what is installed, and the samples that ship with the
program if no action is.
"""

from dataclasses import replace

from aileron_tui.core.visible_text import inline
from aileron_tui.files.paths import paths
from aileron_tui.gate.gate_state import GateSetup, log
from aileron_tui.gate.installed_bundle import FolderState, InstalledBundle, folder_state, install, install_content
from aileron_tui.ledger.store import LedgerView
from aileron_tui.packages.found_sources import found_sources, known_connectors, unknown_names
from aileron_tui.packages.installed import installed_content, installed_packages
from aileron_tui.packages.store import PackageStore
from aileron_tui.sandbox.connector_package import PackageError, load_keyring
from aileron_tui.sandbox.loaded_connectors import SandboxSettings
from aileron_tui.signing.packages import Packages


class BundleInUse:
    """Loads the bundle of a gate, and notices when it changes. `note` is for its event loop, the rest may block."""

    def __init__(self, setup: GateSetup, settings: SandboxSettings) -> None:
        self._setup = setup
        self._settings = settings
        self._store = PackageStore(setup.data)
        self._packages = Packages()
        self._change = -1

    def note(self, ledger: LedgerView) -> None:
        """Reads from the ledger what is installed, if that has changed."""
        if not self._setup.packages:
            return
        marks = max(ledger.last_package_change(), ledger.last_key_change())
        if marks != self._change:
            self._packages, self._change = Packages.of(ledger), marks

    def state(self) -> FolderState:
        """The state of everything that the bundle is made of."""
        keyring = self._keyring_state()
        if not self._setup.packages:
            return (*keyring, *folder_state(self._setup.manifests, *self._setup.more_manifests))
        changed = (*keyring, ("", self._change, 0), *folder_state(self._store.root / "sha256"))
        return changed if self._packages else (*changed, *folder_state(self._setup.manifests))

    def load(self) -> InstalledBundle:
        """Loads the bundle. The first time is slow, because modules are compiled."""
        for unknown in self._unknown_connectors():
            log.error("the configuration has an unknown name: %s", inline(unknown))
        state, settings = self.state(), self._settings_now()
        if not self._setup.packages:
            loaded = install(self._setup.manifests, settings, *self._setup.more_manifests)
            return replace(loaded, folder_state=state)
        installed = installed_packages(self._setup.data, self._packages)
        content = installed_content(installed)
        for source in found_sources(self._setup.config.manifests, paths().config.parent, installed):
            if source.problem or source.new:
                log.warning("%s", inline(f"{source.words}. {source.fix}"))
        if installed.has_actions:
            return install_content(content.bundle, content.connectors, settings, state)
        for finding in content.bundle.findings:
            log.warning("%s: %s", finding.file, finding.message)
        return replace(install(self._setup.manifests, settings), folder_state=state)

    def _settings_now(self) -> SandboxSettings:
        """The settings with the publishers that are trusted now. If they cannot be read, what was trusted stays."""
        if self._setup.keyring_file is None:
            return self._settings
        try:
            self._settings = replace(self._settings, keyring=load_keyring(self._setup.keyring_file))
        except PackageError as error:
            log.error("the trusted publishers cannot be read: %s", inline(str(error)))
        return self._settings

    def _keyring_state(self) -> FolderState:
        try:
            status = self._setup.keyring_file.stat() if self._setup.keyring_file else None
        except OSError:
            status = None
        return (("keyring", status.st_mtime_ns, status.st_size),) if status else ()

    @property
    def words(self) -> str:
        """Where the bundle comes from."""
        if any(known.grant.actions for known in self._packages.values()):
            count = len(self._packages)
            return f"{count} installed package{'' if count == 1 else 's'}"
        return ", ".join(map(str, (self._setup.manifests, *self._setup.more_manifests)))

    def _unknown_connectors(self) -> tuple[str, ...]:
        """What is wrong with the names of connectors in the configuration, in words."""
        config, installed = self._setup.config, installed_packages(self._setup.data, self._packages)
        if not config.connectors or not self._setup.packages:
            return ()
        known = known_connectors(installed, (*self._setup.more_manifests, self._setup.manifests, *config.manifests))
        return unknown_names(config.connectors, known)
