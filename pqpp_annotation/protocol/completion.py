"""What a person who has finished shows to the recruiting site: a code, and the address to go to."""

import secrets
from dataclasses import dataclass
from urllib.parse import quote

from pqpp_annotation.store.people import save_outside_ids
from pqpp_annotation.store.tables import Person
from pqpp_annotation.store.transactions import Store

PERSONAL = "personal"
CODE = "completion_code"
WAYS_OUT = ("complete", "screened_out", "quota_full", "withdrawn")


@dataclass(frozen=True)
class FinalPage:
    """What is shown at the end; either may be None.

    Attributes:
        code: Code to type at the recruiting site.
        url: Address of the recruiting site.
    """

    code: str | None
    url: str | None


def get_finish(store: Store, person: Person, way: str = "complete") -> FinalPage:
    """Return the final page's content for a person.

    `completion: {code: personal}` in the study file gives each person a random code of the own,
    which is kept with the person's outside ids and is in the payment file; any other code is that
    for all. In the address, `{code}` and the names of outside ids, like `{PROLIFIC_PID}`, are
    replaced by their values.

    Args:
        way: `complete`, or another way out that `completion` names: `screened_out`, `quota_full` or
            `withdrawn`; these have neither unless they define a code and an address.

    Example:
        >>> from types import SimpleNamespace
        >>> from pqpp_annotation.study.study import parse_study
        >>> completion = {"code": "C0DE", "screened_out": {"code": "N0"}}
        >>> given = {"name": "mine", "kind": "rating", "completion": completion}
        >>> store = SimpleNamespace(study=parse_study(given))
        >>> [get_finish(store, Person(outside={}), way).code for way in WAYS_OUT]
        ['C0DE', 'N0', None, None]
    """
    ways = store.study.completion
    rule = ways if ways is None or way == "complete" else getattr(ways, way)
    if rule is None:
        return FinalPage(None, None)
    code = rule.code
    if code == PERSONAL:
        name = CODE if way == "complete" else f"{way}_{CODE}"
        code = person.outside.get(name)
        # Two pages may ask at once; what the person is shown is what is paid by.
        code = code or save_outside_ids(store, person.id, name, secrets.token_hex(5).upper())
    return FinalPage(code or None, fill_address(rule.url, {**person.outside, "code": code or ""}))


def fill_address(url: str | None, values: dict[str, object]) -> str | None:
    """Return an address with what is in braces filled in, each value quoted.

    Example:
        >>> fill_address("https://example.org/done?cc={code}&id={PROLIFIC_PID}", {"code": "A B"})
        'https://example.org/done?cc=A%20B&id={PROLIFIC_PID}'
    """
    if not url:
        return None
    for name, value in values.items():
        url = url.replace("{" + name + "}", quote(str(value), safe=""))
    return url
