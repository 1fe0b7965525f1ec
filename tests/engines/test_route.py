"""Routers: choices, budgets, shares, fallbacks and the log."""

import itertools
import json
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import EpsImagePlugin, Image

from pqpp_backbones.errors import ServiceError
from pqpp_cli.main import main
from pqpp_datasets.load import load_benchmark
from pqpp_engines.errors import EngineError
from pqpp_engines.route import Account, Route, Router, Rule
from pqpp_engines.route.routes import _list_prices, choose_routes, find_price, hash_router
from pqpp_files.errors import FileError
from pqpp_models import Predictor

ROUTES = [Route("glide", "glide_hbpp", 1.0), Route("sdxl", "sdxl_hbpp", 4.0)]
NOUNS = ("dog", "cat", "bear", "bench", "clock", "kite", "train", "horse", "boat", "pizza")
PROMPTS = [
    f"{n} {a}s {where} a {b}"
    for n in ("two", "three", "some", "many")
    for a in NOUNS
    for b in NOUNS
    for where in ("on", "near")
]


def test_choose_routes_by_hand():
    value = np.array([[1.0, 1.6, 1.9], [0.5, 0.6, 3.0], [2.0, 1.0, 0.0]])
    costs, ood = np.array([0.0, 1.0, 3.0]), np.array([False, False, False])
    # At a price of .5 the routes are worth 1, 1.1, .4; .5, .1, 1.5; 2, .5, -1.5.
    assert choose_routes(value, costs, ood, Rule(budget=1), 0.5).tolist() == [1, 2, 0]
    assert choose_routes(value, costs, ood, Rule(floor=1.6), 0).tolist() == [1, 2, 0]
    assert choose_routes(value, costs, ood, Rule(floor=2.5), 0).tolist() == [2, 2, 0]
    assert choose_routes(value, costs, ~ood, Rule(budget=1), 0.5).tolist() == [2, 2, 2]


@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(1, 40), st.floats(0, 1))
def test_find_price_is_the_lowest_within_budget(seed, routes, prompts, fraction):
    rng = np.random.default_rng(seed)
    value, costs = rng.normal(size=(prompts, routes)), rng.integers(0, 5, routes).astype(float)
    ood, rule = np.zeros(prompts, bool), Rule(budget=costs.min() + fraction * np.ptp(costs))
    price = find_price(value, costs, ood, rule)
    chosen = choose_routes(value, costs, ood, rule, price)
    assert costs[chosen].mean() <= rule.budget + 1e-6
    lower = [p for p in _list_prices(value, costs, False) if p < price]
    if lower:
        assert costs[choose_routes(value, costs, ood, rule, lower[-1])].mean() > rule.budget - 1e-6
    # No choice of the same cost has a higher value (Lagrange).
    spent = costs[chosen].sum()
    for _ in range(20):
        other = rng.integers(0, routes, prompts)
        if costs[other].sum() <= spent:
            rows = range(prompts)
            assert value[rows, other].sum() <= value[rows, chosen].sum() + 1e-9


@given(st.integers(20, 200), st.floats(0, 1), st.integers(1, 9), st.sampled_from([1e-6, 1, 2e4]))
def test_account_meets_share_and_spends_budget(prompts, share, copies, unit):
    rng = np.random.default_rng(prompts)
    value = rng.normal(size=(prompts, 2)).repeat(copies, axis=0)  # equal gains
    costs, ood = unit * np.array([1.0, 4.0]), np.zeros(len(value), bool)
    max_expensive, improvements = int(share * len(value) + 1e-6), int((np.diff(value) > 0).sum())
    for rule, batches in ((Rule(share=share), 2), (Rule(budget=unit * (1 + 3 * share)), 1)):
        account = Account()
        for batch in np.array_split(value, batches):
            account.choose_routes(batch, costs, ood[: len(batch)], rule, rng.normal() / unit)
        expected = max_expensive if rule.budget is None else min(max_expensive, improvements)
        assert round((account.spent / unit - len(value)) / 3) == expected


def test_unreadable_prompts_go_to_most_expensive_route():
    router = Router(ROUTES, Rule(floor=-3.0))
    decisions = router.decide(["a dog", "asdf qwer zxcv", " "])
    assert [d.route for d in decisions] == ["glide", "sdxl", "sdxl"]
    assert decisions[1].reason.startswith("out of domain")
    assert router.decide([]) == [] and router.decide("a dog") == router.decide(["a dog"])


