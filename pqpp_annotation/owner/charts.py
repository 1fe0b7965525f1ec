"""The places of what a chart draws; the templates draw it as SVG, in words beside it for others.

Across, all is in per cent of the width, so that a chart fits any screen and its words keep their
size; down, in pixels.
"""

import datetime
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from pqpp_annotation.languages.language import Language

MOST_BARS = 60
_LEFT = 11  # per cent, for the figures beside columns


@dataclass(frozen=True)
class Mark:
    """A bar, a dot or a word.

    Attributes:
        x: From the left, per cent; `width` likewise.
        y: From the top, pixels; `height` likewise.
        text: What it says; shown when it is pointed at, or as the word itself.
        style: Its class.
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
        dots: Of people.
        words: On the axes; `style` is the anchor: start, middle or end.
        grid: Lines across.
        rules: Upright lines that mean a bound.
    """

    title: str
    description: str
    height: float
    bars: list[Mark] = field(default_factory=list)
    dots: list[Mark] = field(default_factory=list)
    words: list[Mark] = field(default_factory=list)
    grid: list[Mark] = field(default_factory=list)
    rules: list[Mark] = field(default_factory=list)


def nice_top(value: float) -> float:
    """Return a round number that is not below a value.

    Example:
        >>> [nice_top(value) for value in (0, 3, 17, 130, 1001)]
        [1, 5, 20, 200, 2000]
    """
    if value <= 1:
        return 1
    size = 10 ** math.floor(math.log10(value))
    return next(int(step * size) for step in (1, 2, 5, 10) if step * size >= value)


def days_chart(days: Sequence[tuple[datetime.date, int]], texts: Language) -> Chart:
    """Return columns of votes a day; of a week each where there are too many days.

    Example:
        >>> chart = days_chart(
        ...     [(datetime.date(2026, 1, 1), 4), (datetime.date(2026, 1, 2), 8)], Language("en")
        ... )
        >>> chart.description
        '12 votes in 2 days; most on 2026-01-02: 8.'
        >>> [bar.height for bar in chart.bars]
        [56.0, 112.0]
    """
    total = sum(count for _, count in days)
    span = "day"
    if len(days) > MOST_BARS:
        span, weeks = "week", range(0, len(days), 7)
        days = [(days[n][0], sum(count for _, count in days[n : n + 7])) for n in weeks]
    best = max(days, key=lambda pair: pair[1], default=(None, 0))
    described = texts.gettext("No votes yet.")
    if days:
        described = texts.ngettext(
            "%(total)s votes in %(days)s day; most on %(best)s: %(most)s.",
            "%(total)s votes in %(days)s days; most on %(best)s: %(most)s.",
            len(days),
        )
        if span == "week":
            described = texts.gettext(
                "%(total)s votes in %(days)s weeks; most in the week from %(best)s: %(most)s."
            )
        described %= {"total": total, "days": len(days), "best": best[0], "most": best[1]}
    title = texts.gettext("Votes a day") if span == "day" else texts.gettext("Votes a week")
    top, low, high = nice_top(best[1]), 20.0, 160.0
    step = (100 - _LEFT) / max(len(days), 8)  # a few days do not fill the width
    bars, words = [], []
    for n, (day, count) in enumerate(days):
        x, tall = _LEFT + n * step + step * 0.12, (high - low) * count / top
        size = (round(step * 0.76, 3), round(tall, 1))
        bars.append(Mark(round(x, 3), round(high - tall, 1), f"{day}: {count}", *size))
    shown = sorted({0, len(days) // 2, len(days) - 1}) if days else []
    if len(days) < 8:
        shown = shown[:1] + shown[-1:] if len(days) > 3 else shown[:1]
    for n in shown:
        style = "end" if n == len(days) - 1 and len(days) > 7 else "middle"
        x = min(round(_LEFT + n * step + step / 2, 3), 100.0)
        if n == 0:
            x, style = _LEFT, "start"
        words.append(Mark(x, high + 18, f"{days[n][0]:%d %b}", style=style))
    grid = [Mark(0, low, f"{top:g}"), Mark(0, (low + high) / 2, f"{top / 2:g}")]
    return Chart(title, described, high + 24, bars=bars, words=words, grid=grid)


def kappa_chart(
    people: Sequence[tuple[str, float, bool]], bound: float, what: str, texts: Language
) -> Chart:
    """Return a dot for each person on a line of agreement, with the bound of admission.

    Args:
        people: The name, the agreement and whether the person is admitted, of each.
        bound: The least agreement of an admitted person; NaN for none.
        what: What the agreement is.

    Example:
        >>> people = [("a", 0.8, True), ("b", 0.1, False)]
        >>> kappa_chart(people, 0.41, "kappa", Language("en")).description
        '2 people: kappa from 0.10 to 0.80; 1 admitted, 1 not.'
    """
    values = [value for _, value, _ in people]
    least = min([-0.05, *values])
    low = max(-1.0, math.floor(least * 5) / 5)

    def place(value: float) -> float:
        return round(3 + 94 * (value - low) / (1 - low), 2)

    piles: Counter[int] = Counter()
    placed = []
    for name, value, admitted in sorted(people, key=lambda person: (person[1], person[0])):
        pile = round(place(value) / 2.5)
        piles[pile] += 1
        style = "good" if admitted else "bad"
        placed.append((place(value), piles[pile] * 16.0, f"{name}: {value:.2f}", style))
    base = max([4, *piles.values()]) * 16.0 + 22
    dots = [Mark(x, base - y, text, style=style) for x, y, text, style in placed]
    steps = [low + n / 5 for n in range(round((1 - low) * 5) + 1)]
    if len(steps) > 6:
        steps = steps[::2] if (len(steps) - 1) % 2 == 0 else [low, *steps[1::2]]
    words = [Mark(place(step), base + 18, f"{step:.1f}", style="middle") for step in steps]
    rules = (
        []
        if bound != bound
        else [
            Mark(
                place(bound),
                4,
                texts.gettext("least %(bound)s") % {"bound": f"{bound:g}"},
                height=base - 4,
            )
        ]
    )
    good = sum(admitted for *_, admitted in people)
    described = texts.gettext("Nobody yet.")
    if people:
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
    grid = [Mark(0, base, "")]
    return Chart(what[:1].upper() + what[1:], described, base + 26, [], dots, words, grid, rules)


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
    return Chart(
        texts.gettext("Labels"), f"{described}.", len(shares) * 40.0 + 2, bars=bars, words=words
    )
