"""The places of what a chart draws; the templates draw it as SVG, in words beside it for others.

Across, all is in per cent of the width, so that a chart fits any screen and its words keep their
size; down, in pixels.
"""

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from pqpp_annotation.languages.language import Language

MOST_BARS = 60
_LEFT = 11  # per cent, for the figures beside columns


@dataclass(frozen=True)
class Mark:
    """A bar or a word.

    Attributes:
        x: From the left, per cent; `width` likewise.
        y: From the top, pixels; `height` likewise.
        text: What it says; shown when it is pointed at, or as the word itself.
        style: Of a word, its anchor: start, middle or end.
    """

    x: float
    y: float
    text: str
    width: float = 0.0
    height: float = 0.0
    style: str = ""


@dataclass(frozen=True)
class Chart:
    """A chart.

    Attributes:
        title: What it shows.
        description: What is seen on it, in a sentence.
        height: In pixels.
        bars: From a base line up, or from the left.
        words: Beside them.
        grid: Lines across.
    """

    title: str
    description: str
    height: float
    bars: list[Mark] = field(default_factory=list)
    words: list[Mark] = field(default_factory=list)
    grid: list[Mark] = field(default_factory=list)


def columns_chart(title: str, description: str, columns: Sequence[tuple[str, int]]) -> Chart:
    """Return an upright bar for each count; the first, the middle and the last one have words.

    Example:
        >>> chart = columns_chart("Votes", "Few.", [("Mon", 4), ("Tue", 8)])
        >>> [bar.height for bar in chart.bars]
        [70.0, 140.0]
    """
    low, high = 20.0, 160.0
    top = max((count for _, count in columns), default=0) or 1
    step = (100 - _LEFT) / max(len(columns), 8)  # a few do not fill the width
    bars, words = [], []
    for n, (name, count) in enumerate(columns):
        x, tall = round(_LEFT + n * step, 3), round((high - low) * count / top, 1)
        bars.append(Mark(x, high - tall, f"{name}: {count}", round(step * 0.76, 3), tall))
        if n in (0, len(columns) // 2, len(columns) - 1) and (n == 0 or len(columns) > 3):
            style = "end" if n == len(columns) - 1 else "start"
            words.append(
                Mark(x if style == "start" else x + step * 0.76, high + 18, name, style=style)
            )
    return Chart(title, description, high + 24, bars, words, [Mark(0, low, f"{top:g}")])


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
    return columns_chart(title, described, [(str(day), count) for day, count in days])


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
    return columns_chart(what[:1].upper() + what[1:], described, columns if people else [])


def labels_chart(labels: Sequence[tuple[str, int]], texts: Language) -> Chart:
    """Return a bar across for each label.

    Example:
        >>> labels_chart([("no", 1), ("yes", 3)], Language("en")).description
        'no: 25%, yes: 75%.'
    """
    total = sum(count for _, count in labels)
    shares = [(name, count, count / total) for name, count in labels]
    best = max(share for *_, share in shares)
    bars, words = [], []
    for n, (name, count, share) in enumerate(shares):
        y = n * 40.0
        words.append(Mark(0, y + 14, name, style="start"))
        words.append(Mark(100, y + 14, f"{count:,} ({share:.0%})", style="end"))
        bars.append(Mark(0, y + 20, f"{name}: {count}", round(100 * share / best, 2), 10))
    described = ", ".join(f"{name}: {share:.0%}" for name, _, share in shares)
    return Chart(texts.gettext("Labels"), f"{described}.", len(shares) * 40.0 + 2, bars, words)
