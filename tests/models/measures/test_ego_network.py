"""Ego networks: word vectors, networks and hand-computed measures."""

import math
import struct

import networkx
import numpy as np
import pytest

from pqpp_models import Predictor, PredictorError
from pqpp_models.measures.ego_network import MEASURES, EgoNetworks, split_network_words
from pqpp_models.measures.predictor import MeasurePredictor
from pqpp_models.measures.word_vectors import WordVectors, load_word_vectors

# Four words on a circle: cosines 1 = .8 (0-1), .6 (1-2), .9 (2-3) come from these angles.
ANGLES = {
    "ego": 0.0,
    "near": math.acos(0.8),
    "far": math.acos(0.8) + math.acos(0.6),
    "end": math.acos(0.8) + math.acos(0.6) + math.acos(0.9),
}
CIRCLE = WordVectors(
    list(ANGLES), [[math.cos(angle), math.sin(angle)] for angle in ANGLES.values()]
)
# Functions of a network and its ego.
FUNCTIONS = {name: measure.compute.args[0] for name, measure in MEASURES.items()}


def build_network(vectors, word, *settings):
    return EgoNetworks(vectors, *settings).build_network(word)


def edges(graph) -> dict[tuple[str, str], float]:
    return {tuple(sorted(pair)): weight for *pair, weight in graph.edges(data="weight")}


class TestNetwork:
    def test_relative_threshold_uses_best_neighbour(self):
        # Best of ego is near (.8); best of near is ego (.8); far comes within .7 of it (.6).
        assert set(edges(build_network(CIRCLE, "ego", 0, 0.7))) == {("ego", "near")}
        joined = {("ego", "near"), ("far", "near")}
        assert set(edges(build_network(CIRCLE, "ego", 1, 0.7))) == joined
        # Best of far is end (.9): near (.6) is below .7 of it, end is joined.
        assert set(edges(build_network(CIRCLE, "ego", 2, 0.7))) == joined | {("end", "far")}

    def test_absolute_threshold_uses_joining_edge(self):
        # The ego's threshold is .5; near, joined by .8, has .4; far, joined by .6, has .3.
        assert set(edges(build_network(CIRCLE, "ego", 0, 0.5, "absolute"))) == {("ego", "near")}
        assert set(edges(build_network(CIRCLE, "ego", 1, 0.5, "absolute"))) == {
            ("ego", "near"),
            ("far", "near"),
        }
        assert ("end", "far") in edges(build_network(CIRCLE, "ego", 2, 0.5, "absolute"))
        assert not edges(build_network(CIRCLE, "ego", 2, 0.85, "absolute"))

    @pytest.mark.parametrize("threshold", ["relative", "absolute"])
    def test_cached_neighbours_change_no_network(self, threshold):
        rng = np.random.default_rng(5)
        vectors = WordVectors([f"w{n}" for n in range(300)], rng.normal(size=(300, 8)))
        together = EgoNetworks(vectors, 2, 0.9, threshold)
        together.cache_neighbours([*vectors.words[:50], "unicorn"])
        for word in vectors.words[:50]:
            alone = edges(build_network(vectors, word, 2, 0.9, threshold))
            assert edges(together.build_network(word)) == pytest.approx(alone, abs=1e-6)


class TestMeasures:
    # The path ego - near - far - end; the star below has near in its centre.
    PATH = EgoNetworks(CIRCLE, 2, 0.7)

    @pytest.mark.parametrize(
        ("measure", "ego", "near"),
        [
            ("edge_count", 3, 2),
            ("edge_weight_sum", 0.8 + 0.6 + 0.9, 0.8 + 0.6),
            ("inverse_edge_frequency", math.log(3 / 1), math.log(2 / 2)),
            ("degree_centrality", 1, 2),
            ("closeness_centrality", 3 / (1 + 2 + 3), 2 / (1 + 1)),
            ("betweenness_centrality", 0.0, 1.0),
        ],
    )
    def test_matches_hand_computed_values(self, measure, ego, near):
        assert self.PATH.measure_word("ego", FUNCTIONS[measure]) == pytest.approx(ego, abs=1e-6)
        star = networkx.Graph()
        star.add_weighted_edges_from([("near", "ego", 0.8), ("near", "far", 0.6)])
        assert FUNCTIONS[measure](star, "near") == pytest.approx(near, abs=1e-6)

    def test_pagerank_uses_edge_weights(self):
        star = networkx.Graph()
        star.add_weighted_edges_from([("near", "ego", 0.9), ("near", "far", 0.3)])
        ego, far = (FUNCTIONS["pagerank"](star, word) for word in ("ego", "far"))
        middle = FUNCTIONS["pagerank"](star, "near")
        assert ego - 0.05 == pytest.approx(0.85 * middle * 0.75, abs=1e-5)
        assert far - 0.05 == pytest.approx(0.85 * middle * 0.25, abs=1e-5)

    def test_unknown_words_have_single_node(self):
        alone = networkx.Graph()
        alone.add_node("unicorn")
        for name, measure in FUNCTIONS.items():
            assert self.PATH.measure_word("unicorn", measure) == measure(alone, "unicorn")
            assert self.PATH.measure_word("unicorn", measure) == (name == "pagerank")


