"""Release archives: what is accepted, and a clear sentence for everything else."""

import gzip
import io
import os
import struct
import tarfile
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aileron_tui.packages.archive import ArchivedAction, read_archive
from aileron_tui.sandbox.connector_package import ConnectorPackage, PackageError
from tests.packages.made_packages import archive, packed

WASM = b"\0asm\x01\0\0\0"
CONNECTOR = {"connector.wasm": WASM, "manifest.toml": b"[connector]\n", "signature.sig": b"s" * 64}
BOTH = "it contains action.md and connector.wasm; a connector and an action are released apart"
NOT_WASM = "is not a WebAssembly module, and the gate runs nothing else"
ACTION = {"action.md": b"+++\n+++\n"}


def refusal(data: bytes) -> str:
    with pytest.raises(PackageError) as refused:
        read_archive(data, "aileron.tar.gz")
    assert refused.value.title == "cannot use the archive aileron.tar.gz"
    assert refused.value.hint
    return refused.value.detail


def member(name: str, data: bytes = b"x", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in fields.items():
        setattr(info, key, value)
    return info, data


def with_connector(*more: tuple[tarfile.TarInfo, bytes]) -> bytes:
    return packed([*(member(name, data) for name, data in CONNECTOR.items()), *more])


def tar(data: bytes) -> bytes:
    return gzip.decompress(data)


def test_a_connector_and_an_action_are_read() -> None:
    connector = read_archive(archive(CONNECTOR), "x")
    assert connector == ConnectorPackage(WASM, b"[connector]\n", b"s" * 64)
    assert read_archive(archive(ACTION), "x") == ArchivedAction(b"+++\n+++\n")
    signed = read_archive(archive({**ACTION, "signature.sig": b"s" * 64}), "x")
    assert signed == ArchivedAction(b"+++\n+++\n", b"s" * 64)


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_every_common_form_of_tar_is_read(form: int) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", format=form) as made:
        folder = tarfile.TarInfo("./")
        folder.type = tarfile.DIRTYPE
        made.addfile(folder)
        for name, data in CONNECTOR.items():
            info, _ = member(f"./{name}", data, mtime=1.5, uname="somebody")
            made.addfile(info, io.BytesIO(data))
    assert isinstance(read_archive(out.getvalue(), "x"), ConnectorPackage)


def test_a_folder_that_only_some_readers_see_is_refused() -> None:
    """GNU tar has other fields where POSIX has the folder of a file, but Python's reader takes them for one."""
    plain = bytearray(tar(archive(CONNECTOR)))
    assert plain[257:265] == b"ustar  \0"
    plain[345:348] = b"sub"
    plain[148:156] = b"%06o\0 " % (sum(plain[:148]) + sum(plain[156:512]) + 8 * ord(" "))
    with tarfile.open(fileobj=io.BytesIO(plain)) as other:
        assert other.getnames()[0] == "sub/connector.wasm"
    reason = "a header of the tar names a folder in a way that only some programs understand"
    assert refusal(gzip.compress(bytes(plain))) == reason


def test_a_module_may_have_the_other_name() -> None:
    files = {"connector.bin": WASM, **{name: CONNECTOR[name] for name in ("manifest.toml", "signature.sig")}}
    assert isinstance(read_archive(archive(files), "x"), ConnectorPackage)
    assert refusal(archive({**files, "connector.bin": b"\x7fELF"})) == (f"connector.bin {NOT_WASM}")


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({**CONNECTOR, "connector.bin": WASM}, "it contains both connector.wasm and connector.bin"),
        ({**CONNECTOR, "notes.txt": b""}, "notes.txt does not belong in it"),
        ({**CONNECTOR, "": b""}, "a file without a name does not belong in it"),
        ({**CONNECTOR, "CONNECTOR.WASM": WASM}, "CONNECTOR.WASM does not belong in it"),
        ({**CONNECTOR, "connector.wasm ": WASM}, "connector.wasm  does not belong in it"),
        ({**CONNECTOR, **ACTION}, BOTH),
        ({**CONNECTOR, "sub/manifest.toml": b""}, "sub/manifest.toml is in a folder, but all files must be at the top"),
        ({**CONNECTOR, "../manifest.toml": b""}, "../manifest.toml points outside the archive"),
        ({**CONNECTOR, "a/../manifest.toml": b""}, "a/../manifest.toml points outside the archive"),
        ({**CONNECTOR, "/etc/passwd": b""}, "/etc/passwd is an absolute path"),
        ({**CONNECTOR, "././manifest.toml": b""}, "././manifest.toml is in a folder, but all files must be at the top"),
        ({**CONNECTOR, "./signature.sig": b""}, "it contains signature.sig twice"),
        ({}, "it contains neither a connector (connector.wasm) nor an action (action.md)"),
        ({"signature.sig": b""}, "it contains neither a connector (connector.wasm) nor an action (action.md)"),
        ({**CONNECTOR, "connector.wasm": b"#!/bin/sh\n"}, f"connector.wasm {NOT_WASM}"),
        ({**CONNECTOR, "signature.sig": b"s" * 4097}, "signature.sig has 4,097 bytes, but at most 4,096 are allowed"),
    ],
)
def test_other_files_are_refused(files: dict[str, bytes], reason: str) -> None:
    assert refusal(archive(files)) == reason


