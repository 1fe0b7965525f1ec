"""States: any split of the data gives what the metric gives of the whole, and so do processes."""

import itertools
import json
import math
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from metrics.module_cases import CASES

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.functional import cohen_kappa, mae_qpp, ndcg, nss, pearson_qpp, rmse_qpp
from pqpp_metrics.load import load_metric
from pqpp_metrics.states import MetricState, TrainerMetrics, compute_metrics

CLASSIC = ("pearson_qpp", "rmse_qpp", "mae_qpp")
BOUNDED = {"cohen_kappa", "fleiss_kappa"}


def split(state, inputs, cuts):
    """Add inputs by parts, those of odd places to a second state that is merged."""
    other = MetricState(state.name, **state.options)
    count = len(next(iter(inputs.values())))
    ends = [0, *sorted({cut % count for cut in cuts} - {0}), count]
    for place, (start, end) in enumerate(itertools.pairwise(ends)):
        part = {name: column[start:end] for name, column in inputs.items()}
        (other if place % 2 else state).update(**part)
    return state.merge(other) if other.sums or other.batches else state


def assert_alike(found, expected):
    for name, value in found.items():
        if name == "n" and name not in expected:
            continue
        if isinstance(value, float):
            assert value == pytest.approx(expected[name], rel=1e-12, abs=1e-12, nan_ok=True), name
        elif name not in ("prompt_ids", "scores"):  # in the order in which batches came
            assert value == expected[name] or isinstance(value, (dict, list)), name


@pytest.mark.parametrize("name", CASES)
def test_any_split_of_any_metric(name):
    case = CASES[name]
    options = case.options | ({"interval": "classic"} if name in CLASSIC else {})
    whole = load_metric(name).score(case.inputs, options)
    for cuts in ((), (1,), (2, 3, 5), range(99)):
        state = split(MetricState(name, **options), case.inputs, cuts)
        assert_alike(state.compute(), whole)
        kept = sum(len(batch) for batch in state.batches)
        assert bool(kept) is not state.is_bounded and (state.is_bounded or name not in BOUNDED)


values = st.floats(-1e9, 1e9, width=64) | st.sampled_from([0.0, 1e-9, 1e9 + 1e-6, 1.0])


@given(st.lists(st.tuples(values, values), min_size=2, max_size=30), st.lists(st.integers(1, 29)))
@example([(1e9, 1.0), (1e9 + 1e-6, 2.0), (1e9, 2.0)], [1, 2])
@example([(1e-300, 1e300), (3e-300, 2e300), (2e-300, -1e300)], [1, 2])
def test_any_split_is_exact(pairs, cuts):
    inputs = dict(zip(("predictions", "references"), zip(*pairs, strict=True), strict=True))
    for function in (pearson_qpp, rmse_qpp, mae_qpp):
        name = function.__name__
        state = split(MetricState(name, interval="classic"), inputs, cuts)
        found, whole = state.compute(), function(**inputs, interval="classic")
        # Squares of errors are rounded before they are summed, beside the largest of a batch.
        for key, value in found.items():
            assert value == pytest.approx(whole[key], rel=1e-12, abs=0, nan_ok=True)


def test_sums_by_numpy():
    x, y = np.random.default_rng(0).standard_normal((2, 500))
    state = MetricState("pearson_qpp", interval="classic")
    for part in np.split(np.arange(500), [1, 7, 300]):
        state.update(x[part], y[part])
    assert state.compute()["pearson_qpp"] == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-15)
    assert state.is_bounded and not state.batches and len(state.sums) == 6


def test_means_of_queries_and_maps():
    scores, grades = np.random.default_rng(1).random((2, 40, 12))
    grades = (grades > 0.7) * 1
    state = MetricState("ndcg", k=5)
    for start in range(0, 40, 7):
        state.update(scores[start : start + 7].tolist(), grades[start : start + 7])
    assert state.compute() == {"ndcg": pytest.approx(ndcg(scores, grades, 5).mean()), "n": 40}
    maps = MetricState("nss")
    maps.update(scores[:1, None], grades[:1, None] * 0)  # without a fixation: no value
    maps.update(scores[None, :12], grades[None, :12])
    assert maps.compute() == {"nss": pytest.approx(float(nss(scores[:12], grades[:12]))), "n": 1}


def test_rows_of_options_come_with_their_batch():
    state = MetricState("recall_at_k", k=2)
    state.update([[3, 2, 1]], [[1, 0, 0]], unretrieved=[[1, 1]])
    state.update([[3, 2, 1]], [[1, 0, 0]], unretrieved=[[0]])
    assert state.compute() == {"recall_at_k": pytest.approx((1 / 3 + 1) / 2), "n": 2}


