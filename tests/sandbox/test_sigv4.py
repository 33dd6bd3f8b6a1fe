"""AWS signatures against the examples AWS publishes."""

import hashlib

import pytest

from aileron_tui.sandbox.network import UpstreamRequest
from aileron_tui.sandbox.network_grant import Url
from aileron_tui.sandbox.sigv4 import SigningScope, authorization

SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
DATE = ("X-Amz-Date", "20150830T123600Z")
EMPTY = hashlib.sha256(b"").hexdigest()


def signature(service: str, host: str, method: str, target: str, *headers: tuple[str, str]) -> str:
    request = UpstreamRequest(method, Url("https", host, 443, target), (("Host", host), DATE, *headers))
    return authorization(SigningScope("AKIDEXAMPLE", "us-east-1", service), SECRET, request, EMPTY)


def test_the_example_of_the_documentation() -> None:
    content = ("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
    found = signature("iam", "iam.amazonaws.com", "GET", "/?Action=ListUsers&Version=2010-05-08", content)
    assert found == (
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, "
        "SignedHeaders=content-type;host;x-amz-date, "
        "Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"
    )


@pytest.mark.parametrize(
    ("method", "target", "expected"),
    [
        ("GET", "/", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        ("POST", "/", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        (
            "GET",
            "/?Param2=value2&Param1=value1",
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
        ),
        ("GET", "/?Param1=value1", "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"),
    ],
)
def test_the_test_suite_of_aws(method: str, target: str, expected: str) -> None:
    assert signature("service", "example.amazonaws.com", method, target).endswith(f"Signature={expected}")


def test_headers_are_trimmed_sorted_and_signed() -> None:
    found = signature("service", "example.amazonaws.com", "GET", "/", ("My-Header1", " value2,value2,value1 "))
    assert found.endswith("Signature=c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea")


def test_the_example_of_s3_with_the_hash_of_the_body_as_a_header() -> None:
    host = "examplebucket.s3.amazonaws.com"
    headers = (
        ("Host", host),
        ("Range", "bytes=0-9"),
        ("X-Amz-Content-Sha256", EMPTY),
        ("X-Amz-Date", "20130524T000000Z"),
    )
    request = UpstreamRequest("GET", Url("https", host, 443, "/test.txt"), headers)
    scope = SigningScope("AKIAIOSFODNN7EXAMPLE", "us-east-1", "s3")
    found = authorization(scope, "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", request, EMPTY)
    assert found.endswith("Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