def test_floor_uses_lower_confidence_bounds():
    values, deviations = np.array([[1.0, 2.0]]), np.array([[1.0, 0.5]])
    assert Rule(floor=0).get_lower_bounds(values, deviations) == pytest.approx(
        np.array([[1 - 1.2815516, 2 - 0.6407758]])
    )
    assert Rule(budget=1).get_lower_bounds(values, deviations).tolist() == values.tolist()
    routes = [Route("cheap", "mean_p10", 1), Route("good", "alignment", 4)]
    with pytest.raises(EngineError, match="static predicts none for alignment"):
        Router(routes, Rule(floor=0.5))
    assert len(Router(routes, Rule(budget=2)).decide(["a cat", "two dogs"])) == 2


def test_save_and_load_keep_decisions(tmp_path, monkeypatch):
    router = Router.fit(ROUTES, Rule(budget=2), PROMPTS[:100])
    router.save_pretrained(tmp_path / "router")
    monkeypatch.chdir(tmp_path)
    loaded = Router.from_pretrained("router")
    assert loaded.decide(PROMPTS[:20]) == router.decide(PROMPTS[:20])
    assert (loaded.shares, loaded.price, loaded.rule) == (router.shares, router.price, router.rule)
    card = (tmp_path / "router/README.md").read_text()
    assert "| sdxl | sdxl_hbpp | 4 | 1 |" in card and "None" not in card


@pytest.mark.parametrize(
    "change",
    [
        *({"model_type": "bert"}, {"routes": 3}, {"rule": {}}, {"rule": {"budget": 3}}),
        *({"price": "x"}, {"price": 10**400}, {"rule": {"floor": 10**400}}, {"predictor": None}),
        *({"routes": [vars(ROUTES[0]) | {"name": 1}, vars(ROUTES[1])]}, {"shares": {"sdxl": "1"}}),
    ],
)
def test_rejects_damaged_router(change, tmp_path):
    Router(ROUTES, Rule(budget=2)).save_pretrained(tmp_path)
    config = json.loads((tmp_path / "router.json").read_text()) | change
    for record in (config, config | {"sha256": hash_router(config)}):
        if record is config or change != {"rule": {"budget": 3}}:
            (tmp_path / "router.json").write_text(json.dumps(record))
            with pytest.raises(EngineError):
                Router.from_pretrained(tmp_path)


def test_reads_numbers_beyond_64_bits(tmp_path):
    routes = [Route("glide", "glide_hbpp", 1, 2**64), Route("sdxl", "sdxl_hbpp", 2**64)]
    Router(routes, Rule(budget=2)).save_pretrained(tmp_path)
    config = json.loads((tmp_path / "router.json").read_text()) | {"price": 2**63}
    config["sha256"] = hash_router(config)
    (tmp_path / "router.json").write_text(json.dumps(config))
    assert Router.from_pretrained(tmp_path).decide(["a dog"], Account())[0].route == "glide"


def fail(prompt):
    raise ConnectionError("no server\nat all")


def test_failed_route_falls_back_and_is_logged(tmp_path):
    router = Router(ROUTES, Rule(floor=-3.0))
    log = tmp_path / "log.jsonl"
    answers = router.route(["a dog", "a cat"], {"glide": fail, "sdxl": str.upper}, log)
    assert [(a.result, a.route) for a in answers] == [("A DOG", "sdxl"), ("A CAT", "sdxl")]
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line.get("called") for line in lines[:4]] == ["glide", None, "sdxl", None]
    assert lines[0]["route"] == lines[2]["route"] == "glide"
    assert lines[3]["reply"]["result"] == "A DOG"
    assert lines[1]["failed"] == {"glide": "ConnectionError: no server at all"}
    assert [line["paid"] for line in lines[1:4:2]] == [1.0, 4.0]  # failed calls count as paid
    assert "dog" not in log.read_text()
    with pytest.raises(EngineError, match="'sdxl' has no function"):
        router.route(["a dog"], {"glide": str.upper})


@pytest.mark.parametrize("workers", [1, 4])
def test_prompt_that_fails_on_all_routes_has_no_answer(workers):
    def answer(prompt):
        return fail(prompt) if "bench" in prompt else prompt.upper()

    router, requested = Router(ROUTES, Rule(floor=0.3)), PROMPTS[20:80:3]
    answers = router.route(requested, {"glide": answer, "sdxl": answer}, workers=workers)
    assert [a.result for a in answers] == [
        None if "bench" in text else text.upper() for text in requested
    ]
    failures = [a for a in answers if a.route is None]
    assert len(failures) == 8 and router.account.n_prompts == 20
    assert all("glide: ConnectionError" in one.error for one in failures)
    assert all(a.error is None for a in answers if a.route)


