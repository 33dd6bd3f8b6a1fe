"""A sample service that counts what it receives, to compare with what the gate says it did."""

import json
import threading
from collections import Counter
from typing import Final

from aileron_tui.demo.sample_service import SampleService
from aileron_tui.demo.service_routes import ServiceRequest, ServiceResponse

MAX_HOLD_SECONDS: Final = 30.0


class CountedService(SampleService):
    """Counts the sends received for each draft, and can hold the next call of a method open."""

    def __init__(self) -> None:
        super().__init__()
        self.arrived: Counter[str] = Counter()
        self.reached = threading.Event()
        self._hold: tuple[str, bool] | None = None
        self._lock = threading.Lock()
        self._release = threading.Event()

    def hold(self, method: str, *, done: bool) -> None:
        """Holds the next call with this HTTP method, before it takes effect or, if `done`, after."""
        self.reached.clear()
        self._release.clear()
        self._hold = method, done

    def release(self) -> None:
        """Releases the held call and stops holding."""
        self._hold = None
        self._release.set()

    def serve(self, request: ServiceRequest, target: str, credentials: dict[str, str]) -> ServiceResponse | None:
        """Serves a request; counts each send on arrival, even if it fails."""
        if request.segments[-1] == "send":
            with self._lock:
                self.arrived[json.loads(request.body)["id"]] += 1
        method, done = self._hold or ("", False)
        if method != request.method:
            return super().serve(request, target, credentials)
        response = super().serve(request, target, credentials) if done else None
        self.reached.set()
        self._release.wait(MAX_HOLD_SECONDS)
        return response if done else super().serve(request, target, credentials)
