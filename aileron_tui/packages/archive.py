"""Release archives (`aileron.tar.gz`): one connector or one action, read in memory and never extracted to disk.

The archive comes from strangers, so this reader knows only what such an archive needs: plain files at the top. Whatever
else a tar can express (links, devices, sparse files, longer names, more after the end) is refused, because two readers
could see different files in it.
"""

import zlib
from dataclasses import field
from typing import Final

from aileron_tui.core.values import dataclass
from aileron_tui.files.bundle_layout import ACTION_FILE, CONNECTOR_FILE, MODULE_FILE, SIGNATURE_FILE
from aileron_tui.files.manifest_files import LARGEST_MANIFEST, LARGEST_MODULE
from aileron_tui.sandbox.connector_package import ConnectorPackage, PackageError

LARGEST_ARCHIVE: Final = 64 * 1024 * 1024
GZIP_START: Final = b"\x1f\x8b"

_PROGRAM_FILE: Final = "connector.bin"
WASM_START: Final = b"\0asm"
_BLOCK: Final = 512
_CHUNK: Final = 256 * 1024
_MOST_MEMBERS: Final = 16
_LARGEST_SIGNATURE: Final = 4096
_LARGEST_RECORDS: Final = 64 * 1024
_LARGEST_CONTENT: Final = LARGEST_MODULE + LARGEST_MANIFEST + 1024 * 1024
_RATIO: Final = 100  # modules compress to about a quarter
_RATIO_STARTS: Final = 1024 * 1024
_LIMITS: Final = {
    MODULE_FILE: LARGEST_MODULE,
    _PROGRAM_FILE: LARGEST_MODULE,
    CONNECTOR_FILE: LARGEST_MANIFEST,
    ACTION_FILE: LARGEST_MANIFEST,
    SIGNATURE_FILE: _LARGEST_SIGNATURE,
}
_OTHER_TYPES: Final = {
    b"1": "a hard link",
    b"2": "a symbolic link",
    b"3": "a device",
    b"4": "a device",
    b"6": "a named pipe",
    b"7": "a contiguous file",
    b"K": "a long link name",
    b"L": "a long file name",
    b"M": "a part of a larger archive",
    b"S": "a sparse file",
}
# Records of an extended header that change what a member is or contains.
_CHANGING_RECORDS: Final = (b"path", b"linkpath", b"size", b"GNU.sparse", b"hdrcharset", b"SCHILY.realsize")


@dataclass(frozen=True, slots=True)
class ArchivedAction:
    """An action as released: its manifest, and the publisher's signature over it."""

    data: bytes = field(repr=False)
    signature: bytes | None = field(default=None, repr=False)


def read_archive(data: bytes, name: str) -> ConnectorPackage | ArchivedAction:
    """Returns the connector or action in an archive; raises PackageError. `name` is only for messages."""
    try:
        members = _members(_decompressed(data))
        return _action(members) if ACTION_FILE in members else _connector(members)
    except _BadArchive as error:
        hint = "Ask its publisher for an aileron.tar.gz as `aileron-tui pin --pack` makes it."
        raise PackageError(f"cannot use the archive {name}", str(error), hint) from None


class _BadArchive(Exception):
    """What is wrong with an archive."""


def _connector(members: dict[str, bytes]) -> ConnectorPackage:
    if MODULE_FILE in members and _PROGRAM_FILE in members:
        raise _BadArchive(f"it contains both {MODULE_FILE} and {_PROGRAM_FILE}")
    binary = MODULE_FILE if MODULE_FILE in members else _PROGRAM_FILE
    if binary not in members and CONNECTOR_FILE not in members:
        raise _BadArchive(f"it contains neither a connector ({MODULE_FILE}) nor an action ({ACTION_FILE})")
    for required in (CONNECTOR_FILE, SIGNATURE_FILE):
        if required not in members:
            raise _BadArchive(f"{required} is missing")
    if binary not in members:
        raise _BadArchive(f"{MODULE_FILE} is missing")
    if not members[binary].startswith(WASM_START):
        raise _BadArchive(f"{binary} is not a WebAssembly module, and the gate runs nothing else")
    return ConnectorPackage(members[binary], members[CONNECTOR_FILE], members[SIGNATURE_FILE])


def _action(members: dict[str, bytes]) -> ArchivedAction:
    others = sorted(members.keys() - {ACTION_FILE, SIGNATURE_FILE})
    if others:
        raise _BadArchive(f"it contains {ACTION_FILE} and {others[0]}; a connector and an action are released apart")
    return ArchivedAction(members[ACTION_FILE], members.get(SIGNATURE_FILE))


