"""The way from tokens to words and back, whatever prompts and tokenizers do."""

import pytest

from pqpp_feedback.rahf.words import WordDecoder, split_into_words
from pqpp_metrics.functional.keywords import prompt_tokens

QUIRKS = [
    "a red cat and a red cat",
    'A "red" cat: two dogs; one, (big) house?!',
    "  blanks \t and\nlines  ",
    "ﬁne café cafe\u0301 猫が好き 👩‍👩‍👧 Straße",
    "zero\u200bwidth \u200b \u00ad soft\u00adhyphen",
    "_0 a_0 0 _ __0",
    "a </s> cat <pad> <unk> <extra_id_0>",
    "",
    ",.;",
]


@pytest.mark.parametrize("prompt", QUIRKS)
def test_words_are_those_of_the_dataset(prompt):
    words = split_into_words(prompt)
    assert [word.text for word in words] == prompt_tokens(prompt)
    assert all(prompt[word.start : word.end] == word.text for word in words)


def walk(path, wanted):
    """Follow a path with a decoder that wants a suffix behind the words `wanted`."""
    written = []
    while not path.is_done or path.forced:
        logits = dict.fromkeys(range(1000), 0.0)
        logits[path.suffix[0]] = 5.0 if len(path.probabilities) in wanted else -5.0
        written.append(path.choose_token(logits))
    return written


def test_decoding_follows_the_words():
    path = WordDecoder([[5], [6, 7], [5]], suffix=[3, 4], end=1, threshold=0.5)
    assert walk(path, {1}) == [5, 6, 7, 3, 4, 5, 1]
    assert [round(probability) for probability in path.probabilities] == [0, 1, 0]


def test_a_word_that_looks_like_the_suffix_is_no_mark():
    path = WordDecoder([[5], [3, 4], [6]], suffix=[3, 4], end=1, threshold=0.5)
    assert walk(path, {0, 2}) == [5, 3, 4, 6, 3, 4, 1]
    assert [round(probability) for probability in path.probabilities] == [0, 0, 1]


@pytest.fixture(scope="module", params=["bytes", "unigram"])
def processor(request):
    pytest.importorskip("transformers", reason="the processor needs transformers")
    pytest.importorskip("torch", reason="the processor needs torch")
    from support.tiny_rahf import tiny_processor

    from pqpp_feedback.rahf import RahfProcessor

    plain = tiny_processor()
    if request.param == "unigram":
        return RahfProcessor(plain.image_processor, unigram())
    return plain


class TestProcessor:
    @pytest.mark.parametrize("prompt", QUIRKS)
    def test_every_word_has_tokens_of_its_own(self, processor, prompt):
        ids, words = processor.encode_words(prompt), split_into_words(prompt)
        assert len(ids) == len(words) and all(ids)
        assert processor.encode_fitting_words(prompt) == ids
        assert processor.encode_input(prompt)[:-1] == [token for word in ids for token in word]

    @pytest.mark.parametrize("prompt", QUIRKS)
    def test_targets_hold_the_suffix_behind_marked_words(self, processor, prompt):
        ids = processor.encode_words(prompt)
        for marked in range(len(ids)):
            labels = [int(i != marked) for i in range(len(ids))]
            path = WordDecoder(ids, processor.suffix_ids, processor.tokenizer.eos_token_id, 0.5)
            if [word[0] for word in ids[marked + 1 : marked + 2]] == processor.suffix_ids[:1]:
                continue  # no decoder can tell these apart
            written, found = walk(path, {marked}), processor.encode_target(prompt, labels)
            assert found[:-1] == written[: len(found) - 1]

    def test_long_prompts_are_cut_between_words(self, processor):
        kept = processor.encode_fitting_words("word " * 500)
        assert 0 < len(kept) < 500
        assert len(processor.encode_input("word " * 500)) <= processor.max_length


def unigram():
    """Return a tokenizer with T5's own normalisation and word marks."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    pieces = ["<pad>", "</s>", "<unk>", "▁", "▁a", "▁red", "▁cat", "_", "0", *"abcdeinortw"]
    plain = Tokenizer(models.Unigram([(piece, -float(i)) for i, piece in enumerate(pieces)], 2))
    plain.normalizer = normalizers.NFKC()
    plain.pre_tokenizer = pre_tokenizers.Metaspace()
    names = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=plain, **names)
