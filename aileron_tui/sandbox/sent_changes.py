"""What one connector call may have changed upstream, from the requests it wrote and the replies it got."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, TypeAlias

from aileron_tui.sandbox.failure import Boundary, CallRefused, Failure, FailureKind
from aileron_tui.sandbox.network import UpstreamRequest, UpstreamResponse

_NOT_PROCESSED: Final = frozenset({304, 307, 308, 501, 505})
"""Statuses outside 4xx that mean that the request was not processed."""

_MAYBE_PROCESSED: Final = frozenset({408, 499})
"""4xx statuses that services and proxies send when they stop waiting for something that may still be going on."""

_FIRST_REFUSAL: Final = 400
_REDIRECTS: Final = range(300, 400)

_Key: TypeAlias = tuple[str, str, bytes]


class SentChanges:
    """The requests of one call that may have taken effect.

    A request counts from its first byte on, because a reply that is lost says nothing. It stops counting only if the
    reply says that the request was refused. One that counts and has no definite answer is lost: the call cannot succeed
    any more. Only in an `idempotent` op may a lost request be sent again, and a definite answer to that settles it.

    With `gets_count`, a GET may have changed something too, because the op changes something and some services do that
    by GET. If the op also changes something in another way, its GETs are taken for reads once they are answered.
    """

    def __init__(self, *, idempotent: bool = False, gets_count: bool = False) -> None:
        self.idempotent = idempotent
        self._gets_count = gets_count and not idempotent
        self._effective = 0
        self._tried_to_write = False
        self._wrote = False
        self._get_answered = False
        self._lost: dict[_Key, Failure] = {}
        self._lost_gets: dict[_Key, Failure] = {}
        self._first_lost_get: Failure | None = None

    def counts(self, request: UpstreamRequest) -> bool:
        """Whether a request may change something, so that it must not be sent twice."""
        return request.may_modify or self._gets_count

    def may_repeat(self, request: UpstreamRequest, status: int) -> bool:
        """Whether a request that was answered with this status may be sent again."""
        if not self.counts(request) or self.idempotent:
            return True
        return not request.may_modify and was_refused(status)

    def written(self) -> None:
        """The first byte of a request that counts is about to be written."""
        self._effective += 1

    def answered(self, request: UpstreamRequest, status: int) -> None:
        """A complete reply to that request arrived."""
        if was_refused(status) or (status in _REDIRECTS and not request.may_modify):
            self._effective -= 1

    @contextmanager
    def sending(self, request: UpstreamRequest) -> Iterator[list[UpstreamResponse]]:
        """Judges a request of the guest by all that is sent for it; the block adds the response to the list.

        Redirects are part of it: a guest that does not get an answer does not know that the first reply was one.
        """
        if request.may_modify and self._lost and not self.idempotent:
            raise CallRefused(_refused(next(iter(self._lost.values()))))
        self._tried_to_write = self._tried_to_write or request.may_modify
        before = self._effective
        responses: list[UpstreamResponse] = []
        try:
            yield responses
        except CallRefused as refused:
            if self._effective > before:
                self._lose(request, refused.failure)
            raise
        if self._effective <= before:
            return
        if (status := responses[-1].status) >= _FIRST_REFUSAL:
            self._lose(request, _unclear(request, status))
        elif request.may_modify:
            self._wrote = True
            self._lost.pop(_key(request), None)
        else:
            self._effective = before
            self._get_answered = True
            self._lost_gets.pop(_key(request), None)

    def _lose(self, request: UpstreamRequest, failure: Failure) -> None:
        if request.may_modify:
            self._lost.setdefault(_key(request), failure)
        else:
            self._lost_gets.setdefault(_key(request), failure)
            self._first_lost_get = self._first_lost_get or failure

    def judged(self, failure: Failure | None) -> Failure | None:
        """How the call ended, given how its connector ended: with this failure, or well."""
        if failure is None:
            lost = next(iter((*self._lost.values(), *self._lost_gets.values())), None)
            if lost is None and not self._wrote:
                lost = self._first_lost_get
            return replace(lost, reported_by_guest=False).after_sending(changed=True) if lost else None
        broke_after_get = self._get_answered and not self._tried_to_write and not failure.reported_by_guest
        return failure.after_sending(self._effective > 0 or broke_after_get)


def was_refused(status: int) -> bool:
    """Whether a reply means that the request changed nothing.

    That holds for 4xx, also for 409 (a conflict with the current state), 425 and 429 (not processed yet). It does not
    hold for 5xx, which services send after part of the work, and which proxies send while the service still works.
    A 301, 302 or 303 is how many services answer a POST that they have processed.
    """
    return status in _NOT_PROCESSED or (400 <= status < 500 and status not in _MAYBE_PROCESSED)


def _key(request: UpstreamRequest) -> _Key:
    return request.method, str(request.url), request.body


def _unclear(request: UpstreamRequest, status: int) -> Failure:
    text = f"{request.url.host_port} answered {request.method} with {status}"
    return Failure(FailureKind.EXTERNAL_API_ERROR, text, text, Boundary.EXTERNAL)


def _refused(lost: Failure) -> Failure:
    """The first failure says what happened, so it is not hidden behind the refusal."""
    message = f"{lost.message}; the connector tried to change something again, which was refused"
    return replace(lost, message=message, retriable=False)
