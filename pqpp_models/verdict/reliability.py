"""Prompts whose `alignment` is not predicted reliably: see `benchmarks/verdicts.md`."""

from typing import Any

from pqpp_backbones.prompt.prompt import Prompt
from pqpp_models.text.reading.known_words import KnownWords

_MOST_WORDS, _MOST_UNKNOWN, _SHORTEST_UNKNOWN = 30, 1, 4
_REASONS = {"language": "it is in {}", "garbled": "some words are garbled ({})"}
_REASONS |= {"unknown": "the word {} is unknown"}


def explain_no_verdict(predictor: Any, prompt: Prompt, out_of_domain: bool = False) -> str:
    """Explain why a prompt has no verdict; empty if it has one."""
    if out_of_domain and not prompt.content:
        return "it names nothing to show"
    if out_of_domain:
        known = getattr(predictor, "known_words", None)
        kind, _, what = (known.explain_unread(prompt.normalised) if known else "").partition(": ")
        return _REASONS.get(kind, predictor.domain_note).format(what)
    unknown = find_unknown_words(predictor, prompt)
    if prompt.is_tag_list:
        kind = "tag lists"
    elif len(prompt.content.split()) > _MOST_WORDS:
        kind = f"prompts of more than {_MOST_WORDS} words"
    elif len(unknown) > _MOST_UNKNOWN:
        kind = f"prompts with several unknown words ({', '.join(unknown[:3])})"
    else:
        return ""
    return f"predictions for {kind} are not reliable"


def find_unknown_words(predictor: Any, prompt: Prompt) -> list[str]:
    """Return the longer words of a prompt that are in no word list, such as misspelled ones."""
    known = getattr(predictor, "known_words", None)
    words = known.read(prompt.normalised).unknown if isinstance(known, KnownWords) else []
    return [word for word in words if len(word) >= _SHORTEST_UNKNOWN]
