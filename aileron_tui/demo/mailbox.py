"""The sample service's mail: drafts and messages in memory, answered in the shape of the Gmail API."""

import base64
import binascii
import itertools
import threading
from collections.abc import Mapping

from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.values import dataclass
from aileron_tui.demo.sample_data import ADDRESS, DRAFTS, MESSAGES, SampleMail

_SNIPPET = 200
_DATE = "Tue, 12 May 2026 09:30:00 +0000"
_EPOCH_MS = "1778578200000"
_ENCODING_HEADERS = frozenset({"mime-version", "content-type", "content-transfer-encoding"})


class UnreadableMail(ValueError):
    """A message in a request is not a mail; the text says why."""


@dataclass(frozen=True, slots=True)
class Mail:
    """One stored message: its headers in order and its text."""

    id: str
    thread: str
    headers: tuple[tuple[str, str], ...]
    text: str

    def header(self, name: str) -> str:
        """The first header of that name, or nothing."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), "")

    def shape(self, labels: tuple[str, ...], form: str) -> JsonObject:
        """The message as upstream gives it: `minimal`, `metadata` (no text) or `full`."""
        data = self.text.encode()
        shape: JsonObject = {
            "id": self.id,
            "threadId": self.thread,
            "labelIds": list(labels),
            "snippet": " ".join(self.text.split())[:_SNIPPET],
            "internalDate": _EPOCH_MS,
            "sizeEstimate": len(data),
        }
        if form == "minimal":
            return shape
        body: JsonObject = {"size": len(data)}
        if form == "full":
            body["data"] = base64.urlsafe_b64encode(data).decode()
        shape["payload"] = {
            "partId": "",
            "mimeType": "text/plain",
            "filename": "",
            "headers": [{"name": name, "value": value} for name, value in self.headers],
            "body": body,
        }
        return shape


class Mailbox:
    """Drafts, and what was sent from here. Every method may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count(40_001)
        self._drafts = {id_: self._sample(mail) for id_, mail in DRAFTS.items()}
        self._received = {id_: self._sample(mail, id_) for id_, mail in MESSAGES.items()}
        self._sent: list[Mail] = []

    @property
    def sent(self) -> tuple[Mail, ...]:
        """Everything that left the mailbox, in order."""
        with self._lock:
            return tuple(self._sent)

    @property
    def drafts(self) -> Mapping[str, Mail]:
        """The drafts as they are now."""
        with self._lock:
            return dict(self._drafts)

    def list_drafts(self, limit: int) -> JsonObject:
        """The ids of the newest drafts."""
        with self._lock:
            entries: list[Json] = [
                {"id": id_, "message": {"id": mail.id, "threadId": mail.thread}}
                for id_, mail in reversed(self._drafts.items())
            ]
        return {"drafts": entries[:limit], "resultSizeEstimate": len(entries)}

    def get_draft(self, id_: str, form: str) -> JsonObject | None:
        """One draft."""
        with self._lock:
            mail = self._drafts.get(id_)
        return None if mail is None else {"id": id_, "message": mail.shape(("DRAFT",), form)}

    def create_draft(self, raw: str) -> JsonObject:
        """A new draft."""
        with self._lock:
            mail = self._read(raw)
            id_ = f"r-{next(self._numbers)}"
            self._drafts[id_] = mail
        return {"id": id_, "message": mail.shape(("DRAFT",), "minimal")}

    def update_draft(self, id_: str, raw: str) -> JsonObject | None:
        """The same draft with another message in it."""
        with self._lock:
            if id_ not in self._drafts:
                return None
            mail = self._drafts[id_] = self._read(raw, self._drafts[id_].thread)
        return {"id": id_, "message": mail.shape(("DRAFT",), "minimal")}

    def delete_draft(self, id_: str) -> bool:
        """Forget a draft; says whether there was one."""
        with self._lock:
            return self._drafts.pop(id_, None) is not None

    def send_draft(self, id_: str) -> JsonObject | None:
        """Send a draft, which is then a draft no longer."""
        with self._lock:
            mail = self._drafts.pop(id_, None)
            if mail is not None:
                self._sent.append(mail)
        return None if mail is None else mail.shape(("SENT",), "minimal")

    def send(self, raw: str) -> JsonObject:
        """Send a message that was never a draft."""
        with self._lock:
            mail = self._read(raw)
            self._sent.append(mail)
        return mail.shape(("SENT",), "minimal")

    def get_message(self, id_: str, form: str) -> JsonObject | None:
        """One message: received, sent, or the one inside a draft."""
        with self._lock:
            groups = (
                (self._received.values(), "INBOX"),
                (self._sent, "SENT"),
                (self._drafts.values(), "DRAFT"),
            )
            for mails, label in groups:
                for mail in mails:
                    if mail.id == id_:
                        return mail.shape((label,), form)
        return None

    def _identity(self) -> str:
        return f"19e{next(self._numbers):013x}"

    def _sample(self, sample: SampleMail, id_: str = "") -> Mail:
        headers = (("From", ADDRESS), ("To", sample.to), ("Subject", sample.subject), ("Date", _DATE))
        identity = id_ or self._identity()
        return Mail(identity, identity, headers, sample.body)

    def _read(self, raw: str, thread: str = "") -> Mail:
        """A message from its base64url text: headers, a blank line, and plain text in UTF-8."""
        try:
            text = base64.b64decode(raw + "=" * (-len(raw) % 4), altchars=b"-_", validate=True).decode()
        except (binascii.Error, UnicodeDecodeError, ValueError) as error:
            raise UnreadableMail("raw is not base64url of UTF-8 text") from error
        head, blank, body = text.partition("\r\n\r\n")
        pairs = [line.partition(": ") for line in head.split("\r\n")]
        if not blank or not all(colon and name.isascii() for name, colon, _ in pairs):
            raise UnreadableMail("raw is not a message of headers, a blank line and a text")
        headers = tuple((name, value) for name, _, value in pairs if name.lower() not in _ENCODING_HEADERS)
        if not any(name.lower() == "to" for name, _ in headers):
            raise UnreadableMail("Recipient address required")
        identity = self._identity()
        return Mail(identity, thread or identity, (("From", ADDRESS), *headers, ("Date", _DATE)), body)
