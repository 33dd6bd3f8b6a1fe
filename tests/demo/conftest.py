"""A sample service on a port of its own, and clients that carry its credentials."""

from collections.abc import Iterator

import httpx
import pytest

from aileron_tui.demo.sample_service import FILES_CREDENTIAL, MAIL_CREDENTIAL, SampleService


@pytest.fixture
def service() -> Iterator[SampleService]:
    with SampleService() as running:
        yield running


@pytest.fixture
def mail(service: SampleService) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {MAIL_CREDENTIAL}"}
    with httpx.Client(base_url=f"{service.url}/gmail/v1/users/me", headers=headers, trust_env=False) as client:
        yield client


@pytest.fixture
def files(service: SampleService) -> Iterator[httpx.Client]:
    headers = {"X-Api-Key": FILES_CREDENTIAL}
    with httpx.Client(base_url=f"{service.url}/drive/v3", headers=headers, trust_env=False) as client:
        yield client
