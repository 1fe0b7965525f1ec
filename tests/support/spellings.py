"""Spellings of a prompt that mean the same."""

import unicodedata

TYPED = {
    "capitals": str.upper,
    "a caption": lambda prompt: f"{prompt[:1].upper()}{prompt[1:]}.",
    "marks at the end": lambda prompt: f"{prompt} ...!?",
    "blanks": lambda prompt: "  " + prompt.replace(" ", "   ") + "\t",
    "line ends": lambda prompt: prompt.replace(" ", "\r\n") + "\n",
    "decomposed": lambda prompt: unicodedata.normalize("NFD", prompt),
    "full width": lambda prompt: prompt.replace("a", "\uff41").replace("!", "\uff01"),
}
