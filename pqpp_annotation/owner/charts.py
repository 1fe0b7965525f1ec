"""The charts of the owner's page, and what is seen on each in a sentence."""

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass

from pqpp_annotation.languages.language import Language

MOST_BARS = 60


@dataclass(frozen=True)
class Chart:
    """A bar for each count, which a template draws as SVG.

    Attributes:
        title: What it shows.
        description: What is seen on it, in a sentence.
        bars: Names and counts.
    """

    title: str
    description: str
    bars: Sequence[tuple[str, int]]


def days_chart(days: Sequence[tuple[datetime.date, int]], texts: Language) -> Chart:
    """Return columns of votes a day; of a week each where there are too many days.

    Example:
        >>> days_chart(
        ...     [(datetime.date(2026, 1, 1), 4), (datetime.date(2026, 1, 2), 8)], Language("en")
        ... ).description
        '12 votes in 2 days; most on 2026-01-02: 8.'
    """
    title, described = texts.gettext("Votes a day"), texts.gettext("No votes yet.")
    if days:
        described = texts.ngettext(
            "%(total)s votes in %(days)s day; most on %(best)s: %(most)s.",
            "%(total)s votes in %(days)s days; most on %(best)s: %(most)s.",
            len(days),
        )
    if len(days) > MOST_BARS:
        title = texts.gettext("Votes a week")
        described = texts.gettext(
            "%(total)s votes in %(days)s weeks; most in the week from %(best)s: %(most)s."
        )
        days = [
            (days[n][0], sum(count for _, count in days[n : n + 7])) for n in range(0, len(days), 7)
        ]
    best, most = max(days, key=lambda pair: pair[1], default=(None, 0))
    total = sum(count for _, count in days)
    described %= {"total": total, "days": len(days), "best": best, "most": most}
    return Chart(title, described, [(str(day), count) for day, count in days])


def kappa_chart(people: Sequence[tuple[float, bool]], what: str, texts: Language) -> Chart:
    """Return how many people agree how far, in steps of a tenth.

    Args:
        people: The agreement and whether the person is admitted, of each.
        what: What the agreement is.

    Example:
        >>> kappa_chart([(0.8, True), (0.1, False)], "kappa", Language("en")).description
        '2 people: kappa from 0.10 to 0.80; 1 admitted, 1 not.'
    """
    values = [value for value, _ in people]
    tenths = [min(math.floor(value * 10 + 1e-9), 9) for value in values]
    columns = [(f"{n / 10:.1f}", tenths.count(n)) for n in range(min([0, *tenths]), 10)]
    described = texts.gettext("Nobody yet.")
    if people:
        good = sum(admitted for _, admitted in people)
        described = texts.gettext(
            "%(count)s people: %(what)s from %(low)s to %(high)s; %(good)s admitted, %(bad)s not."
        ) % {
            "count": len(people),
            "what": what,
            "low": f"{min(values):.2f}",
            "high": f"{max(values):.2f}",
            "good": good,
            "bad": len(people) - good,
        }
    return Chart(what[:1].upper() + what[1:], described, columns if people else [])


def labels_chart(labels: Sequence[tuple[str, int]], texts: Language) -> Chart:
    """Return a bar for each label.

    Example:
        >>> labels_chart([("no", 1), ("yes", 3)], Language("en")).description
        'no: 25%, yes: 75%.'
    """
    total = sum(count for _, count in labels)
    described = ", ".join(f"{name}: {count / total:.0%}" for name, count in labels)
    return Chart(texts.gettext("Labels"), f"{described}.", labels)