def test_a_table_of_labels_is_small():
    labels = np.random.default_rng(2).choice(["yes", "no", "unsure"], (2, 5000))
    state = MetricState("cohen_kappa", weights="linear")
    for start in range(0, 5000, 999):
        state.update(*labels[:, start : start + 999])
    assert len(state.sums) == 9 and sum(state.sums.values()) == 5000
    assert state.compute()["cohen_kappa"] == pytest.approx(
        cohen_kappa(*labels, weights="linear"), abs=1e-12
    )


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda state: state.compute(), "nothing was given"),
        (lambda state: state.update([1, 2]), "`references` is missing"),
        (lambda state: state.update([1, 2], [1, math.inf]), "infinite"),
        (lambda state: state.update([1, 2], [1, 2], [3]), "3 inputs came"),
        (lambda state: state.update([1, 2], [1, 2], confidence=0.9), "give it to the state"),
        (lambda state: state.update([1e308], [-1e308]), "too far"),
        (lambda state: state.merge(MetricState("rmse_qpp")), "takes its like alone"),
    ],
)
def test_a_refused_batch_changes_nothing(act, said):
    state = MetricState("rmse_qpp", interval="classic")
    with pytest.raises(MetricInputError, match=said):
        act(state)
    state.update([1.0, 2.0], [1.0, 3.0])
    assert state.compute()["rmse_qpp"] == pytest.approx(math.sqrt(0.5))
    state.reset()
    assert not state.sums and not state.batches


def test_labels_of_two_kinds_are_refused():
    state = MetricState("fleiss_kappa")
    state.update([["a", "b"]])
    state.update([[1, 2]])
    with pytest.raises(MetricInputError, match="mixes text and numbers"):
        state.compute()
    raters = MetricState("fleiss_kappa")
    raters.update([["a", "b"]])
    raters.update([["a", "b", "a"]])
    with pytest.raises(MetricInputError, match="2 and 3 raters"):
        raters.compute()


PROCESS = """
    import json, sys
    import torch
    import torch.distributed as distributed
    from pqpp_metrics.states import MetricState
    file, rank = sys.argv[1], int(sys.argv[2])
    distributed.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=2)
    x, y = torch.randn(2, 50, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    ends, found = ((0, 11), (11, 50))[rank], {}
    for name, options in (("pearson_qpp", {"interval": "classic"}), ("kendall_qpp", {})):
        state = MetricState(name, **options)
        for place in range(*ends, 5):
            part = slice(place, min(place + 5, ends[1]))
            state.update(x[part], y[part])
        found[name] = state.gathered().compute()
        assert state.gathered().compute() == found[name]  # gathering adds nothing
    empty = MetricState("cohen_kappa")
    if rank:
        empty.update([1, 0, 1], [1, 1, 1])
    found["cohen_kappa"] = empty.gathered().compute()
    try:
        import torchmetrics
    except ModuleNotFoundError:
        pass
    else:
        from pqpp_metrics.states import TorchMetric
        for name, options in (("pearson_qpp", {"interval": "classic"}), ("kendall_qpp", {})):
            metric = TorchMetric(name, **options)
            metric.update(x[slice(*ends)], y[slice(*ends)])
            values = metric.compute()
            assert {key: value.item() for key, value in values.items()} == found[name]
        metric = TorchMetric("cohen_kappa")
        if rank:
            metric.update(torch.tensor([1, 0, 1]), torch.tensor([1, 1, 1]))
        assert metric.compute()["cohen_kappa"].item() == found["cohen_kappa"]["cohen_kappa"]
    if rank == 0:
        print(json.dumps([found, x.tolist(), y.tolist()]))
    distributed.destroy_process_group()
"""


@pytest.mark.slow
def test_two_processes_have_one_result(tmp_path):
    commands = [
        [sys.executable, "-c", textwrap.dedent(PROCESS), str(tmp_path / "meeting"), str(rank)]
        for rank in range(2)
    ]
    running = [subprocess.Popen(one, stdout=subprocess.PIPE, text=True) for one in commands]
    said = [process.communicate(timeout=300)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0]
    found, x, y = json.loads(said[0])
    expected = load_metric("kendall_qpp").score({"predictions": x, "references": y})
    assert found["kendall_qpp"] == pytest.approx(expected, abs=1e-12)
    assert found["pearson_qpp"] == pearson_qpp(x, y, interval="classic")
    assert found["cohen_kappa"]["cohen_kappa"] == cohen_kappa([1, 0, 1], [1, 1, 1])