WORDS = ["cat", "New York", "caf\u00e9"]
ROWS = np.array([[3.0, 4.0], [0.0, -2.0], [1.0, 0.0]], dtype=np.float32)
UNIT = np.array([[0.6, 0.8], [0.0, -1.0], [1.0, 0.0]], dtype=np.float32)


def encode_binary(line_feed: bytes, rows=ROWS) -> bytes:
    parts = [b"3 2\n"]
    for word, row in zip(WORDS, rows, strict=True):
        parts.append(word.replace(" ", "_").encode() + b" " + struct.pack("<2f", *row) + line_feed)
    return b"".join(parts)


class TestVectors:
    @pytest.mark.parametrize("header", ["3 2\n", ""])
    def test_reads_text_format(self, tmp_path, header):
        lines = [" ".join([word, *map(str, row)]) for word, row in zip(WORDS, ROWS, strict=True)]
        (tmp_path / "x.vec").write_text(header + "\n".join(lines) + "\n", encoding="utf-8")
        vectors = load_word_vectors(tmp_path / "x.vec")
        assert vectors.words == tuple(WORDS)
        np.testing.assert_allclose(vectors.array, UNIT, atol=1e-6)

    @pytest.mark.parametrize("line_feed", [b"", b"\n"])
    def test_reads_binary_format(self, tmp_path, line_feed):
        (tmp_path / "x.bin").write_bytes(encode_binary(line_feed))
        vectors = load_word_vectors(tmp_path / "x.bin")
        assert vectors.words == ("cat", "New_York", "caf\u00e9")
        np.testing.assert_allclose(vectors.array, UNIT, atol=1e-6)

    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("x.bin", b"not a header\n", "word vectors cannot be read"),
            ("x.bin", b"3 2\ncat \0\0", "word vectors cannot be read"),
            ("x.bin", encode_binary(b"")[:-1], "word vectors cannot be read"),
            ("x.bin", b"1 2\n" + b"x" * 2000, "word vectors cannot be read"),
            ("x.vec", b"cat 1.0 2.0\ndog 1.0\n", "word vectors cannot be read"),
            ("x.vec", b"cat one two\n", "word vectors cannot be read"),
            ("x.vec", b"cat nan 1\n", "NaN or infinity"),
            ("x.vec", b"", "0 words have vectors"),
        ],
    )
    def test_rejects_damaged_files(self, tmp_path, name, content, message):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(PredictorError, match=message) as caught:
            load_word_vectors(tmp_path / name)
        assert "\n" not in str(caught.value) and name in str(caught.value)


@pytest.mark.realdata
@pytest.mark.usefixtures("nltk_data")
class TestPredictor:
    PROMPTS = ("The EGO is near the unicorn, 3 near-misses.", "", "of the", "far")

    def test_splits_words_like_published_code(self):
        assert split_network_words(self.PROMPTS[0]) == ["ego", "near", "unicorn"]

    @pytest.mark.parametrize("name", MEASURES)
    def test_saved_predictor_predicts_the_same(self, tmp_path, monkeypatch, name):
        lines = (
            f"{w} {' '.join(map(str, v))}" for w, v in zip(CIRCLE.words, CIRCLE.array, strict=True)
        )
        (tmp_path / "words.vec").write_text("\n".join(lines))
        monkeypatch.setenv("PQPP_WORD_VECTORS", str(tmp_path / "words.vec"))
        predictor = MeasurePredictor(name, EgoNetworks(CIRCLE))
        loaded = Predictor.from_pretrained(predictor.save_pretrained(tmp_path / "saved"))
        result = predictor.predict(self.PROMPTS, "mean_p10,mean_hbpp")
        np.testing.assert_array_equal(loaded.predict(self.PROMPTS, "mean_p10,mean_hbpp"), result)
        networks, compute = predictor.evidence, FUNCTIONS[name]
        words = [networks.measure_word(word, compute) for word in ("ego", "near", "unicorn")]
        expected = pytest.approx(sum(words) / 3)
        assert result[0].tolist() == [expected, expected]
        assert np.isnan(result[1]).all() and not result[2].any()

    def test_averages_over_words(self):
        # Edges: ego has 1, the unknown word 0, near 2 (to ego and far).
        predictor = MeasurePredictor("edge_count", EgoNetworks(CIRCLE, 0, 0.7))
        assert predictor.predict(["ego unicorn near"])[0, 0] == 1.0
