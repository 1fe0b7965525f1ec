"""Honest paraphrases of captions, made by rule: another order, synonyms, added detail."""

import re

SYNONYMS = {
    "couch": "sofa", "sofa": "couch", "bike": "bicycle", "bicycle": "bike", "photo": "photograph",
    "picture": "image", "sitting": "seated", "street": "road", "road": "street", "woman": "lady",
    "kid": "child", "child": "kid", "plane": "airplane", "airplane": "plane", "bathroom": "bath",
    "cellphone": "mobile", "tv": "television", "television": "tv", "refrigerator": "fridge",
    "fridge": "refrigerator", "motorcycle": "motorbike", "boat": "ship", "automobile": "car",
    "car": "automobile", "big": "large", "large": "big", "small": "little", "little": "small",
    "holding": "gripping", "eating": "consuming", "rides": "rides", "puppy": "puppy",
}  # fmt: skip
PHRASE = re.compile(r"^(.+?) ((?:on|in|at|near|with|under|behind|by) .+)$")


def in_another_order(caption):
    """Put the first phrase of place before the rest; None where there is none."""
    found = PHRASE.match(caption.rstrip(" ."))
    return f"{found[2]}, {found[1]}".casefold() if found else None


def in_other_words(caption):
    """Put synonyms in place of words; None where none is known."""
    words = caption.casefold().rstrip(" .").split()
    changed = [SYNONYMS.get(word, word) for word in words]
    return " ".join(changed) if changed != words else None


def in_more_detail(caption):
    """Add how the picture looks."""
    return f"a detailed photo of {caption.casefold().rstrip(' .')}, soft light, sharp focus"


PARAPHRASES = {
    "another order": in_another_order,
    "synonyms": in_other_words,
    "added detail": in_more_detail,
}
