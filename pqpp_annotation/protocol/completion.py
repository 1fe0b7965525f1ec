"""The completion code and URL for people who have finished or left."""

import secrets
from typing import NamedTuple
from urllib.parse import quote

from pqpp_annotation.store.people import save_recruiter_id
from pqpp_annotation.store.tables import Person
from pqpp_annotation.store.transactions import Store

PERSONAL = "personal"
CODE = "completion_code"


class FinalPage(NamedTuple):
    """The code and URL on the last page.

    Attributes:
        code: Code to enter on the recruiting site; None without one.
        url: URL of the recruiting site; None without one.
    """

    code: str | None
    url: str | None


def get_final_page(store: Store, person: Person, outcome: str = "complete") -> FinalPage:
    """Return the completion code and URL for a person.

    `completion: {code: personal}` in the study file gives each person a random code, which is
    stored with the ids of the recruiting site; any other code is the same for all. In the URL,
    `{code}` and names of ids, such as `{PROLIFIC_PID}`, are replaced with their values.

    Args:
        outcome: `complete`, `screened_out`, `quota_full` or `withdrawn`; the last three have no
            code and URL unless `completion` defines them. Other outcomes have none.

    Example:
        >>> from types import SimpleNamespace
        >>> from pqpp_annotation.study.study import parse_study
        >>> completion = {"code": "C0DE", "screened_out": {"code": "N0"}}
        >>> config = {"name": "mine", "kind": "rating", "completion": completion}
        >>> store = SimpleNamespace(study=parse_study(config))
        >>> outcomes = ("complete", "screened_out", "quota_full")
        >>> [get_final_page(store, Person(outside={}), outcome).code for outcome in outcomes]
        ['C0DE', 'N0', None]
    """
    completion = store.study.completion
    link = completion if outcome == "complete" else getattr(completion, outcome, None)
    if link is None:
        return FinalPage(None, None)
    code = link.code
    if code == PERSONAL:
        name = CODE if outcome == "complete" else f"{outcome}_{CODE}"
        code = person.outside.get(name)
        # If two pages are opened at once, both get the stored code.
        code = code or save_recruiter_id(store, person.id, name, secrets.token_hex(5).upper())
    return FinalPage(code or None, fill_url(link.url, {**person.outside, "code": code or ""}))


def fill_url(url: str | None, values: dict[str, object]) -> str | None:
    """Replace names in braces in a URL with their values, percent-encoded.

    Example:
        >>> fill_url("https://example.org/done?cc={code}&id={PROLIFIC_PID}", {"code": "A B"})
        'https://example.org/done?cc=A%20B&id={PROLIFIC_PID}'
    """
    if not url:
        return None
    for name, value in values.items():
        url = url.replace("{" + name + "}", quote(str(value), safe=""))
    return url
