"""The mail of the sample service: drafts and messages in memory, in the format of the Gmail API."""

import base64
import binascii
import itertools
import threading
from collections.abc import Mapping

from aileron_tui.core.jsontext import Json, JsonObject
from aileron_tui.core.values import dataclass
from aileron_tui.demo.sample_data import ADDRESS, DRAFTS, MESSAGES, SampleAttachment, SampleMail

_SNIPPET_LENGTH = 200
_DATE = "Tue, 12 May 2026 09:30:00 +0000"
_EPOCH_MS = "1778578200000"
_ENCODING_HEADERS = frozenset({"mime-version", "content-type", "content-transfer-encoding"})


class UnreadableMail(ValueError):
    """The message in a request is not a valid mail; the text says why."""


@dataclass(frozen=True, slots=True)
class Mail:
    """One stored message: its headers, in order, its text, and what is sent with it."""

    id: str
    thread: str
    headers: tuple[tuple[str, str], ...]
    text: str
    html: str = ""
    attachments: tuple[SampleAttachment, ...] = ()

    def header(self, name: str) -> str:
        """Returns the first header with this name, or an empty string."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), "")

    def to_json(self, labels: tuple[str, ...], format_: str) -> JsonObject:
        """Returns the message in one of the API's formats: `minimal`, `metadata` (without the text) or `full`."""
        result: JsonObject = {
            "id": self.id,
            "threadId": self.thread,
            "labelIds": list(labels),
            "snippet": " ".join(self.text.split())[:_SNIPPET_LENGTH],
            "internalDate": _EPOCH_MS,
            "sizeEstimate": len(self.text.encode()),
        }
        if format_ == "minimal":
            return result
        parts: list[Json] = [_text_part("text/plain", self.text, format_)]
        if self.html:
            parts.append(_text_part("text/html", self.html, format_))
        parts.extend(
            {
                "mimeType": file.mime_type,
                "filename": file.name,
                "body": {"attachmentId": f"attachment-{number}", "size": file.size},
            }
            for number, file in enumerate(self.attachments, 1)
        )
        content = _text_part("text/plain", self.text, format_) if len(parts) == 1 else _multipart(parts)
        headers: list[Json] = [{"name": name, "value": value} for name, value in self.headers]
        result["payload"] = {"partId": "", **content, "headers": headers}
        return result


def _text_part(mime_type: str, text: str, format_: str) -> JsonObject:
    data = text.encode()
    body: JsonObject = {"size": len(data)}
    if format_ == "full":
        body["data"] = base64.urlsafe_b64encode(data).decode()
    return {"mimeType": mime_type, "filename": "", "body": body}


def _multipart(parts: list[Json]) -> JsonObject:
    return {"mimeType": "multipart/mixed", "filename": "", "body": {"size": 0}, "parts": parts}


class Mailbox:
    """Drafts, received and sent mail. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count(40_001)
        self._drafts = {id_: self._from_sample(mail) for id_, mail in DRAFTS.items()}
        self._received = {id_: self._from_sample(mail, id_) for id_, mail in MESSAGES.items()}
        self._sent: list[Mail] = []

    @property
    def sent(self) -> tuple[Mail, ...]:
        """All sent mail, in order."""
        with self._lock:
            return tuple(self._sent)

    @property
    def drafts(self) -> Mapping[str, Mail]:
        """The current drafts."""
        with self._lock:
            return dict(self._drafts)

    def list_drafts(self, limit: int) -> JsonObject:
        """Lists the ids of the newest drafts."""
        with self._lock:
            entries: list[Json] = [
                {"id": id_, "message": {"id": mail.id, "threadId": mail.thread}}
                for id_, mail in reversed(self._drafts.items())
            ]
        return {"drafts": entries[:limit], "resultSizeEstimate": len(entries)}

    def get_draft(self, id_: str, format_: str) -> JsonObject | None:
        """Returns one draft."""
        with self._lock:
            mail = self._drafts.get(id_)
        return None if mail is None else {"id": id_, "message": mail.to_json(("DRAFT",), format_)}

    def create_draft(self, raw: str) -> JsonObject:
        """Creates a draft."""
        with self._lock:
            mail = self._parse(raw)
            id_ = f"r-{next(self._numbers)}"
            self._drafts[id_] = mail
        return {"id": id_, "message": mail.to_json(("DRAFT",), "minimal")}

    def update_draft(self, id_: str, raw: str) -> JsonObject | None:
        """Replaces the message of a draft."""
        with self._lock:
            if id_ not in self._drafts:
                return None
            mail = self._drafts[id_] = self._parse(raw, self._drafts[id_].thread)
        return {"id": id_, "message": mail.to_json(("DRAFT",), "minimal")}

    def delete_draft(self, id_: str) -> bool:
        """Deletes a draft; returns whether it existed."""
        with self._lock:
            return self._drafts.pop(id_, None) is not None

    def send_draft(self, id_: str) -> JsonObject | None:
        """Sends a draft and removes it from the drafts."""
        with self._lock:
            mail = self._drafts.pop(id_, None)
            if mail is not None:
                self._sent.append(mail)
        return None if mail is None else mail.to_json(("SENT",), "minimal")

    def send(self, raw: str) -> JsonObject:
        """Sends a message without a draft."""
        with self._lock:
            mail = self._parse(raw)
            self._sent.append(mail)
        return mail.to_json(("SENT",), "minimal")

    def get_message(self, id_: str, format_: str) -> JsonObject | None:
        """Returns one message: received, sent, or part of a draft."""
        with self._lock:
            groups = (
                (self._received.values(), "INBOX"),
                (self._sent, "SENT"),
                (self._drafts.values(), "DRAFT"),
            )
            for mails, label in groups:
                for mail in mails:
                    if mail.id == id_:
                        return mail.to_json((label,), format_)
        return None

    def _new_message_id(self) -> str:
        return f"19e{next(self._numbers):013x}"

    def _from_sample(self, sample: SampleMail, id_: str = "") -> Mail:
        given = (("From", ADDRESS), ("To", sample.to), ("Subject", sample.subject), *sample.headers)
        message_id = id_ or self._new_message_id()
        headers = (*given, ("Date", _DATE))
        return Mail(message_id, message_id, headers, sample.body, sample.html, sample.attachments)

    def _parse(self, raw: str, thread: str = "") -> Mail:
        """Parses a base64url message: headers, a blank line, and plain text in UTF-8."""
        try:
            text = base64.b64decode(raw + "=" * (-len(raw) % 4), altchars=b"-_", validate=True).decode()
        except (binascii.Error, UnicodeDecodeError, ValueError) as error:
            raise UnreadableMail("raw is not UTF-8 text in base64url") from error
        head, blank, body = text.partition("\r\n\r\n")
        pairs = [line.partition(": ") for line in head.split("\r\n")]
        if not blank or not all(colon and name.isascii() for name, colon, _ in pairs):
            raise UnreadableMail("raw is not a message (headers, a blank line, text)")
        headers = tuple((name, value) for name, _, value in pairs if name.lower() not in _ENCODING_HEADERS)
        if not any(name.lower() == "to" for name, _ in headers):
            raise UnreadableMail("Recipient address required")
        message_id = self._new_message_id()
        return Mail(message_id, thread or message_id, (("From", ADDRESS), *headers, ("Date", _DATE)), body)
