"""Routers: choices by hand, budgets that are kept, shares that hold, failures that fall back."""

import itertools
import json
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from pqpp_backbones.errors import ServiceError
from pqpp_cli.main import main
from pqpp_datasets.load import load_benchmark
from pqpp_engines.errors import EngineError
from pqpp_engines.route import Account, Route, Router, Rule
from pqpp_engines.route.routes import _list_prices, choose_routes, find_price, hash_router
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


def test_a_choice_by_hand():
    value = np.array([[1.0, 1.6, 1.9], [0.5, 0.6, 3.0], [2.0, 1.0, 0.0]])
    costs, far = np.array([0.0, 1.0, 3.0]), np.array([False, False, False])
    # At a price of .5 the routes are worth 1, 1.1, .4; .5, .1, 1.5; 2, .5, -1.5.
    assert choose_routes(value, costs, far, Rule(budget=1), 0.5).tolist() == [1, 2, 0]
    assert choose_routes(value, costs, far, Rule(floor=1.6), 0).tolist() == [1, 2, 0]
    assert choose_routes(value, costs, far, Rule(floor=2.5), 0).tolist() == [2, 2, 0]
    assert choose_routes(value, costs, ~far, Rule(budget=1), 0.5).tolist() == [2, 2, 2]


@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(1, 40), st.floats(0, 1))
def test_the_budget_is_kept_and_a_lower_price_would_break_it(seed, routes, prompts, at):
    rng = np.random.default_rng(seed)
    value, costs = rng.normal(size=(prompts, routes)), rng.integers(0, 5, routes).astype(float)
    far, rule = np.zeros(prompts, bool), Rule(budget=costs.min() + at * np.ptp(costs))
    price = find_price(value, costs, far, rule)
    chosen = choose_routes(value, costs, far, rule, price)
    assert costs[chosen].mean() <= rule.budget + 1e-6
    lower = [one for one in _list_prices(value, costs, False) if one < price]
    if lower:
        assert costs[choose_routes(value, costs, far, rule, lower[-1])].mean() > rule.budget - 1e-6
    # By Lagrange no choice of the same cost is worth more.
    spent = costs[chosen].sum()
    for _ in range(20):
        other = rng.integers(0, routes, prompts)
        if costs[other].sum() <= spent:
            rows = range(prompts)
            assert value[rows, other].sum() <= value[rows, chosen].sum() + 1e-9


@given(st.integers(0, 10**6), st.integers(20, 200), st.floats(0, 1), st.integers(1, 9))
def test_an_account_meets_a_share_and_spends_a_budget(seed, prompts, share, copies):
    rng = np.random.default_rng(seed)
    value = rng.normal(size=(prompts, 2)).repeat(copies, axis=0)  # equal gains
    costs, far = np.array([1.0, 4.0]), np.zeros(len(value), bool)
    most, better = int(share * len(value) + 1e-6), int((np.diff(value) > 0).sum())
    for rule, parts in ((Rule(share=share), 2), (Rule(budget=1 + 3 * share), 1)):
        account = Account()
        for part in np.array_split(value, parts):
            account.choose_routes(part, costs, far[: len(part)], rule, rng.normal())
        wanted = most if rule.budget is None else min(most, better)
        assert round((account.spent - len(value)) / 3) == wanted


def test_what_nobody_can_read_goes_to_the_dearest_route():
    router = Router(ROUTES, Rule(floor=-3.0))
    decided = router.decide(["a dog", "asdf qwer zxcv", " "])
    assert [one.route for one in decided] == ["glide", "sdxl", "sdxl"]
    assert decided[1].reason.startswith("out of domain")
    assert router.decide([]) == []


def test_a_floor_takes_the_lower_bound():
    values, deviations = np.array([[1.0, 2.0]]), np.array([[1.0, 0.5]])
    assert Rule(floor=0).get_lower_bounds(values, deviations) == pytest.approx(
        np.array([[1 - 1.2815516, 2 - 0.6407758]])
    )
    assert Rule(budget=1).get_lower_bounds(values, deviations).tolist() == values.tolist()
    routes = [Route("cheap", "mean_p10", 1), Route("good", "alignment", 4)]
    with pytest.raises(EngineError, match="static predicts none for alignment"):
        Router(routes, Rule(floor=0.5))
    assert len(Router(routes, Rule(budget=2)).decide(["a cat", "two dogs"])) == 2


