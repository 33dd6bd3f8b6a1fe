"""Reads the body of a response within a limit, which also holds for what a compressed body decompresses to.

gzip is asked for. A server that answers with deflate is understood too; every other encoding is refused.
"""

import zlib
from collections.abc import Iterable
from typing import Final

ACCEPTED_ENCODING: Final = "gzip"
_PLAIN: Final = frozenset({"", "identity"})
_GZIP: Final = frozenset({"gzip", "x-gzip"})
_DEFLATE: Final = "deflate"
_GZIP_START: Final = b"\x1f\x8b"
_GZIP_BITS: Final = 31
_ZLIB_BITS: Final = 15
_HEADER_SIZE: Final = 2
_MOST_MEMBERS: Final = 1000


class BodyTooLarge(Exception):
    """The body, or what it decompresses to, is larger than allowed."""


class BodyDamaged(Exception):
    """A compressed body that is not valid or not complete."""


class UnknownEncoding(Exception):
    """An encoding that was not asked for."""


def read_body(parts: Iterable[bytes], encoding: str, limit: int) -> bytes:
    """Returns the whole body. Raises one of the exceptions above as soon as it is certain."""
    encoding = encoding.strip().lower()
    if encoding in _PLAIN:
        return _bounded(parts, limit)
    if encoding not in _GZIP and encoding != _DEFLATE:
        raise UnknownEncoding(encoding)
    decompressor = _Decompressor(encoding, limit)
    received = 0
    for part in parts:
        received += len(part)
        if received > limit:
            raise BodyTooLarge
        decompressor.add(part)
    return decompressor.finished() if received else b""


def _bounded(parts: Iterable[bytes], limit: int) -> bytes:
    body = bytearray()
    for part in parts:
        body += part
        if len(body) > limit:
            raise BodyTooLarge
    return bytes(body)


class _Decompressor:
    """Decompresses part after part; never holds more than the limit and one byte."""

    def __init__(self, encoding: str, limit: int) -> None:
        self._is_gzip = encoding in _GZIP
        self._limit = limit
        self._body = bytearray()
        self._members = 0
        self._held = b""
        self._stream: zlib._Decompress | None = None

    def add(self, data: bytes) -> None:
        """Decompresses one more part of the body."""
        data = self._held + data
        self._held = b""
        try:
            while data:
                if self._stream is None or self._stream.eof:
                    if len(data) < _HEADER_SIZE:
                        self._held = data
                        return
                    self._stream = self._next_stream(data)
                self._body += self._stream.decompress(data, self._limit + 1 - len(self._body))
                if len(self._body) > self._limit:
                    raise BodyTooLarge
                data = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail
        except zlib.error:
            raise BodyDamaged from None

    def _next_stream(self, data: bytes) -> "zlib._Decompress":
        """A gzip body may have several members; anything else after the end is not part of a body."""
        self._members += 1
        if self._is_gzip:
            if not data.startswith(_GZIP_START) or self._members > _MOST_MEMBERS:
                raise BodyDamaged
            return zlib.decompressobj(_GZIP_BITS)
        if self._members > 1:
            raise BodyDamaged
        # Some servers send deflate without the header that the standard asks for.
        has_header = data[0] & 0x0F == 8 and int.from_bytes(data[:2]) % 31 == 0
        return zlib.decompressobj(_ZLIB_BITS if has_header else -_ZLIB_BITS)

    def finished(self) -> bytes:
        """The whole body, if it is complete."""
        if self._held or self._stream is None or not self._stream.eof:
            raise BodyDamaged
        return bytes(self._body)