class TestTrainer:
    logits, labels = np.random.default_rng(3).standard_normal((2, 30))

    def test_logits_in_a_column(self):
        from scipy import stats

        pair = self.logits, self.labels
        found = compute_metrics((self.logits[:, None], self.labels))
        assert found == pytest.approx(
            {
                "pearson": stats.pearsonr(*pair).statistic,
                "kendall": stats.kendalltau(*pair).statistic,
                "spearman": stats.spearmanr(*pair).statistic,
                "rmse": math.sqrt(np.mean((pair[0] - pair[1]) ** 2)),
            }
        )
        assert found == compute_metrics(((self.logits[:, None], "hidden"), self.labels[:, None]))

    @pytest.mark.slow
    @pytest.mark.parametrize("by_batches", [False, True])
    def test_a_trainer(self, by_batches, tmp_path):
        import torch
        from transformers import Trainer, TrainingArguments

        class Line(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.line = torch.nn.Linear(1, 1)

            def forward(self, x, labels):
                logits = self.line(x)
                return {"loss": ((logits[:, 0] - labels) ** 2).mean(), "logits": logits}

        pairs = zip(self.logits, self.labels, strict=True)
        rows = [{"x": torch.tensor([x]).float(), "labels": torch.tensor(y)} for x, y in pairs]
        arguments = TrainingArguments(
            tmp_path,
            use_cpu=True,
            report_to="none",
            per_device_eval_batch_size=7,
            batch_eval_metrics=by_batches,
        )
        metrics = TrainerMetrics() if by_batches else compute_metrics
        model = Line()
        trainer = Trainer(model, arguments, eval_dataset=rows, compute_metrics=metrics)
        found = trainer.evaluate()
        with torch.no_grad():
            logits = model.line(torch.tensor(self.logits[:, None]).float())
        for name, value in compute_metrics((logits, self.labels)).items():
            assert found[f"eval_{name}"] == pytest.approx(value, abs=1e-6)

    def test_batches(self):
        metrics = TrainerMetrics()
        for start in (0, 12):
            part = slice(start, start + 12)
            assert metrics((self.logits[part, None], self.labels[part]), False) == {}
        last = self.logits[24:, None], self.labels[24:]
        whole = compute_metrics((self.logits, self.labels))
        assert metrics(last, compute_result=True) == pytest.approx(whole)
        assert metrics((self.logits, self.labels)) == pytest.approx(whole)  # it starts anew

    def test_a_label_that_is_lacking_and_several_targets(self):
        labels = np.stack([self.labels, np.full(30, math.nan)], axis=1)
        logits = np.stack([self.logits, self.logits], axis=1)
        assert compute_metrics((logits, labels)) == compute_metrics((self.logits, self.labels))
        with pytest.raises(MetricInputError, match="a logit for each label"):
            compute_metrics((logits, self.labels))


class TestTorchMetric:
    @pytest.fixture(autouse=True)
    def metric(self):
        pytest.importorskip("torchmetrics")
        from pqpp_metrics.states import TorchMetric

        self.metric = TorchMetric

    @pytest.mark.parametrize("name", ["kendall_qpp", "ndcg", "nss", "fleiss_kappa", "hbpp"])
    def test_it_is_the_state(self, name):
        case = CASES[name]
        metric, state = self.metric(name, **case.options), MetricState(name, **case.options)
        for start in (0, 2):
            part = {name: column[start : start + 2] for name, column in case.inputs.items()}
            state.update(**part)
            metric(**part)
        found = metric.compute()
        for key, value in state.compute().items():
            if isinstance(value, float):
                assert found[key].item() == pytest.approx(value, abs=1e-12)
            else:
                assert found[key] == value
        assert metric.is_bounded is state.is_bounded
        assert len(metric.lines) == (1 if metric.is_bounded else 2)
        metric.reset()
        assert metric.lines == []

    def test_their_own_utilities(self, capsys):
        import torch
        from torchmetrics import MetricCollection
        from torchmetrics.utilities.checks import check_forward_full_state_property

        values = {"predictions": torch.rand(20), "references": torch.rand(20)}
        made = self.metric("rmse_qpp", interval="classic")
        collection = MetricCollection({"rmse": made, "mae": self.metric("mae_qpp")})
        collection(**values)
        found = collection.compute()
        assert found["rmse_rmse_qpp"].item() == rmse_qpp(**values)["rmse_qpp"]
        assert found["mae_mae_qpp"].item() == mae_qpp(**values)["mae_qpp"]
        again = made.clone()
        made.persistent(True)
        fresh = self.metric("rmse_qpp", interval="classic")
        fresh.persistent(True)
        fresh.load_state_dict(made.state_dict())
        assert again.compute() == made.compute()
        check_forward_full_state_property(
            self.metric,
            {"metric": "rmse_qpp", "interval": "classic"},
            values,
            num_update_to_compare=[2],
            reps=2,
        )
        assert "full_state_update" in capsys.readouterr().out
