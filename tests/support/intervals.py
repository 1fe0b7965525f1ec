"""Half the length of an interval, by hand from how each pair or item moves a measure."""

import math

import scipy.stats


def students_t_interval(influences, confidence=0.95):
    """Student's t with the spread's degrees of freedom, at least 8, from estimated influences."""
    n = len(influences)
    spread = influences.std()
    kurtosis = ((influences - influences.mean()) ** 4).mean() / spread**4
    freedom = min(n - 1, max(8, 2 * n / (kurtosis - 1)))
    return scipy.stats.t.ppf((1 + confidence) / 2, freedom) * spread / math.sqrt(n - 1)
