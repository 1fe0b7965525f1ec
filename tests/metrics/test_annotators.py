import numpy as np

from pqpp_metrics.functional import (
    admit_annotators,
    cohen_kappa,
    keep_best_annotators,
)

NAN = np.nan


def a_study():
    """Ten prompts of five images, the last of each a photograph; five annotators, two controls."""
    rng = np.random.default_rng(0)
    truth = rng.choice([2.0, 1, 0, -1], 50)
    truth[4::5] = 2
    prompts = [f"p{i // 5}" for i in range(50)]
    labels = np.stack(
        [
            np.where(rng.random(50) < p, truth, rng.choice([2.0, 1, 0, -1], 50))
            for p in (0.95, 0.9, 0.85, 0.8, 0.0)
        ],
        1,
    )
    control = np.stack([truth, np.where(rng.random(50) < 0.95, truth, 1)], 1)
    control[25:] = NAN
    photographs = np.arange(50) % 5 == 4
    return labels, prompts, control, photographs


def test_admission_follows_both_rules():
    labels, _, control, photographs = a_study()
    found = admit_annotators(labels, control, photographs)
    for annotator in range(5):
        kappas = [cohen_kappa(labels[:25, annotator], control[:25, c]) for c in range(2)]
        np.testing.assert_allclose(found["kappa"][annotator], kappas)
        share = (labels[photographs, annotator] == 2).mean()
        assert found["reference_share"][annotator] == share
        assert found["admitted"][annotator] == (min(kappas) >= 0.41 and share > 0.5)
    assert found["admitted"].tolist() == [True, True, True, True, False]
    assert admit_annotators(labels)["admitted"].all()
    strict = admit_annotators(labels, control, min_kappa=0.99)["admitted"]
    assert not strict[1:].any()


def test_what_cannot_be_shown_does_not_admit():
    found = admit_annotators([[2.0, NAN], [NAN, 1.0]], [[2.0], [NAN]], [True, False])
    assert np.isnan(found["kappa"][1, 0]) and np.isnan(found["reference_share"][1])
    assert found["admitted"].tolist() == [True, False]


def test_the_best_of_each_prompt_are_kept():
    labels = np.array([[2, 1, 0, NAN], [2, NAN, 0, 1], [NAN, 1, 0, 2], [2, 1, 0, 1]])
    kept = keep_best_annotators(labels, ["a", "b", "b", "a"], [0.1, 0.9, 0.5, NAN], best=2)
    # Prompt a: annotators 0 to 3 voted, 1 and 2 are best; so are they for prompt b.
    expected = [[NAN, 1, 0, NAN], [NAN, NAN, 0, NAN], [NAN, 1, 0, NAN], [NAN, 1, 0, NAN]]
    np.testing.assert_array_equal(kept, expected)
