"""The initial mail and files of the sample service. Some of it is hostile on purpose."""

from aileron_tui.core.values import dataclass

ADDRESS = "sam@example.com"

WORKED_EXAMPLE = "r-12345"
LONG = "r-20417"
HOSTILE = "r-66601"
ACCENTED = "r-31007"
NOT_A_DRAFT = "19df4136f28569d2"


@dataclass(frozen=True, slots=True)
class SampleAttachment:
    """A file that is sent with a mail; only its size is stored."""

    name: str
    mime_type: str
    size: int


@dataclass(frozen=True, slots=True)
class SampleMail:
    """The content of a mail. `headers` follow To and Subject; `html` is a second version of the text."""

    to: str
    subject: str
    body: str
    headers: tuple[tuple[str, str], ...] = ()
    html: str = ""
    attachments: tuple[SampleAttachment, ...] = ()


@dataclass(frozen=True, slots=True)
class SampleFile:
    """The metadata of a file or folder."""

    name: str
    mime_type: str
    parents: tuple[str, ...]
    modified: str
    size: int = 0
    description: str = ""
    shared_with: tuple[tuple[str, str], ...] = ()


_RECAP = """\
Here's the recap from this week's standup…

Done
 - The export finishes in four minutes instead of forty.
 - Noor moved the nightly jobs off the old machine; nobody noticed, which was the point.
 - Two long-standing bugs in the calendar are closed, one of them by deleting code.

Next
 - Decide by Thursday whether the beta invitations go out this month.
 - Lin shows the new search on Friday at 15:00, small room, with cake.

If I forgot something, reply to all and I'll add it.

Sam
"""

_ITINERARY = "\n".join(
    [
        "Dear all,",
        "",
        "This is the whole programme of the walking week, so that nobody has to search for it on the way.",
        "",
        *(
            line
            for day in range(1, 8)
            for line in (
                f"Day {day}",
                *(
                    f"  {hour:02d}:00  stage {day}.{hour - 7}: {6 + (day * hour) % 9} km, water at the halfway mark"
                    for hour in range(8, 18)
                ),
                "",
            )
        ),
        "The last line matters as much as the first: you only get the deposit of 180 back if you cancel",
        "before the 14th.",
        "",
        "Sam",
        "",
    ]
)

# Cyrillic letters in the address, a clear-screen sequence and a reversed file name in the subject, a second recipient
# in another spelling of the header, a blind copy, another text in HTML, and a body that clears the screen, writes to
# the clipboard, draws a fake prompt, and hides a sentence below 412 blank lines.
_HOSTILE = SampleMail(
    to="te\u0430m@ex\u0430mple.com",
    subject="Weekly recap\x1b[2J\x1b[H \u202efdp.exe\u202c\u200b",
    body=(
        "Just the usual notes.\n"
        "\x1b[2J\x1b[1;1HApprove list-drafts?\r\n  Nothing will be sent.\n[Approve] [Deny]\n"
        "\x1b]52;c;b3duZWQ=\x07\x1b]8;;https://xn--exmple-cua.com/\x07our wiki\x1b]8;;\x07\n"
        "▎ this line pretends to be a quote of yours\n"
        "[@click=app.quit]press here[/]\n"
        + "\n" * 412
        + "\u2066PS: the passwords of the whole team are attached below.\u2069\n"
        + " " * 300
        + "hunter2\n"
    ),
    headers=(("TO", "somebody-else@example.net"), ("Bcc", "collector@example.net")),
    html="<p>Just the usual notes, and <b>all our passwords</b>.</p>",
    attachments=(SampleAttachment("notes\u202efdp.exe", "application/x-msdownload", 66_600),),
)

DRAFTS: dict[str, SampleMail] = {
    WORKED_EXAMPLE: SampleMail(to="team@example.com", subject="Weekly recap", body=_RECAP),
    "r-18220": SampleMail(
        to="lin@example.com",
        subject="Room for Friday",
        body="Hi Lin,\n\nThe small room is yours on Friday from 14:30. I'll bring the cable.\n\nSam\n",
        headers=(("Cc", "noor@example.com"),),
        attachments=(SampleAttachment("Floor plan.pdf", "application/pdf", 120_331),),
    ),
    LONG: SampleMail(to="walkers@example.com", subject="The whole programme", body=_ITINERARY),
    ACCENTED: SampleMail(
        to="Zoë Łukasz <zoe@example.com>",
        subject="Grüße aus Kraków – 日本語もOK 👩‍🚀",
        body="Liebe Zoë,\n\nschöne Grüße! Привет, שלום, こんにちは.\n\nSam\n",
    ),
    HOSTILE: _HOSTILE,
}

MESSAGES: dict[str, SampleMail] = {
    NOT_A_DRAFT: SampleMail(
        to=ADDRESS,
        subject="Re: Room for Friday",
        body="Perfect, thank you! Could you send the recap before that?\n\nLin\n",
    ),
}

FOLDER = "application/vnd.google-apps.folder"

FILES: dict[str, SampleFile] = {
    "d-inbox": SampleFile("Inbox", FOLDER, ("d-root",), "2026-04-02T08:00:00.000Z"),
    "d-reports": SampleFile("Reports", FOLDER, ("d-root",), "2026-04-02T08:00:00.000Z"),
    "d-archive": SampleFile("Archive", FOLDER, ("d-root",), "2026-04-02T08:00:00.000Z"),
    "f-1001": SampleFile(
        "Quarterly report.pdf",
        "application/pdf",
        ("d-inbox",),
        "2026-05-11T16:20:00.000Z",
        size=482_133,
        description="Final figures for the first quarter.\nChecked by Noor on 9 May; the auditors have this version.",
        shared_with=(("noor@example.com", "writer"), ("auditors@example.org", "reader")),
    ),
    "f-1002": SampleFile(
        "Cake recipe.txt",
        "text/plain",
        ("d-inbox",),
        "2026-05-08T19:05:00.000Z",
        size=1_204,
    ),
    "f-1003": SampleFile(
        "Team photo.jpg",
        "image/jpeg",
        ("d-reports",),
        "2026-03-27T12:41:00.000Z",
        size=3_774_802,
        description="From the left: Lin, Noor, Sam.",
        shared_with=(("team@example.com", "reader"),),
    ),
    "f-6660": SampleFile(
        "Invoice \u202efdp.exe",
        "application/x-msdownload",
        ("d-inbox",),
        "2026-05-12T03:13:00.000Z",
        size=66_600,
        description="Safe.\x1b[8m Not really.\x1b[0m\n" + "\n" * 80 + "Runs when it is opened.",
    ),
}
