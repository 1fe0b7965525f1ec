"""Numbers, states and answers in words, for the owner's pages."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from pqpp_annotation.languages import gettext_noop
from pqpp_annotation.study.study import Study

STATE_WORDS = {
    "admitted": gettext_noop("used"),
    "refused": gettext_noop("not used"),
    "control": gettext_noop("control"),
    "waiting": gettext_noop("none yet"),
    "failed": gettext_noop("practice failed"),
    "withdrawn": gettext_noop("withdrawn"),
}


class LabelNames:
    """The words for a study's labels."""

    def __init__(self, study: Study):
        self._kind = study.kind
        self._names: dict[float, str] = {}
        if scale := study.kind.get_scale(study.task):
            from pqpp_datasets.own_benchmark.votes.scales import get_scale_by_name

            for word, value in get_scale_by_name(scale).words.items():
                if not word.lstrip("-").isdigit():
                    self._names.setdefault(float(value), word.capitalize())
        labels: Any = study.task.get("labels") or {}
        for label, word in dict(labels).items():
            self._names[float(label)] = str(word)

    def describe_label(self, label: float) -> str:
        """Return the word for a label, or the number if there is none."""
        return self._names.get(float(label), f"{label:g}")

    def describe_answer(self, value: Mapping[str, Any]) -> str:
        """Return an answer in words if it is a single choice, else as JSON."""
        if len(value) == 1:
            (choice,) = value.values()
            if isinstance(choice, str):
                return choice.capitalize()
            label = self._kind.get_label(value)
            if label is not None:
                return self.describe_label(label)
        return json.dumps(value, ensure_ascii=False)


def format_number(value: float | None, digits: int = 2) -> str:
    """Format a number with a fixed number of decimals; None and NaN become a dash.

    Example:
        >>> format_number(0.125), format_number(None), format_number(12.34, 1)
        ('0.12', '–', '12.3')
    """
    return "–" if value is None or value != value else f"{value:.{digits}f}"


def format_percent(value: float | None, gettext: Callable[[str], str] = str) -> str:
    """Format a share, 0 to 1, in percent; None and NaN become a dash.

    Example:
        >>> format_percent(0.985), format_percent(None)
        ('98%', '–')
    """
    return "–" if value is None or value != value else gettext("%.0f%%") % (100 * value)


def format_duration(days: float, gettext: Callable[[str], str] = str) -> str:
    """Format a duration in minutes, hours or days, whichever fits.

    Args:
        gettext: Translates the English text.

    Example:
        >>> format_duration(0.02), format_duration(0.5), format_duration(1.2), format_duration(12.4)
        ('29 min', '12 h', '29 h', '12 days')
    """
    if days * 24 < 1:
        return f"{max(1, days * 1440):.0f} min"
    if days < 2:
        return f"{days * 24:.0f} h"
    return gettext("%(count)s days") % {"count": f"{days:,.0f}"}
