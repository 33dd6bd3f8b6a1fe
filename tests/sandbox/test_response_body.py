"""Compressed responses: understood, bounded, and never half read."""

import gzip
import os
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aileron_tui.sandbox.response_body import BodyDamaged, BodyTooLarge, UnknownEncoding, read_body
from tests.sandbox import guests
from tests.sandbox.conftest import Runner
from tests.sandbox.upstream import Upstream

LIMIT = 1000


def in_parts(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


@pytest.mark.parametrize("how", ["gzip", "members", "deflate", "raw"])
def test_a_compressed_response_is_read_as_if_it_were_not(runner: Runner, service: Upstream, how: str) -> None:
    outcome = runner.preview(guests.http_guest({"url": service.url(f"/packed?how={how}")}), service.host_port)
    assert outcome.result.rows[0].value == "team@example.com"


@given(data=st.binary(max_size=LIMIT), size=st.integers(1, 50), how=st.sampled_from(["gzip", "deflate", "raw", ""]))
def test_every_body_survives_in_parts_of_any_size(data: bytes, size: int, how: str) -> None:
    compressor = zlib.compressobj(wbits=-15)
    raw = compressor.compress(data) + compressor.flush()
    has_header = raw[0] & 0x0F == 8 and int.from_bytes(raw[:2]) % 31 == 0
    packed = {"gzip": gzip.compress(data), "deflate": zlib.compress(data), "raw": raw, "": data}[how]
    if how == "raw" and has_header:
        return
    assert read_body(in_parts(packed, size), "deflate" if how == "raw" else how, 2 * LIMIT) == data


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", " GZip ", "deflate", ""])
def test_the_limit_is_for_what_it_decompresses_to(encoding: str) -> None:
    def pack(data: bytes) -> bytes:
        return {"deflate": zlib.compress(data), "": data}.get(encoding, gzip.compress(data))

    assert read_body([pack(bytes(LIMIT))], encoding, LIMIT) == bytes(LIMIT)
    with pytest.raises(BodyTooLarge):
        read_body([pack(bytes(LIMIT + 1))], encoding, LIMIT)


def test_a_bomb_takes_no_memory() -> None:
    """Every level multiplies by a thousand; only the outermost is ever unpacked, and only up to the limit."""
    inner = gzip.compress(bytes(5_000_000), 6)
    assert read_body([gzip.compress(inner)], "gzip", 100_000) == inner
    tracemalloc.start()
    try:
        with pytest.raises(BodyTooLarge):
            read_body([inner], "gzip", 100_000)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_what_arrives_is_bounded_too() -> None:
    noise = gzip.compress(os.urandom(LIMIT + 100))
    with pytest.raises(BodyTooLarge):
        read_body(in_parts(noise, 100), "gzip", LIMIT)
    with pytest.raises(BodyDamaged):
        read_body([gzip.compress(b"") * 1001], "gzip", 100_000)


WHOLE = gzip.compress(b"hello", mtime=0)


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (WHOLE[:-1], "gzip"),
        (WHOLE[:1], "gzip"),
        (WHOLE + b"x", "gzip"),
        (WHOLE + b"xx", "gzip"),
        (WHOLE + WHOLE[:5], "gzip"),
        (WHOLE[:-8] + b"\0" * 8, "gzip"),
        (b"plain text", "gzip"),
        (zlib.compress(b"hello")[:-1], "deflate"),
        (zlib.compress(b"hello") * 2, "deflate"),
        (b"\xff\xff\xff", "deflate"),
        (WHOLE, "deflate"),
    ],
)
def test_a_damaged_body_is_refused(data: bytes, encoding: str) -> None:
    for size in (1, len(data)):
        with pytest.raises(BodyDamaged):
            read_body(in_parts(data, size), encoding, LIMIT)


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "compress", "identity, gzip"])
def test_another_encoding_is_refused(encoding: str) -> None:
    with pytest.raises(UnknownEncoding):
        read_body([b"x"], encoding, LIMIT)


def test_no_body_needs_no_decompression() -> None:
    assert read_body([], "gzip", LIMIT) == b""