def _decompressed(data: bytes) -> memoryview:
    """The content of exactly one gzip member, within limits on its size and on how much larger it may become."""
    if len(data) > LARGEST_ARCHIVE:
        raise _BadArchive(f"it has {len(data):,} bytes, but at most {LARGEST_ARCHIVE:,} are allowed")
    if not data.startswith(GZIP_START):
        raise _BadArchive("it is not compressed with gzip")
    stream = zlib.decompressobj(wbits=31)
    content = bytearray()
    rest = data
    try:
        while not stream.eof:
            part = stream.decompress(rest, _CHUNK)
            content += part
            if len(content) > _LARGEST_CONTENT:
                raise _BadArchive(f"it grows to more than {_LARGEST_CONTENT:,} bytes")
            if len(content) > max(_RATIO_STARTS, _RATIO * len(data)):
                raise _BadArchive(f"it grows to more than {_RATIO} times its size")
            rest = stream.unconsumed_tail
            if not part and not rest and not stream.eof:
                raise _BadArchive("it is cut off: the end of the gzip data is missing")
    except zlib.error:
        raise _BadArchive("its gzip data is damaged") from None
    if stream.unused_data:
        second = stream.unused_data.startswith(GZIP_START)
        raise _BadArchive("it has a second gzip part" if second else "there is something after its end")
    return memoryview(content).toreadonly()


def _members(content: memoryview) -> dict[str, bytes]:
    """The files of a tar by name. Folders, and headers that only describe a member further, are skipped."""
    members: dict[str, bytes] = {}
    at = count = 0
    while True:
        header = bytes(content[at : at + _BLOCK])
        if len(header) < _BLOCK:
            raise _BadArchive("it is cut off: the end of the tar is missing")
        at += _BLOCK
        if not any(header):
            _check_end(content[at:])
            return members
        count += 1
        if count > _MOST_MEMBERS:
            raise _BadArchive(f"it has more than {_MOST_MEMBERS} members")
        name, size, kind = _read_header(header)
        if size > len(content) - at:
            raise _BadArchive(f"{name} is cut off")
        _add(members, name, kind, content[at : at + size])
        at += -(-size // _BLOCK) * _BLOCK


def _add(members: dict[str, bytes], name: str, kind: bytes, body: memoryview) -> None:
    if kind in (b"x", b"g"):
        _check_records(body)
    elif kind == b"5":
        _check_folder(name, body)
    elif kind not in (b"0", b"\0"):
        raise _BadArchive(f"{name} is {_OTHER_TYPES.get(kind, 'not a plain file')}")
    else:
        plain = name.removeprefix("./")
        _check_name(name, plain)
        if plain in members:
            raise _BadArchive(f"it contains {plain} twice")
        if len(body) > _LIMITS[plain]:
            raise _BadArchive(f"{plain} has {len(body):,} bytes, but at most {_LIMITS[plain]:,} are allowed")
        members[plain] = bytes(body)


def _check_name(name: str, plain: str) -> None:
    if plain in _LIMITS:
        return
    if name.startswith("/"):
        raise _BadArchive(f"{name} is an absolute path")
    if ".." in plain.split("/"):
        raise _BadArchive(f"{name} points outside the archive")
    if "/" in plain:
        raise _BadArchive(f"{name} is in a folder, but all files must be at the top")
    raise _BadArchive(f"{name or 'a file without a name'} does not belong in it")


def _check_folder(name: str, body: memoryview) -> None:
    if name.startswith("/"):
        raise _BadArchive(f"{name} is an absolute path")
    if ".." in name.split("/"):
        raise _BadArchive(f"{name} points outside the archive")
    if len(body):
        raise _BadArchive(f"the folder {name} has content")


def _check_end(rest: memoryview) -> None:
    """After the first empty block there must be at least one more, and nothing else."""
    if len(rest) < _BLOCK:
        raise _BadArchive("it is cut off: the end of the tar is missing")
    if bytes(rest).lstrip(b"\0"):
        raise _BadArchive("there is something after the end of the tar")


def _check_records(body: memoryview) -> None:
    """Extended headers may say who made a file and when, but not that it is another file than its header says."""
    if len(body) > _LARGEST_RECORDS:
        raise _BadArchive("it has an extended header that is too long")
    rest = bytes(body)
    while rest:
        length, _, _ = rest.partition(b" ")
        if not (length.isdigit() and len(length) < 6 and len(length) + 2 < int(length) <= len(rest)):
            raise _BadArchive("it has an extended header that is damaged")
        record = rest[len(length) + 1 : int(length)]
        key, equals, _ = record.partition(b"=")
        if not equals or not record.endswith(b"\n"):
            raise _BadArchive("it has an extended header that is damaged")
        if key.startswith(_CHANGING_RECORDS):
            raise _BadArchive(f'it has an extended header that sets "{key.decode("latin-1")[:80]}"')
        rest = rest[int(length) :]


def _read_header(header: bytes) -> tuple[str, int, bytes]:
    """The name, size and type in a header whose checksum is right."""
    expected = sum(header) - sum(header[148:156]) + 8 * ord(" ")
    if _number(header[148:156]) != expected:
        raise _BadArchive("a header of the tar is damaged")
    name = header[:100].split(b"\0", 1)[0]
    if header[257:263] == b"ustar\0":
        prefix = header[345:500].split(b"\0", 1)[0]
        name = prefix + b"/" + name if prefix else name
    elif any(header[345:500]):
        raise _BadArchive("a header of the tar names a folder in a way that only some programs understand")
    return name.decode("utf-8", "replace"), _number(header[124:136]), header[156:157]


def _number(text: bytes) -> int:
    digits = text.strip(b" \0")
    if not digits or digits.strip(b"01234567"):
        raise _BadArchive("a header of the tar is damaged")
    return int(digits, 8)