@pytest.mark.parametrize("missing", CONNECTOR)
def test_a_missing_member_is_refused(missing: str) -> None:
    files = {name: data for name, data in CONNECTOR.items() if name != missing}
    assert refusal(archive(files)) == f"{missing} is missing"


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (tarfile.SYMTYPE, "a symbolic link"),
        (tarfile.LNKTYPE, "a hard link"),
        (tarfile.CHRTYPE, "a device"),
        (tarfile.BLKTYPE, "a device"),
        (tarfile.FIFOTYPE, "a named pipe"),
        (tarfile.CONTTYPE, "a contiguous file"),
        (tarfile.GNUTYPE_SPARSE, "a sparse file"),
        (b"M", "a part of a larger archive"),
        (b"Z", "not a plain file"),
    ],
)
def test_links_devices_and_sparse_files_are_refused(kind: bytes, reason: str) -> None:
    files = [member(name, data) for name, data in CONNECTOR.items() if name != "manifest.toml"]
    bad = member("manifest.toml", b"", type=kind, linkname="/etc/passwd")
    assert refusal(packed([*files, bad])) == f"manifest.toml is {reason}"


def test_long_names_are_refused_in_every_form() -> None:
    long = "x" * 200 + "/manifest.toml"
    assert refusal(with_connector(member(long))) == "././@LongLink is a long file name"
    for records in ({"path": "manifest.toml"}, {"GNU.sparse.name": "manifest.toml"}, {"size": "1"}):
        info, data = member("other")
        info.pax_headers = records
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.PAX_FORMAT) as made:
            made.addfile(info, io.BytesIO(data))
        key = next(iter(records))
        assert refusal(out.getvalue()) == f'it has an extended header that sets "{key}"'


@pytest.mark.parametrize(
    "records", [b"99 comment=x\n", b"comment=x\n", b"12 comment=", b"7 abcd\n", b"0 =\n", b"999999 a=b\n"]
)
def test_a_damaged_extended_header_is_refused(records: bytes) -> None:
    assert refusal(packed([member("h", records, type=tarfile.XHDTYPE)])) == "it has an extended header that is damaged"


def test_folders_outside_or_with_content_are_refused() -> None:
    assert refusal(with_connector(member("../x", b"", type=tarfile.DIRTYPE))) == "../x/ points outside the archive"
    assert refusal(with_connector(member("/x", b"", type=tarfile.DIRTYPE))) == "/x/ is an absolute path"
    assert refusal(with_connector(member("x", b"hidden", type=tarfile.DIRTYPE))) == "the folder x/ has content"


