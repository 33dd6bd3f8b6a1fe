"""Ed25519 public keys for which anyone can forge a signature."""

from typing import Final

# Points of small order (sign bit cleared).
_SMALL_ORDER: Final = frozenset(
    bytes.fromhex(point)
    for point in (
        "00" * 32,
        "01" + "00" * 31,
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "ec" + "ff" * 30 + "7f",
        "ed" + "ff" * 30 + "7f",
        "ee" + "ff" * 30 + "7f",
    )
)


def has_small_order(raw: bytes) -> bool:
    """Whether a public key of 32 raw bytes is a point of small order."""
    return raw[:31] + bytes([raw[31] & 0x7F]) in _SMALL_ORDER