def test_workers_call_in_parallel():
    barrier = threading.Barrier(4, timeout=20)

    def wait(prompt):
        return barrier.wait()

    functions = {"glide": wait, "sdxl": wait}
    answers = Router(ROUTES, Rule(floor=0.3)).route(PROMPTS[:4], functions, workers=4)
    assert sorted(a.result for a in answers) == [0, 1, 2, 3]


def test_killed_job_resumes_without_paying_twice(tmp_path):
    router, log, requested = Router.fit(ROUTES, Rule(budget=2), PROMPTS), tmp_path / "log.jsonl", []
    texts = [*PROMPTS[:12], PROMPTS[0]]  # a duplicate prompt gets its own answer

    def answer(prompt):
        requested.append(prompt)
        if len(requested) == 8:
            raise KeyboardInterrupt
        return {"for": prompt}

    functions = {"glide": answer, "sdxl": answer}
    with pytest.raises(KeyboardInterrupt):
        router.route(texts, functions, log)
    with log.open("ab") as file:
        file.write(b'{"prompt_sha256": "ab')  # a line that was cut by a kill
    answers = router.route(texts, functions, log)
    assert [a.result for a in answers] == [{"for": text} for text in texts]
    assert len(requested) == 14 and sorted(requested[:7] + requested[8:]) == sorted(texts)
    calls = [json.loads(line) for line in log.read_text().splitlines()]
    costs = [call["most"] for call in calls if "most" in call]  # also of the interrupted call
    assert len(costs) == 14 and sum(costs) <= 2 * len(texts)
    assert router.route(texts, {"glide": fail, "sdxl": fail}, log) == answers
    # Answers that JSON cannot represent are requested again; routers do not share answers.
    other = Router(ROUTES, Rule(floor=-3.0))
    for _ in range(2):
        with pytest.warns(UserWarning, match="another run will request the answer again"):
            (reused,) = other.route(texts[:1], {"glide": lambda _: {1, 2}, "sdxl": fail}, log)
        assert reused.result == {1, 2}
    log.write_text("a cat\n")
    with pytest.raises(ServiceError, match=r"log.jsonl, line 1: not an entry of a ledger"):
        router.route(texts, functions, log)


def test_images_are_reused_from_log(tmp_path, monkeypatch):
    images = [Image.new(mode, (3, 2), 7) for mode in ("RGB", "RGBA", "L", "CMYK", "F")]
    router, texts, replies = Router(ROUTES, Rule(floor=-3.0)), PROMPTS[:5], iter(images)
    functions = {"glide": lambda _: next(replies), "sdxl": fail}
    for _ in range(2):
        answers = router.route(texts, functions, tmp_path / "log.jsonl")
        assert [a.result.mode for a in answers] == [a.mode for a in images]
        assert [a.result.tobytes() for a in answers] == [a.tobytes() for a in images]
    (tmp_path / "log.jsonl.images" / "0.tiff").rename(tmp_path / "outside.tiff")
    log = (tmp_path / "log.jsonl").read_text()
    (tmp_path / "log.jsonl").write_text(log.replace('"0.tiff"', '"../outside.tiff"'))
    with pytest.raises(FileError, match=r"outside\.tiff is outside"):
        router.route(texts, functions, tmp_path / "log.jsonl")
    monkeypatch.setattr(EpsImagePlugin, "Ghostscript", lambda *_, **__: pytest.fail("it was run"))
    images[0].save(tmp_path / "log.jsonl.images" / "0.tiff", "EPS")
    for damaged in (log, log.replace('"result"', '"x"'), log.replace('"key"', '"x"')):
        (tmp_path / "log.jsonl").write_text(damaged)
        with pytest.raises(ServiceError, match="damaged entry"):
            router.route(texts, functions, tmp_path / "log.jsonl")