def test_saved_and_loaded_it_decides_alike_from_anywhere(tmp_path, monkeypatch):
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
    [{"model_type": "bert"}, {"routes": 3}, {"rule": {}}, {"rule": {"budget": 3}}, {"price": "x"}],
)
def test_a_damaged_router_is_told(change, tmp_path):
    Router(ROUTES, Rule(budget=2)).save_pretrained(tmp_path)
    facts = json.loads((tmp_path / "router.json").read_text()) | change
    for hashed in (facts, facts | {"sha256": hash_router(facts)}):
        if hashed is facts or change != {"rule": {"budget": 3}}:
            (tmp_path / "router.json").write_text(json.dumps(hashed))
            with pytest.raises(EngineError):
                Router.from_pretrained(tmp_path)


def fails(prompt):
    raise ConnectionError("no server\nat all")


def test_a_route_that_fails_is_replaced_and_the_log_tells_it(tmp_path):
    router = Router(ROUTES, Rule(floor=-3.0))
    log = tmp_path / "log.jsonl"
    found = router.route(["a dog", "a cat"], {"glide": fails, "sdxl": str.upper}, log)
    assert [(one.result, one.route) for one in found] == [("A DOG", "sdxl"), ("A CAT", "sdxl")]
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line.get("asked") for line in lines[:4]] == ["glide", None, "sdxl", None]
    assert lines[0]["route"] == lines[2]["route"] == "glide"
    assert lines[3]["reply"]["result"] == "A DOG"
    assert lines[1]["failed"] == {"glide": "ConnectionError: no server at all"}
    assert [line["paid"] for line in lines[1:4:2]] == [1.0, 4.0]  # who fails may be paid too
    assert "dog" not in log.read_text()
    with pytest.raises(EngineError, match="'sdxl' has no function"):
        router.route(["a dog"], {"glide": str.upper})


@pytest.mark.parametrize("workers", [1, 4])
def test_a_prompt_that_fails_everywhere_is_a_row_and_costs_no_answer(workers):
    def answer(prompt):
        return fails(prompt) if "bench" in prompt else prompt.upper()

    router, asked = Router(ROUTES, Rule(floor=0.3)), PROMPTS[20:80:3]
    found = router.route(asked, {"glide": answer, "sdxl": answer}, workers=workers)
    assert [one.result for one in found] == [
        None if "bench" in text else text.upper() for text in asked
    ]
    lacking = [one for one in found if one.route is None]
    assert len(lacking) == 8 and router.account.asked == 20
    assert all("glide: ConnectionError" in one.error for one in lacking)
    assert all(one.error is None for one in found if one.route)


def test_calls_are_made_at_once():
    together = threading.Barrier(4, timeout=20)

    def waits(prompt):
        return together.wait()

    models = {"glide": waits, "sdxl": waits}
    found = Router(ROUTES, Rule(floor=0.3)).route(PROMPTS[:4], models, workers=4)
    assert sorted(one.result for one in found) == [0, 1, 2, 3]


def test_a_killed_job_goes_on_from_its_log_and_pays_nothing_twice(tmp_path):
    router, log, asked = Router.fit(ROUTES, Rule(budget=2), PROMPTS), tmp_path / "log.jsonl", []
    texts = [*PROMPTS[:12], PROMPTS[0]]  # one comes twice, and is answered twice

    def answer(prompt):
        asked.append(prompt)
        if len(asked) == 8:
            raise KeyboardInterrupt
        return {"for": prompt}

    functions = {"glide": answer, "sdxl": answer}
    with pytest.raises(KeyboardInterrupt):
        router.route(texts, functions, log)
    with log.open("ab") as file:
        file.write(b'{"prompt_sha256": "ab')  # a kill in the middle of a line
    found = router.route(texts, functions, log)
    assert [one.result for one in found] == [{"for": text} for text in texts]
    assert len(asked) == 14 and sorted(asked[:7] + asked[8:]) == sorted(texts)
    calls = [json.loads(line) for line in log.read_text().splitlines()]
    cut = [one["most"] for one in calls if "most" in one]  # the one that was cut is paid too
    assert len(cut) == 14 and sum(cut) <= 2 * len(texts)
    assert router.route(texts, {"glide": fails, "sdxl": fails}, log) == found
    # What JSON cannot hold is asked for again, and another router's answers are its own.
    other = Router(ROUTES, Rule(floor=-3.0))
    for _ in range(2):
        with pytest.warns(UserWarning, match="another run will request the answer again"):
            (kept,) = other.route(texts[:1], {"glide": lambda _: {1, 2}, "sdxl": fails}, log)
        assert kept.result == {1, 2}
    log.write_text("a cat\n")
    with pytest.raises(ServiceError, match=r"log.jsonl, line 1: not an entry of a ledger"):
        router.route(texts, functions, log)


