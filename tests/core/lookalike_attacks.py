"""Generated imitations of known hosts, by family."""

from collections.abc import Iterator

HOSTS = (
    "paypal.com google.com apple.com microsoft.com amazon.com github.com gitlab.com facebook.com netflix.com "
    "dropbox.com linkedin.com twitter.com instagram.com whatsapp.com openai.com anthropic.com slack.com stripe.com "
    "coinbase.com binance.com cloudflare.com adobe.com oracle.com salesforce.com spotify.com wikipedia.org gmail.com "
    "mozilla.org outlook.com icloud.com atlassian.com yahoo.com zoom.us docusign.com office.com walmart.com "
    "santander.com barclays.co.uk"
)
# Hosts that the program has no list of.
OTHER_HOSTS = (
    "kestrel-law.com meadowbank.co.uk corp.example fairwind.io lumen-dental.com bolderlogistics.net cedarclinic.org "
    "oakridge-school.edu silvermine.com wildcraft.dev maplecredit.ca northwind.com"
)
CYRILLIC = dict(zip("aceopxyisjhldqwb", "асеорхуіѕјһӏԁԛԝЬ", strict=True))
GREEK = {"a": "α", "o": "ο", "v": "ν", "p": "ρ", "i": "ι", "u": "υ", "k": "κ"}
ONE_LETTER = {
    "Cyrillic letter": CYRILLIC,
    "Greek letter": GREEK,
    "Armenian letter": {"o": "օ", "n": "ո", "u": "ս", "h": "հ", "g": "ց", "q": "զ"},
    "Cherokee letter": {"a": "Ꭺ", "e": "Ꭼ", "w": "Ꮃ", "d": "Ꭰ", "t": "Ꭲ", "s": "Ꮪ", "p": "Ꮲ"},
    "dot below": {"a": "ạ", "e": "ẹ", "i": "ị", "o": "ọ", "l": "ḷ", "m": "ṃ", "t": "ṭ", "s": "ṣ", "k": "ḳ"},
    "dot above": {"e": "ė", "g": "ġ", "c": "ċ", "z": "ż", "a": "ȧ", "m": "ṁ", "p": "ṗ", "t": "ṫ"},
    "accent": {"a": "á", "e": "é", "i": "í", "o": "ö", "u": "ü", "n": "ñ", "c": "ç", "s": "š", "l": "ĺ"},
    "hook or stroke": {"g": "ɠ", "b": "ƀ", "d": "đ", "l": "ł", "o": "ø", "t": "ŧ", "p": "ƥ", "k": "ƙ", "h": "ħ"},
    "small capital": {"a": "ᴀ", "b": "ʙ", "e": "ᴇ", "g": "ɢ", "l": "ʟ", "m": "ᴍ", "n": "ɴ", "p": "ᴘ", "s": "ꜱ"},
    "other Latin letter": {"a": "ɑ", "g": "ɡ", "b": "ƅ", "i": "ı", "l": "ɩ", "y": "ʏ", "v": "ʋ", "u": "ʊ"},
    "letter of another script": {"o": "ഠ", "l": "ا", "s": "ꮪ", "n": "ռ", "u": "ᑌ"},
    "digit of another script": {"o": "٠", "l": "١", "i": "۱"},
    "ASCII digit": {"o": "0", "l": "1"},
    "ASCII pair": {"m": "rn", "w": "vv", "d": "cl"},
    "capital": {"l": "I"},
}  # fmt: skip
AFTER_A_LETTER = {
    "overlay": "\u0335\u0336\u0337\u0338",
    "mark": "\u0307\u0323\u0331\u0308\u030a",
    "invisible": "\u200b\u200c\u200d\u2060\u00ad\u034f\ufe0f\u3164",
}
WHOLE = {"mathematical": (0x1D41A, 0x1D44E, 0x1D5BA, 0x1D68A), "full width": (0xFF41,)}


def attacks(hosts: str = HOSTS) -> Iterator[tuple[str, str]]:
    """Pairs of a family and a host that imitates one of these."""
    for host in hosts.split():
        name, _, rest = host.partition(".")
        for family, letters in ONE_LETTER.items():
            for place, letter in enumerate(name):
                if letter in letters:
                    yield family, f"{name[:place]}{letters[letter]}{name[place + 1 :]}.{rest}"
        for family, marks in AFTER_A_LETTER.items():
            for number, mark in enumerate(marks):
                place = number % (len(name) - 1) + 1
                yield family, f"{name[:place]}{mark}{name[place:]}.{rest}"
        for family, starts in WHOLE.items():
            for start in starts:
                yield family, f"{_moved(name, start)}.{rest}"
        if all(letter in CYRILLIC for letter in name):
            yield "whole name in Cyrillic", f"{''.join(CYRILLIC[letter] for letter in name)}.{rest}"
        yield "right-to-left label", f"{name}.{'מ' * 3}.{rest}"
        yield "slash", f"{host}\u2044login.evil.example"
        yield "user before the host", f"x https://{host}@evil.example"


def _moved(name: str, start: int) -> str:
    """The name in letters of the alphabet that begins here. The italic h is elsewhere."""
    moved = "".join(chr(start + ord(letter) - ord("a")) if letter.isalpha() else letter for letter in name)
    return moved.replace("\U0001d455", "\u210e")
