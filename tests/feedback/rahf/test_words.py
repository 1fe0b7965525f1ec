"""Words, decoding and encoding of unusual prompts."""

import pytest

from pqpp_feedback.rahf.words import WordDecoder, split_into_words
from pqpp_metrics.functional.keywords import prompt_tokens

UNUSUAL_PROMPTS = [
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


@pytest.mark.parametrize("prompt", UNUSUAL_PROMPTS)
def test_splits_like_the_dataset(prompt):
    words = split_into_words(prompt)
    assert [word.text for word in words] == prompt_tokens(prompt)
    assert all(prompt[word.start : word.end] == word.text for word in words)


def decode(decoder, marked_words):
    """Decode with logits that prefer the suffix after the marked words."""
    tokens = []
    while not decoder.is_done or decoder.forced:
        logits = dict.fromkeys(range(1000), 0.0)
        logits[decoder.suffix[0]] = 5.0 if len(decoder.probabilities) in marked_words else -5.0
        tokens.append(decoder.choose_token(logits))
    return tokens


def test_decoder_follows_the_words():
    decoder = WordDecoder([[5], [6, 7], [5]], suffix=[3, 4], end=1, threshold=0.5)
    assert decode(decoder, {1}) == [5, 6, 7, 3, 4, 5, 1]
    assert [round(probability) for probability in decoder.probabilities] == [0, 1, 0]


def test_word_with_suffix_tokens_is_not_marked():
    decoder = WordDecoder([[5], [3, 4], [6]], suffix=[3, 4], end=1, threshold=0.5)
    assert decode(decoder, {0, 2}) == [5, 3, 4, 6, 3, 4, 1]
    assert [round(probability) for probability in decoder.probabilities] == [0, 0, 1]


@pytest.fixture(scope="module", params=["bytes", "unigram"])
def processor(request):
    pytest.importorskip("transformers", reason="the processor needs transformers")
    pytest.importorskip("torch", reason="the processor needs torch")
    from support.tiny_rahf import make_processor

    from pqpp_feedback.rahf import RahfProcessor

    byte_processor = make_processor()
    if request.param == "unigram":
        return RahfProcessor(byte_processor.image_processor, make_unigram_tokenizer())
    return byte_processor


class TestProcessor:
    @pytest.mark.parametrize("prompt", UNUSUAL_PROMPTS)
    def test_encodes_each_word_separately(self, processor, prompt):
        ids, words = processor.encode_words(prompt), split_into_words(prompt)
        assert len(ids) == len(words) and all(ids)
        assert processor.encode_fitting_words(prompt) == ids
        assert processor.encode_input(prompt)[:-1] == [token for word in ids for token in word]

    @pytest.mark.parametrize("prompt", UNUSUAL_PROMPTS)
    def test_targets_have_suffix_after_marked_words(self, processor, prompt):
        words = processor.encode_words(prompt)
        for marked in range(len(words)):
            labels = [int(i != marked) for i in range(len(words))]
            if [word[0] for word in words[marked + 1 : marked + 2]] == processor.suffix_ids[:1]:
                continue  # the decoder cannot distinguish the suffix from the next word
            end = processor.tokenizer.eos_token_id
            decoder = WordDecoder(words, processor.suffix_ids, end, 0.5)
            decoded, target = decode(decoder, {marked}), processor.encode_target(prompt, labels)
            assert target[:-1] == decoded[: len(target) - 1]

    def test_truncates_long_prompts_between_words(self, processor):
        words = processor.encode_fitting_words("word " * 500)
        assert 0 < len(words) < 500
        assert len(processor.encode_input("word " * 500)) <= processor.max_length


def make_unigram_tokenizer():
    """Return a unigram tokenizer with normalisation and word marks as in T5."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    pieces = ["<pad>", "</s>", "<unk>", "▁", "▁a", "▁red", "▁cat", "_", "0", *"abcdeinortw"]
    tokenizer = Tokenizer(models.Unigram([(piece, -float(i)) for i, piece in enumerate(pieces)], 2))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    names = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)
