"""A tiny random model of images and text chats in this process: seeds, images, limits."""

import pytest

pytest.importorskip("torch")
Image = pytest.importorskip("PIL.Image")

from support.tiny_chat import save_chat, save_text_chat  # noqa: E402

from pqpp_backbones.chat.chat import Budget, BudgetError, ChatError, Request  # noqa: E402
from pqpp_backbones.chat.in_process import InProcess, open_in_process  # noqa: E402
from pqpp_backbones.pretrained import load_model  # noqa: E402
from pqpp_files.errors import PqppError  # noqa: E402


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    folder = save_chat(tmp_path_factory.mktemp("chat"))
    return load_model(str(folder), "AutoModelForImageTextToText", "model", "cpu")


def test_the_same_seed_gives_the_same_reply(loaded):
    chat = InProcess(loaded.model, loaded.processor, "tiny", Budget())
    image = Image.new("RGB", (40, 30), "red")

    def said(seed, temperature=1.0, image=image):
        return chat.ask(Request("what is it", "be kind", image, None, seed, temperature, 8)).text

    assert said(1) == said(1) and len({said(seed) for seed in range(6)}) > 1
    assert said(1, 0.0) == said(2, 0.0)
    assert isinstance(said(0, 0.0, None), str)


def test_it_is_counted_and_limited(loaded):
    chat = InProcess(loaded.model, loaded.processor, "tiny", Budget(most_calls=1, price_out=1e6))
    reply = chat.ask(Request("hi", most_tokens=3))
    assert 0 < reply.tokens_out <= 3 and chat.budget.money == reply.tokens_out
    with pytest.raises(BudgetError):
        chat.ask(Request("hi"))


def test_a_model_of_text_alone_is_told_by_its_configuration(tmp_path):
    chat = open_in_process(str(save_text_chat(tmp_path)), Budget(), "cpu")
    assert type(chat.model).__name__ == "LlamaForCausalLM"
    asked = chat.processor.apply_chat_template(
        [{"role": "system", "content": "be kind"}, {"role": "user", "content": "hi"}],
        add_generation_prompt=True,
    )
    reply = chat.ask(Request("hi", "be kind", None, None, 1, 1.0, 5))
    assert reply.tokens_in == len(asked["input_ids"])  # no list of parts is spelt out
    assert reply == chat.ask(Request("hi", "be kind", None, None, 1, 1.0, 5))
    with pytest.raises(ChatError, match="sees no images"):
        chat.ask(Request("hi", image=Image.new("RGB", (4, 4))))
    with pytest.raises(PqppError, match="holds no usable model of images and text"):
        open_in_process(str(tmp_path), sees=True)


def test_a_model_without_a_template_is_told(tmp_path):
    chat = open_in_process(str(save_text_chat(tmp_path, None)), Budget(most_calls=1), "cpu")
    with pytest.raises(ChatError, match="has no chat template"):
        chat.ask(Request("hi"))
    assert chat.budget.calls == 0
