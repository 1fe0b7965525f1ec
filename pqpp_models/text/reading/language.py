"""In which language a prompt is: by its script, or by the small words that hold it together."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

from pqpp_backbones.prompt.quoted import QUOTED

_SCRIPTS = {
    "HIRAGANA": "Japanese", "KATAKANA": "Japanese", "HANGUL": "Korean", "CJK": "Chinese",
    "CYRILLIC": "Russian or a language near it", "ARABIC": "Arabic or a language in its script",
    "DEVANAGARI": "Hindi or a language in its script", "BENGALI": "Bengali", "THAI": "Thai",
    "HEBREW": "Hebrew", "GREEK": "Greek", "TAMIL": "Tamil", "TELUGU": "Telugu",
}  # fmt: skip
# Articles, prepositions, pronouns and forms of "to be", less what is an English word too.
_FUNCTION_WORDS = """
German: der das ein eine einer eines einem einen und mit auf ist sind im vom zum zur für nicht über
 unter vor neben hinter zwischen auch sich aus bei zwei drei vier am dem den wird sitzt steht
French: le les des du une un et dans sur avec pour qui au aux ce cette ses est sont à sous près deux
 trois quatre devant derrière entre par en la il elle leur son sa plusieurs chez
Spanish: el los las una un unos unas y con por para en del al su sobre dos tres cuatro junto entre
 bajo está están que de la es cerca detrás delante lleno
Portuguese: o os um uma uns umas e com por para em no na nos nas do da dos das ao sobre dois duas
 três quatro está estão que de perto entre sob num numa
Italian: il lo gli un uno una e con per su in di della del dello dei delle nel nella sul sulla al
 alla due tre quattro sono che tra fra sopra sotto vicino degli
Dutch: het een en met op voor naar van bij zijn niet aan uit twee drie vier onder naast tussen de te
Polish: w na z i do się jest są oraz przy pod nad przed obok dwa dwie trzy cztery ze po
Turkish: bir ve ile bu için üzerinde altında yanında içinde iki üç dört olan çok
Indonesian: di yang dan dengan untuk dari ke pada sebuah seekor seorang dua tiga empat sedang atas
Swedish: och en ett med som av på är till för två tre fyra under bredvid framför det att i
Vietnamese: một và của trên với cho các là những trong có hai ba bốn đang
"""
_LANGUAGES = {
    name: frozenset(words.split())
    for name, _, words in (
        line.partition(":") for line in _FUNCTION_WORDS.strip().replace("\n ", " ").split("\n")
    )
}
_ENGLISH_WORDS = (
    "a an the of on in with and at to is are by for from it its his her their this that as up out "
    "some while there into has have no not under over near behind two three four"
)
_ENGLISH = frozenset(_ENGLISH_WORDS.split())
_LETTERS = {
    "ß": "German", "ä": "German", "ö": "German", "ü": "German", "ñ": "Spanish", "¿": "Spanish",
    "í": "Spanish", "ó": "Spanish", "œ": "French", "è": "French", "ê": "French", "ù": "French",
    "ã": "Portuguese", "õ": "Portuguese", "ł": "Polish", "ż": "Polish", "ś": "Polish",
    "ğ": "Turkish", "ş": "Turkish", "ı": "Turkish", "å": "Swedish", "ơ": "Vietnamese",
    "ư": "Vietnamese", "đ": "Vietnamese",
}  # fmt: skip
_WORD = re.compile(r"[^\W\d_]+")
_CODES = {
    "English": "en", "German": "de", "French": "fr", "Spanish": "es", "Portuguese": "pt",
    "Italian": "it", "Dutch": "nl", "Polish": "pl", "Turkish": "tr", "Indonesian": "id",
    "Swedish": "sv", "Vietnamese": "vi", "Japanese": "ja", "Korean": "ko", "Chinese": "zh",
    "Bengali": "bn", "Thai": "th", "Hebrew": "he", "Greek": "el", "Tamil": "ta", "Telugu": "te",
}  # fmt: skip
_MOST_LETTERS, _READ, _ONE_IN = 300, 1000, 50
_HINT, _VOWEL, _ENOUGH = 0.5, 0.2, 1.5


def language_of(text: str, is_english: bool = False) -> str | None:
    """Return the language of a text in another one than English, None where it is not known.

    Scripts tell themselves. In Latin letters, function words and letters of a language must be
    more than those of English; texts in quotation marks don't count, since they are to be drawn.

    Args:
        text: the text.
        is_english: whether most of its words are English ones; then Latin letters tell nothing.

    >>> [language_of(text) for text in ("ein Hund auf dem Sofa", "沙发上的狗", "a dog on the sofa")]
    ['German', 'Chinese', None]
    """
    bare = QUOTED.sub(" ", text).lower() or text.lower()
    if is_english and bare.isascii():
        return None
    letters = [letter for letter in bare[:_MOST_LETTERS] if letter.isalpha()]
    scripts = Counter(unicodedata.name(letter, "?").split()[0].split("-")[0] for letter in letters)
    foreign = {name: n for name, n in scripts.items() if name in _SCRIPTS}
    if 2 * sum(foreign.values()) > len(letters):
        # Japanese is written in Chinese characters too.
        kana = [name for name in ("HIRAGANA", "KATAKANA") if name in foreign]
        return _SCRIPTS[kana[0] if kana else max(foreign, key=lambda name: foreign[name])]
    if is_english:
        return None
    words = Counter(_WORD.findall(bare))
    hints = Counter(_LETTERS[letter] for letter in set(letters) & set(_LETTERS))
    points = {
        name: sum(words[word] for word in known) + _HINT * hints[name]
        for name, known in _LANGUAGES.items()
    }
    # French shares its smallest words with its kin, whose nouns end in vowels.
    endings = sum(words[word] for word in words if len(word) > 3 and word[-1] in "ao")
    for name in ("Spanish", "Portuguese", "Italian"):
        points[name] += _VOWEL * endings if points[name] else 0
    best = max(points, key=lambda name: points[name])
    english = sum(words[word] for word in _ENGLISH)
    is_short = sum(words.values()) <= 4
    return best if points[best] > english and points[best] >= (1 if is_short else _ENOUGH) else None


def language_codes(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the codes of ISO 639-1 of the languages that texts are in, the commonest first.

    Told is what one in fifty of a thousand texts is in; nothing where that is a language without a
    code here, or none that is known.

    >>> language_codes(["a dog on the sofa", "ein Hund auf dem Sofa", "a cat", "red"])
    ('en', 'de')
    """
    read = texts[:: -(-len(texts) // _READ)] if texts else ()
    names = Counter(
        language_of(text) or ("English" if _ENGLISH & {*_WORD.findall(text.lower())} else "")
        for text in read
    )
    del names[""]
    common = [name for name, n in names.most_common() if n * _ONE_IN >= len(read)]
    return tuple(_CODES[name] for name in common) if _CODES.keys() >= {*common} else ()
