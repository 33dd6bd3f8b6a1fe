"""The secret of an account: a JSON document that appears in no output.

oauth2     kind, access_token, refresh_token, expires_at, token_type, client_id, token_url, scopes
api_key    kind, key
aws_sigv4  kind, access_key_id, secret_access_key, session_token?, region?
"""

from typing import Final, NoReturn

from aileron_tui.accounts.errors import StoreFault
from aileron_tui.core.jsontext import JsonError, JsonLimits, JsonObject, canonical, read_object

LARGEST_DOCUMENT: Final = 64 * 1024
"""How many bytes a document may have; tokens with many claims have a few thousand."""

ENDED: Final = "ended"
"""The field that says why the provider no longer accepts what is stored."""

_LIMITS: Final = JsonLimits(size=LARGEST_DOCUMENT, depth=4, count=2000)


class SecretDocument:
    """Fields that only `reveal` returns."""

    __slots__ = ("_data",)

    def __init__(self, fields: JsonObject) -> None:
        self._data = canonical(fields)
        if len(self._data) > LARGEST_DOCUMENT:
            raise StoreFault("the secret is too large", f"at most {LARGEST_DOCUMENT:,} bytes are allowed")

    @classmethod
    def decode(cls, data: bytes) -> "SecretDocument":
        """The document in stored bytes. Raises StoreFault, which does not repeat them."""
        try:
            return cls(read_object(data, _LIMITS))
        except JsonError:
            raise StoreFault("the stored secret is damaged", hint="Bind the account again.") from None

    def reveal(self) -> JsonObject:
        """The fields themselves."""
        return read_object(self._data, _LIMITS)

    def encode(self) -> bytes:
        """The bytes to store."""
        return self._data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SecretDocument) and other._data == self._data

    __hash__ = None  # type: ignore[assignment]  # nobody looks up a secret

    def __repr__(self) -> str:
        return "SecretDocument(hidden)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("secrets cannot be pickled")
