"""The page itself: a box for prompts, what is explained, the answer below, a link that holds both.

The link's part behind `#` never leaves the browser, so that no server can log it.
"""

from pathlib import Path
from typing import Any

from pqpp_files.extras import needing
from pqpp_hub.space import blank_page, said_here, serve_page, telling
from pqpp_models.demo.answer import (
    LONGEST,
    MOST_LISTED,
    MOST_PROMPTS,
    SIDE_BY_SIDE,
    Answerer,
    called,
)
from pqpp_models.explain.page import STYLE
from pqpp_models.predictor import Predictor
from pqpp_models.registry import DEFAULT_PREDICTOR

_HERE = Path(__file__).parent
_ABOUT = """# How well will this prompt do?

Before any image is made or searched: will generated images show what a prompt says, and will image
search find it? `{name}` predicts it from the words alone. Nothing that you type is kept."""
_INFO = (
    f"One prompt on each line, or a table with a column `prompt`. Up to {SIDE_BY_SIDE} are shown "
    f"side by side, up to {MOST_LISTED} as a table, up to {MOST_PROMPTS:,} as a file; each may "
    f"have {LONGEST:,} characters."
)
_FILE = """<label>Or open a file of them, which stays in this browser:
<input type="file" id="file" accept=".csv,.tsv,.txt"></label>"""
_EXAMPLE = "a man riding a wave on a surfboard\ntwo men in suits juggle seven oranges"


def demo_page(predictor: str | Predictor = DEFAULT_PREDICTOR, data_dir: str | None = None) -> Any:
    """Return the page of a predictor, as a gradio `Blocks`.

    Args:
        predictor: A predictor of texts, or what `Predictor.from_pretrained` takes.
        data_dir: Where judged prompts lie, which are shown as neighbours; `PQPP_DATA_DIR` and
            earlier downloads are looked at too.

    Raises:
        PredictorError: The predictor needs more than texts.
        MissingExtraError: The extra `demo` is not installed.

    Example:
        >>> demo_page("static").title  # doctest: +SKIP
        'pqpp: how well will this prompt do?'
    """
    with needing("the web demo", "demo"):
        import gradio
    if isinstance(predictor, str):
        predictor = Predictor.from_pretrained(predictor)
    answerer = Answerer(predictor, data_dir)
    choices = answerer.explained()
    ask = telling(answerer.html)

    def ask_if_held(text: str | None, target: str) -> tuple[Any, ...]:
        return (gradio.skip(), gradio.skip()) if text is None else ask(text, target)

    with blank_page("pqpp: how well will this prompt do?") as page:
        gradio.Markdown(_ABOUT.format(name=predictor.called))
        box = gradio.Textbox(
            label="Prompts", info=_INFO, placeholder=_EXAMPLE, lines=3, max_lines=12, elem_id="box"
        )
        gradio.HTML(_FILE, elem_id="open")
        target = gradio.Radio(
            [(called(name), name) for name in choices],
            value=choices[0],
            label="Explain the words for",
            elem_id="explain",
        )
        with gradio.Row():
            button = gradio.Button("Predict", variant="primary", elem_id="ask")
            link = gradio.Button("Copy the link to these prompts", elem_id="link")
        said = said_here()
        answer = gradio.HTML(elem_id="answer")
        gradio.on(
            [button.click, box.submit],
            ask,
            [box, target],
            [answer, said],
            js="(text, target) => window.pqpp.hold(text, target)",
            show_progress="hidden",
            api_name="predict",
        )
        link.click(None, None, said, js="() => window.pqpp.copy()", api_visibility="private")
        page.load(
            None, None, [box, target], js="() => window.pqpp.held()", api_visibility="private"
        ).then(
            ask_if_held,
            [box, target],
            [answer, said],
            js="(text, target) => [window.pqpp.opened ? text : null, target]",
            show_progress="hidden",
            api_visibility="private",
        )
    return page


def serve_demo(
    predictor: str | Predictor = DEFAULT_PREDICTOR,
    host: str | None = None,
    port: int | None = None,
    data_dir: str | None = None,
) -> None:
    """Serve the page of a predictor until it is told to stop; a Space does the same.

    Args:
        predictor: As for `demo_page`.
        host: As for `serve_page`.
        port: As for `serve_page`.
        data_dir: As for `demo_page`.

    Raises:
        PredictorError: The predictor needs more than texts.
        HubError: The address cannot be listened at.
        MissingExtraError: The extra `demo` is not installed.

    Example:
        >>> serve_demo("static", port=7860)  # doctest: +SKIP
        http://127.0.0.1:7860/ - stop it with Ctrl-C
    """
    script = (_HERE / "page.js").read_text(encoding="utf-8")
    head = f"<script>{script}</script><style>{STYLE}</style>"
    serve_page(demo_page(predictor, data_dir), host, port, (_HERE / "page.css",), head)
