"""Half the width of an interval, from the influence of each pair or item on a measure."""

import math

import scipy.stats


def compute_t_interval(influences, confidence=0.95):
    """Half the width by Student's t with the spread's degrees of freedom, at least 8."""
    n = len(influences)
    deviation = influences.std()
    kurtosis = ((influences - influences.mean()) ** 4).mean() / deviation**4
    freedom = min(n - 1, max(8, 2 * n / (kurtosis - 1)))
    return scipy.stats.t.ppf((1 + confidence) / 2, freedom) * deviation / math.sqrt(n - 1)
