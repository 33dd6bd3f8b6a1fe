"""What is ordinary in hosts: the letters of languages that use the Latin script, and names that are often imitated."""

import re
from functools import cache
from typing import Final

# The letters beyond a to z of each language; one line may cover several languages.
_ALPHABETS: Final = (
    "äöüß",  # German, Estonian, Finnish
    "äöåéüæøáðóšž",  # Scandinavian languages, Sami in part
    "áðéíóúýþæöø",  # Icelandic, Faroese
    "àâæçéèêëîïôœùûüÿ",  # French
    "áéíóúüñçàèòï·",  # Spanish, Catalan, Galician, Basque
    "áâãàçéêíóôõúü",  # Portuguese
    "àèéìíîòóùú",  # Italian
    "ąćęłńóśźż",  # Polish
    "áčďéěíňóřšťúůýžäĺľŕô",  # Czech, Slovak
    "áéíóöőúüű",  # Hungarian
    "ăâîșțşţ",  # Romanian
    "čćđšžáéíóúâ",  # Croatian, Bosnian, Slovene, Serbian
    "ąčęėįšųūž",  # Lithuanian
    "āčēģīķļņōŗšūž",  # Latvian
    "äõöüšž",  # Estonian
    "çğıöşüâîûİ",  # Turkish
    "çəğıöşüäňýž",  # Azerbaijani, Turkmen
    "çë",  # Albanian
    "ċġħż",  # Maltese
    "âêîôûŵŷáéíóúàèìòùäëïöüẃẁẅỳÿý",  # Welsh, Irish, Gaelic
    "áčđŋšŧž",  # Northern Sami
    "ĉĝĥĵŝŭ",  # Esperanto
    "áéëèêëïíîóôöúûü",  # Dutch, Afrikaans, Luxembourgish
    "çêîşû",  # Kurdish
    "āēīōū",  # Maori, Hawaiian
    "áéíóúñ",  # Filipino, Guarani in part
    "ãẽĩñõũỹáéíóúý",  # Guarani
    "ɓɗƙƴ",  # Hausa
    "ŋéóɛɔ",  # Ewe, Akan, Lingala
)
_VIETNAMESE: Final = "àáâãèéêìíòóôõùúýăđĩũơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ"
_WEST_AFRICAN: Final = "áàéèíìóòúùẹọṣịụṅńǹ"
_SYLLABLES: Final = (
    r"(?:(?:ngh|ng|nh|gh|gi|kh|ph|th|tr|ch|qu|[bcdghklmnpqrstvx])?[aeiouy]{1,3}(?:ch|ng|nh|[cmnpt])?){1,20}"
)
_VIETNAMESE_BASES: Final = str.maketrans(
    _VIETNAMESE, "aaaaeeeiioooouuyadiuouaaaaaaaaaaaaeeeeeeeeiioooooooooooouuuuuuuyyyy"
)

_OFTEN_IMITATED: Final = """
    accenture adobe airbnb alibaba aliexpress allegro amazon amazonaws americanexpress anthropic apple atlassian
    authorize azure baidu bankofamerica barclays binance bitbucket blockchain booking capitalone chase chatgpt cisco
    citibank claude cloudflare coinbase comcast commerzbank coursera craigslist crowdstrike datadog deutschebank dhl
    digitalocean discord disney docker docusign dropbox duckduckgo ebay epicgames etsy evernote expedia facebook fedex
    fidelity figma firefox flickr gitlab github gmail godaddy google googlemail googleapis gov grafana heroku hotmail
    hsbc hubspot huggingface icloud ikea imgur indeed instagram intel intuit jpmorgan kraken kubernetes linkedin
    mailchimp mastercard mcafee medium mercadolibre messenger metamask microsoft microsoftonline mozilla myspace
    netflix netlify nintendo norton notion nvidia office office365 okta onedrive openai oracle outlook paypal payoneer
    pinterest playstation postbank protonmail proton python quora rakuten reddit revolut robinhood roblox safari
    salesforce samsung santander sendgrid sentry sharepoint shopify signal skype slack snapchat soundcloud sparkasse
    spotify squareup stackoverflow steam steamcommunity steampowered stripe swisscom telegram tencent tesla tiktok
    trello tripadvisor tumblr twilio twitch twitter uber unicredit vercel verizon vimeo visa vodafone volksbank
    walmart wechat wellsfargo whatsapp wikipedia windows wordpress yahoo yandex youtube zalando zendesk zoom
"""


@cache
def often_imitated() -> frozenset[str]:
    """Names of hosts, without their top-level domain, that attackers like to imitate."""
    return frozenset(_OFTEN_IMITATED.split())


@cache
def _alphabets() -> tuple[frozenset[str], ...]:
    return tuple(map(frozenset, (*_ALPHABETS, _VIETNAMESE, _WEST_AFRICAN)))


@cache
def ordinary_letters() -> frozenset[str]:
    """The Latin letters outside ASCII that some language uses."""
    return frozenset().union(*_alphabets())


def is_ordinary_word(word: str, top_level: str) -> bool:
    """Whether the Latin letters of a lowercase word belong to one language.

    Letters with a dot below are easily missed, so a word with Vietnamese letters must also be made of Vietnamese
    syllables, unless its top-level domain is Vietnamese.
    """
    if is_ordinary_name(word, top_level):
        return True
    letters = _letters(word)
    if letters <= _alphabets()[-2]:
        return bool(re.fullmatch(_SYLLABLES, word[:60].translate(_VIETNAMESE_BASES)))
    return False


def is_ordinary_name(name: str, top_level: str) -> bool:
    """The same for a name before an @, beside which no `xn--` form is shown.

    Letters with a dot below are ordinary only under the top-level domains of countries that use them.
    """
    letters = _letters(name)
    if any(letters <= alphabet for alphabet in _alphabets()[:-2]):
        return True
    if letters <= _alphabets()[-2] and top_level == "vn":
        return True
    return letters <= _alphabets()[-1] and top_level in ("ng", "bj")


def _letters(word: str) -> set[str]:
    return {letter for letter in word if not letter.isascii() and letter.isalpha()}