def test_budget_is_never_exceeded(tmp_path):
    generous = Router.fit(ROUTES, Rule(budget=3.9), PROMPTS)  # its price exceeds the budget below
    router = Router(ROUTES, Rule(budget=2.0), price=generous.price)
    mean_cost = np.mean([one.cost for one in router.decide(PROMPTS)])
    assert mean_cost > 3  # by the price alone
    for size in (1, 7, 400):
        account = Account()
        for start in range(0, 400, size):
            router.decide(PROMPTS[:400][start : start + size], account)
            assert account.spent <= 2.0 * account.n_prompts + 1e-6
        assert account.n_prompts == 400 and account.spent > 1.98 * 400
    account = Account()
    router.decide(["asdf qwer zxcv"] * 9, account)  # to "sdxl" within the budget
    assert account.spent == 18
    answers = router.route(PROMPTS[:100], {"glide": fail, "sdxl": str.upper})
    paid = [4.0 for a in answers if a.route == "sdxl"]
    assert 0 < sum(paid) < router.account.spent <= 2.0 * 100 and router.account.n_prompts == 100
    assert any("not requested: over the budget" in (a.error or "") for a in answers)
    log = tmp_path / "log.jsonl"
    for text in PROMPTS[:40]:
        router.route([text], {"glide": str.upper, "sdxl": str.upper}, log)
    spent = [json.loads(line).get("paid") for line in log.read_text().splitlines()][1::2]
    assert 1.8 < np.mean(spent) <= 2.0


def test_budget_holds_over_resumes_with_failures(tmp_path):
    router, rng, paid = Router(ROUTES, Rule(budget=1.2)), np.random.default_rng(0), []

    def answer(cost):
        def ask(prompt):
            paid.append(cost)
            if rng.random() < 0.4:
                raise ConnectionError("lost after billing")
            return prompt.upper()

        return ask

    functions, answered_sets = {"glide": answer(1.0), "sdxl": answer(4.0)}, []
    for _ in range(6):
        answers = router.route(PROMPTS[:100], functions, tmp_path / "log")
        assert sum(paid) <= 1.2 * 100 + 1e-9
        answered_sets.append({place for place, a in enumerate(answers) if a.route})
    assert all(before <= after for before, after in itertools.pairwise(answered_sets))
    assert sum(paid) > 119 and any(
        "not requested: over the budget" in (a.error or "") for a in answers
    )


@pytest.mark.daily
@pytest.mark.realdata
def test_share_error_is_binomial(real_data):
    rows = load_benchmark("pqpp-v1.0", data_dir=str(real_data), split="validation")
    value = Predictor.from_pretrained("static-train").predict(
        list(rows["prompt"]), ["glide_hbpp", "sdxl_hbpp"]
    )
    costs, ood = np.array([1.0, 4.0]), np.zeros(1000, bool)
    for share in (0.1, 0.3, 0.6):
        errors = []
        for seed in range(200):
            order = np.random.default_rng(seed).permutation(len(value))
            calibration, test_values = value[order[:1000]], value[order[1000:2000]]
            price = find_price(calibration, costs, ood, Rule(share=share))
            chosen = choose_routes(test_values, costs, ood, Rule(share=share), price)
            errors.append(chosen.mean() - share)
        # The binomial standard error of the difference of two samples.
        error = (share * (1 - share) * 2 / 1000) ** 0.5
        assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(error, rel=0.1)
        assert abs(np.mean(errors)) < error / 10


def test_route_fit_and_predict_commands(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.txt").write_text("\n".join(PROMPTS[:300]))
    fit = ["route", "fit", "--targets", "glide_hbpp,sdxl_hbpp", "--cost", "1,4", "--share", "0.25",
           "--calibration", "mine.txt", "--output", "router"]  # fmt: skip
    assert main(fit) == 0
    output = capsys.readouterr()
    assert "25.0% ± 3.5%" in output.out and "few" not in output.err
    assert main(fit) == 2 and "--overwrite" in capsys.readouterr().err
    (tmp_path / "few.txt").write_text("\n".join(PROMPTS[:40]))
    assert main([*fit[:9], "few.txt", "--output", "other"]) == 0
    assert "with 40 calibration prompts" in capsys.readouterr().err
    floor = [*fit[:6], "--floor", "3", *fit[8:10], "--output", "unreached"]
    assert main(floor) == 0 and "no route reaches 3 for 300 of 300" in capsys.readouterr().err
    (tmp_path / "mine.csv").write_text("id,prompt\n7," + "\n7,".join(PROMPTS[:300]))
    assert main(["route", "predict", "router", "--file", "mine.csv", "--output", "out.jsonl"]) == 0
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert sum(row["route"] == "sdxl" and row["id"] == 7 for row in rows) == 75
    assert main(["route", "predict", "router", "a dog"]) == 0
    assert "a dog" in capsys.readouterr().out
    assert main([*fit[:5], "1", *fit[6:]]) == 2
    assert "--cost must have one value per target; expected 2" in capsys.readouterr().err
    assert main(["route", "predict", "nowhere", "a dog"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
