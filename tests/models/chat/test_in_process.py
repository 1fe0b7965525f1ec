"""Chats with a local model: seeds, images and budgets."""

import json

import pytest

pytest.importorskip("torch")
Image = pytest.importorskip("PIL.Image")

from support.tiny_chat import save_chat  # noqa: E402

from pqpp_backbones.chat.chat import Budget, Request  # noqa: E402
from pqpp_backbones.chat.models import LocalChat  # noqa: E402
from pqpp_backbones.errors import ModelError, ServiceError  # noqa: E402
from pqpp_backbones.pretrained import load_model  # noqa: E402


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    folder = save_chat(tmp_path_factory.mktemp("chat"))
    return load_model(str(folder), "AutoModelForImageTextToText", "model", "cpu")


def test_same_seed_gives_same_reply(loaded):
    chat = LocalChat(loaded.model, loaded.processor, "tiny", Budget())
    image = Image.new("RGB", (40, 30), "red")

    def ask(seed, temperature=1.0, image=image):
        return chat.ask(Request("what is it", "be kind", image, None, seed, temperature, 8)).text

    assert ask(1) == ask(1) and len({ask(seed) for seed in range(6)}) > 1
    assert ask(1, 0.0) == ask(2, 0.0)
    assert isinstance(ask(0, 0.0, None), str)


def test_counts_tokens_and_enforces_budget(loaded):
    chat = LocalChat(loaded.model, loaded.processor, "tiny", Budget(1, prices={"": (0, 1e6)}))
    reply = chat.ask(Request("hi", max_tokens=3))
    assert 0 < reply.tokens_out <= 3 and chat.budget.ledger.spent == reply.tokens_out
    with pytest.raises(ServiceError):
        chat.ask(Request("hi"))


def test_answers_from_a_vocabulary_below_twenty_tokens(loaded):
    chat = LocalChat(loaded.model, loaded.processor, "tiny", Budget())
    head = chat.model.lm_head
    whole, bias = head.weight, head.bias
    try:
        head.weight = type(whole)(whole[:12].clone())
        assert set(chat.ask(Request("hi", max_tokens=1, answers=("a", "b"))).probs) >= {"a", "b"}
    finally:
        head.weight, head.bias = whole, bias


def test_failure_of_the_model_is_one_typed_line(loaded, monkeypatch):
    chat = LocalChat(loaded.model, loaded.processor, "tiny", Budget())
    monkeypatch.setattr(loaded.processor, "chat_template", "{{ messages[9].role }}")
    with pytest.raises(ModelError, match="tiny failed"):
        chat.ask(Request("hi"))


def test_a_template_receives_only_text(loaded, monkeypatch):
    render = loaded.processor.apply_chat_template

    def render_text(messages, **form):  # transformers before 5.23 lets a template save an image
        return render(json.loads(json.dumps(messages)), **form)

    monkeypatch.setattr(loaded.processor, "apply_chat_template", render_text)
    request = Request("hi", image=Image.new("RGB", (40, 30), "red"), max_tokens=2)
    assert LocalChat(loaded.model, loaded.processor, "tiny").ask(request).tokens_out


def test_settings_of_a_model_cannot_compile_it(loaded, monkeypatch):
    from transformers import CompileConfig

    compiling = CompileConfig()
    monkeypatch.setattr(compiling, "_compile_all_devices", True)  # as if on a GPU
    monkeypatch.setattr(loaded.model.generation_config, "compile_config", compiling)
    monkeypatch.setattr(loaded.model.generation_config, "cache_implementation", "static")
    monkeypatch.setattr("torch.compile", lambda *_, **__: pytest.fail("compiled"))
    chat = LocalChat(loaded.model, loaded.processor, "tiny", Budget())
    assert 0 < chat.ask(Request("hi", max_tokens=2)).tokens_out <= 2