def test_too_many_members_are_refused() -> None:
    folders = (member(f"d{number}", b"", type=tarfile.DIRTYPE) for number in range(100_000))
    made = packed(folder for folder, _ in zip(folders, range(20), strict=False))
    assert refusal(made) == "it has more than 16 members"


def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    assert refusal(gzip.compress(bytes(32 * 1024 * 1024))) == "it grows to more than 100 times its size"
    stream = zlib.compressobj(1, wbits=31)
    zeros = bytes(1024 * 1024)
    huge = b"".join(stream.compress(os.urandom(16 * 1024) + zeros) for _ in range(80)) + stream.flush()
    assert refusal(huge) == "it grows to more than 76,546,048 bytes"
    assert (
        refusal(b"\x1f\x8b" + bytes(64 * 1024 * 1024)) == "it has 67,108,866 bytes, but at most 67,108,864 are allowed"
    )


def test_what_is_cut_off_or_continues_is_refused() -> None:
    whole = archive(CONNECTOR)
    assert refusal(whole[:-1]) == "it is cut off: the end of the gzip data is missing"
    assert refusal(whole[: len(whole) // 2]) == "it is cut off: the end of the gzip data is missing"
    assert refusal(whole + b"garbage") == "there is something after its end"
    assert refusal(whole + b"\0") == "there is something after its end"
    assert refusal(whole + archive(ACTION)) == "it has a second gzip part"
    damaged = bytearray(whole)
    damaged[-6] ^= 1  # its checksum
    assert refusal(bytes(damaged)) == "its gzip data is damaged"
    assert refusal(b"<html>") == "it is not compressed with gzip"
    assert refusal(b"") == "it is not compressed with gzip"
    assert refusal(gzip.compress(b"<html>")) == "it is cut off: the end of the tar is missing"


def test_what_is_hidden_in_or_after_the_tar_is_refused() -> None:
    plain = tar(archive(CONNECTOR))
    end = plain.index(b"\0" * 1024, 512 * 6)
    end += -end % 512
    assert refusal(gzip.compress(plain + tar(archive(ACTION)))) == "there is something after the end of the tar"
    assert refusal(gzip.compress(plain[:end])) == "it is cut off: the end of the tar is missing"
    assert refusal(gzip.compress(plain[: end + 512])) == "it is cut off: the end of the tar is missing"
    assert refusal(gzip.compress(plain[: end + 512] + b"x" * 512)) == "there is something after the end of the tar"
    assert refusal(gzip.compress(b"y" + plain[1:])) == "a header of the tar is damaged"


@pytest.mark.parametrize(
    "size", [b"77777777777\0", b"\x80" + struct.pack(">Q", 5).rjust(11, b"\0"), b"-0000000001\0", b"\xff" * 12]
)
def test_a_size_that_lies_is_refused(size: bytes) -> None:
    plain = bytearray(tar(archive(CONNECTOR)))
    plain[124:136] = size
    plain[148:156] = b" " * 8
    plain[148:156] = b"%06o\0 " % sum(plain[:512])
    assert refusal(gzip.compress(bytes(plain))) in ("connector.wasm is cut off", "a header of the tar is damaged")


def mutations(draw: Callable[[st.SearchStrategy[int]], int], data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(draw(st.integers(1, 3))):
        changed[draw(st.integers(0, len(changed) - 1))] = draw(st.integers(0, 255))
    return bytes(changed)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_change_of_bytes_gives_anything_but_a_package_or_a_sentence(data: st.DataObject) -> None:
    plain = mutations(data.draw, tar(archive(CONNECTOR))[:3072] + bytes(1024))
    try:
        assert isinstance(read_archive(gzip.compress(plain, 1), "x"), ConnectorPackage)
    except PackageError as error:
        assert error.detail  # noqa: PT017
