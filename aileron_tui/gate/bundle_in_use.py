"""Which bundle a gate uses: the installed packages, or a folder.

A folder that was named is used as it is. Otherwise the gate uses what is installed, and the samples that ship with the
program if no action was ever installed.
"""

from dataclasses import replace

from aileron_tui.core.proxy_settings import BadProxy, proxy_words
from aileron_tui.core.upstream_words import upstream_warning
from aileron_tui.core.visible_text import inline
from aileron_tui.files.certificate_trust import CertificateTrust
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
    """Loads the bundle of a gate, and notices when it changes.

    `note` and `is_current` are for the event loop, because they read the ledger; the rest may block.
    """

    def __init__(self, setup: GateSetup, settings: SandboxSettings) -> None:
        self._setup = setup
        self._settings = settings
        self._store = PackageStore(setup.data)
        self._seen = (-1, -1)
        self._known = (0, Packages())  # counts the changes

    def note(self, ledger: LedgerView) -> None:
        """Reads from the ledger what is installed, if that may have changed."""
        marks = (ledger.last_package_change(), ledger.last_key_change())
        if marks != self._seen:
            found = Packages.of(ledger)
            count, before = self._known
            if _content(found) != _content(before):
                self._known = (count + 1, found)
            self._seen = marks

    def is_current(self, ledger: LedgerView, loaded: InstalledBundle) -> bool:
        """Whether what was loaded is still what the ledger says is installed."""
        if not self._setup.packages:
            return True
        self.note(ledger)
        return loaded.folder_state[:1] == _first(self._known[0])

    def state(self) -> FolderState:
        """The state of everything that the bundle is made of."""
        if not self._setup.packages:
            return (*self._keyring_state(), *folder_state(self._setup.manifests, *self._setup.more_manifests))
        return self._state(*self._known)

    def _state(self, count: int, packages: Packages) -> FolderState:
        files = (*self._keyring_state(), *folder_state(self._store.root / "sha256"))
        return (*_first(count), *files, *(() if packages.replace_samples else folder_state(self._setup.manifests)))

    def load(self) -> InstalledBundle:
        """Loads the bundle."""
        self._log_settings()
        if not self._setup.packages:
            state, settings = self.state(), self._settings_now()
            loaded = install(self._setup.manifests, settings, *self._setup.more_manifests)
            return replace(loaded, folder_state=state)
        count, packages = self._known
        state, installed = self._state(count, packages), installed_packages(self._setup.data, packages)
        settings = self._settings_now()
        content = installed_content(installed)
        home = self._setup.keyring_file.parent if self._setup.keyring_file else None
        for source in found_sources(self._setup.config.manifests, home, installed):
            if source.problem or source.new:
                log.warning("%s", inline(f"{source.words}. {source.fix}"))
        if installed.replace_samples:
            return install_content(content.bundle, content.connectors, settings, state)
        samples = install(self._setup.manifests, settings)
        return replace(samples, findings=(*content.bundle.findings, *samples.findings), folder_state=state)

    def _log_settings(self) -> None:
        """Says what is wrong or unusual about how connectors are set up and reach their services."""
        for unknown in self._unknown_connectors():
            log.error("the configuration has an unknown name: %s", inline(unknown))
        for name, connector in self._setup.config.connectors.items():
            if connector.upstream:
                log.warning("%s", inline(upstream_warning(name, connector.upstream)))
        proxies, trust = self._settings.proxies, self._settings.trust
        try:
            if proxy := proxies.proxy():
                log.info("%s", inline(proxy_words(proxies, proxy)))
        except BadProxy as error:
            log.error("%s", inline(f"{error}. {error.hint}"))
        if trust != CertificateTrust():
            log.info("https trusts %s", inline(trust.words))

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
        packages = self._known[1] if self._setup.packages else Packages()
        if packages.replace_samples:
            count = len(packages)
            return f"{count} installed package{'' if count == 1 else 's'}"
        return ", ".join(map(str, (self._setup.manifests, *self._setup.more_manifests)))

    def _unknown_connectors(self) -> tuple[str, ...]:
        """What is wrong with the names of connectors in the configuration, in words."""
        config = self._setup.config
        if not config.connectors:
            return ()
        installed = installed_packages(self._setup.data, self._known[1])
        known = known_connectors(installed, (*self._setup.more_manifests, self._setup.manifests, *config.manifests))
        return unknown_names(config.connectors, known)


def _content(packages: Packages) -> tuple[object, ...]:
    """What changes the bundle if it changes."""
    return packages, packages.invalid, packages.replace_samples


def _first(count: int) -> FolderState:
    """The part of a state that changes with what is installed."""
    return (("", count, 0),)
