"""The checks of `doctor` on how connectors reach their services: proxy, certificate authorities and test servers."""

from collections.abc import Iterator, Mapping

from aileron_tui.cli.machine_checks import Check, Status, failed
from aileron_tui.core.proxy_settings import BadProxy, proxy_words, read_proxy_settings
from aileron_tui.core.upstream_words import upstream_warning
from aileron_tui.files.certificate_trust import BadAuthorities, certificate_trust
from aileron_tui.files.config import Config


def network(environment: Mapping[str, str], config: Config | None) -> Iterator[Check]:
    """Which proxy and which authorities are used, and which connectors ask a server on this machine instead."""
    yield _proxy(environment)
    yield _authorities(environment)
    for name, settings in config.connectors.items() if config else ():
        if settings.upstream:
            fix = f'Remove [connectors."{name}".upstream] when the test is over.'
            yield Check("upstream", Status.WARN, upstream_warning(name, settings.upstream), fix=fix)


def _proxy(environment: Mapping[str, str]) -> Check:
    settings = read_proxy_settings(environment)
    try:
        proxy = settings.proxy()
    except BadProxy as error:
        return failed("proxy", error, "")
    detail = ""
    if settings.plain_variable and settings.plain_variable != settings.variable:
        detail = f"connectors send no http through {settings.plain_variable}, only https"
    if proxy is None:
        return Check("proxy", Status.OK, "none for https", detail)
    return Check("proxy", Status.OK, proxy_words(settings, proxy), detail)


def _authorities(environment: Mapping[str, str]) -> Check:
    trust = certificate_trust(environment)
    try:
        trust.context()
    except BadAuthorities as error:
        return failed("certificates", error, "")
    return Check("certificates", Status.OK, f"https trusts {trust.words}")