def test_images_are_kept_beside_the_log_and_paid_once(tmp_path):
    images = [Image.new(mode, (3, 2), 7) for mode in ("RGB", "RGBA", "L", "CMYK", "F")]
    router, texts, replies = Router(ROUTES, Rule(floor=-3.0)), PROMPTS[:5], iter(images)
    functions = {"glide": lambda _: next(replies), "sdxl": fails}
    for _ in range(2):
        found = router.route(texts, functions, tmp_path / "log.jsonl")
        assert [one.result.mode for one in found] == [one.mode for one in images]
        assert [one.result.tobytes() for one in found] == [one.tobytes() for one in images]


def test_a_budget_is_hard_together_one_by_one_and_where_a_route_fails(tmp_path):
    worth_all = Router.fit(ROUTES, Rule(budget=3.9), PROMPTS)  # spends more than is allowed below
    router = Router(ROUTES, Rule(budget=2.0), price=worth_all.price)
    loose = np.mean([one.cost for one in router.decide(PROMPTS)])
    assert loose > 3  # what the price alone spends
    for size in (1, 7, 400):
        account = Account()
        for start in range(0, 400, size):
            router.decide(PROMPTS[:400][start : start + size], account)
            assert account.spent <= 2.0 * account.asked + 1e-6
        assert account.asked == 400 and account.spent > 1.98 * 400
    account = Account()
    router.decide(["asdf qwer zxcv"] * 9, account)  # far ones go to the dearest while it fits
    assert account.spent == 18
    found = router.route(PROMPTS[:100], {"glide": fails, "sdxl": str.upper})
    paid = [4.0 for one in found if one.route == "sdxl"]
    assert 0 < sum(paid) < router.account.spent <= 2.0 * 100 and router.account.asked == 100
    assert any("not requested: over the budget" in (one.error or "") for one in found)
    log = tmp_path / "log.jsonl"
    for text in PROMPTS[:40]:
        router.route([text], {"glide": str.upper, "sdxl": str.upper}, log)
    spent = [json.loads(line).get("paid") for line in log.read_text().splitlines()][1::2]
    assert 1.8 < np.mean(spent) <= 2.0


def test_a_budget_holds_over_five_resumes_with_failures(tmp_path):
    router, rng, paid = Router(ROUTES, Rule(budget=1.2)), np.random.default_rng(0), []

    def answer(cost):
        def ask(prompt):
            paid.append(cost)
            if rng.random() < 0.4:
                raise ConnectionError("lost after billing")
            return prompt.upper()

        return ask

    functions, answered = {"glide": answer(1.0), "sdxl": answer(4.0)}, []
    for _ in range(6):
        found = router.route(PROMPTS[:100], functions, tmp_path / "log")
        assert sum(paid) <= 1.2 * 100 + 1e-9
        answered.append({place for place, one in enumerate(found) if one.route})
    assert all(before <= after for before, after in itertools.pairwise(answered))
    assert sum(paid) > 119 and any(
        "not requested: over the budget" in (one.error or "") for one in found
    )


@pytest.mark.daily
@pytest.mark.realdata
def test_shares_are_off_by_chance_alone(real_data):
    rows = load_benchmark("pqpp-v1.0", data_dir=str(real_data), split="validation")
    value = Predictor.from_pretrained("static-train").predict(
        list(rows["prompt"]), ["glide_hbpp", "sdxl_hbpp"]
    )
    costs, far = np.array([1.0, 4.0]), np.zeros(1000, bool)
    for share in (0.1, 0.3, 0.6):
        off = []
        for seed in range(200):
            order = np.random.default_rng(seed).permutation(len(value))
            here, there = value[order[:1000]], value[order[1000:2000]]
            price = find_price(here, costs, far, Rule(share=share))
            off.append(choose_routes(there, costs, far, Rule(share=share), price).mean() - share)
        # Both halves are samples: the binomial error of a difference of two.
        error = (share * (1 - share) * 2 / 1000) ** 0.5
        assert np.sqrt(np.mean(np.square(off))) == pytest.approx(error, rel=0.1)
        assert abs(np.mean(off)) < error / 10


def test_the_command_makes_and_asks_a_router(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.txt").write_text("\n".join(PROMPTS[:300]))
    fit = ["route", "fit", "--targets", "glide_hbpp,sdxl_hbpp", "--cost", "1,4", "--share", "0.25",
           "--calibration", "mine.txt", "--output", "router"]  # fmt: skip
    assert main(fit) == 0
    said = capsys.readouterr()
    assert "25.0% ± 3.5%" in said.out and "few" not in said.err
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
