"""The demo page of a predictor, and its Space on the Hub.

The part of the link after `#` never leaves the browser, so no server can log it.
"""

import re
from pathlib import Path
from typing import Any

import pqpp_hub
from pqpp_files.extras import require_extra
from pqpp_files.names import is_repository_id
from pqpp_files.paths import expand
from pqpp_hub import PushReport, space
from pqpp_hub.card import render_card
from pqpp_models.demo import answer
from pqpp_models.predictor import Predictor
from pqpp_models.registry import DEFAULT_PREDICTOR, NOTES, PREDICTORS

_FOLDER = Path(__file__).parent
_ABOUT = """# How well will this prompt do?

Predict, before generating, whether images will match the prompt, and whether image search will
find it. `{name}` only reads the text. Prompts are not stored."""
_INFO = (
    "One prompt per line, or a table with a column `prompt`. "
    f"Up to {answer.SIDE_BY_SIDE} are shown side by side, up to {answer.MOST_LISTED} as a table, "
    f"up to {answer.MOST_PROMPTS:,} as a file; {answer.LONGEST:,} characters per prompt."
)
_FILE = """<label>Or open a file; it stays in this browser:
<input type="file" id="file" accept=".csv,.tsv,.txt"></label>"""
_EXAMPLES = [
    "a man riding a wave on a surfboard",
    "two men in suits juggle seven oranges",
    "a cat to the left of a dog on a sofa",
    "a shop sign that says 'OPEN'",
    "the silence after an argument",
]


def build_demo_page(predictor: str | Predictor = DEFAULT_PREDICTOR) -> Any:
    """Build the demo page of a predictor with gradio.

    Args:
        predictor: A predictor of texts, or what `Predictor.from_pretrained` accepts.

    Raises:
        PredictorError: The predictor needs more than texts.
        MissingExtraError: The extra `demo` is not installed.

    Example:
        >>> build_demo_page("static").title  # doctest: +SKIP
        'pqpp: how well will this prompt do?'
    """
    with require_extra("the web demo", "demo"):
        import gradio
    if isinstance(predictor, str):
        predictor = Predictor.from_pretrained(predictor)
    answerer = answer.AnswerRenderer(predictor)
    render = space.add_message(answerer.render)

    def render_if_opened(text: str | None, target: str) -> tuple[Any, ...]:
        return (gradio.skip(), gradio.skip()) if text is None else render(text, target)

    with space.make_blocks("pqpp: how well will this prompt do?") as page:
        gradio.Markdown(_ABOUT.format(name=predictor.title))
        box = gradio.Textbox(label="Prompts", info=_INFO, lines=3, max_lines=12, elem_id="box")
        examples = gradio.Examples([[prompt] for prompt in _EXAMPLES], box, elem_id="examples")
        gradio.HTML(_FILE, elem_id="open")
        target = gradio.Radio(
            [(answer.describe_target(name), name) for name in answerer.targets],
            value=answerer.targets[0],
            label="Explain this target",
            elem_id="explain",
        )
        with gradio.Row():
            button = gradio.Button("Predict", variant="primary", elem_id="predict")
            link = gradio.Button("Copy the link to these prompts", elem_id="link")
        status = space.make_status_box()
        output = gradio.HTML(elem_id="answer")
        private: dict[str, Any] = {"api_visibility": "private"}
        event: dict[str, Any] = {"inputs": [box, target], "outputs": [output, status]}
        event |= {"show_progress": "minimal", "show_progress_on": [status]}
        write_link = "(text, target) => window.pqpp.writeLink(text, target)"
        gradio.on([button.click, box.submit], render, js=write_link, api_name="predict", **event)
        click = "() => document.querySelector('#predict').click()"
        examples.load_input_event.then(None, js=click, **private)
        link.click(None, None, status, js="() => window.pqpp.copyLink()", **private)
        read_link = "() => window.pqpp.readLink()"
        only_if_opened = "(text, target) => [window.pqpp.opened ? text : null, target]"
        loaded = page.load(None, None, [box, target], js=read_link, **private)
        loaded.then(render_if_opened, js=only_if_opened, **event, **private)
    return page


def serve_demo(
    predictor: str | Predictor = DEFAULT_PREDICTOR, host: str | None = None, port: int | None = None
) -> None:
    """Serve the demo page of a predictor until it is stopped.

    Args:
        host, port: As in `serve_page`.

    Raises:
        PredictorError: The predictor needs more than texts.
        HubError: The address is not available.
        MissingExtraError: The extra `demo` is not installed.

    Example:
        >>> serve_demo("static", port=7860)  # doctest: +SKIP
        http://127.0.0.1:7860/ - stop it with Ctrl-C
    """
    head = f"<script>{(_FOLDER / 'page.js').read_text(encoding='utf-8')}</script>"
    space.serve_page(build_demo_page(predictor), host, port, (_FOLDER / "page.css",), head)


def push_space(name: str, repo_id: str, folder: str | None = None, **options: Any) -> PushReport:
    """Push the demo page of a predictor to the Hub as a Space, in one commit.

    Other files in the Space are kept.

    Args:
        name: A shipped predictor, or the Hub repository of a text predictor.
        repo_id: `OWNER/NAME` of the Space.
        folder: A local copy of the predictor's repository.
        options: `private`, `revision`, `dry_run` and `token` of `pqpp_hub.push_files`.

    Returns:
        A report of the changes.

    Raises:
        HubError: `name` is a local folder, or the Hub cannot be reached or refuses.
        PredictorError: The predictor needs more than texts, or does not exist.

    Example:
        >>> push_space("static", "OWNER/NAME", dry_run=True).added  # doctest: +SKIP
        ['README.md', 'app.py', 'requirements.txt']
    """
    is_known = name in PREDICTORS or folder is not None
    if not is_known and (expand(name).exists() or not is_repository_id(name)):
        raise pqpp_hub.HubError(
            f"a Space cannot read {name}, which is not on the Hub; push the predictor with "
            f"its Space: pqpp models push {name} OWNER/REPOSITORY --space {repo_id}"
        )
    files = build_predictor_space(name, folder)
    message = f"Upload the page of {name} with pqpp"
    return pqpp_hub.push_files(files, repo_id, "space", message, **options)


def build_predictor_space(name: str, folder: str | None = None) -> dict[str, bytes]:
    """Build the files of a predictor's Space, by name.

    Args:
        name, folder: As in `push_space`.

    Raises:
        PredictorError: The predictor needs more than texts, or there is none.

    Example:
        >>> print(build_predictor_space("static")["app.py"].decode(), end="")
        from pqpp_models.demo import serve_demo
        <BLANKLINE>
        serve_demo("static")
    """
    predictor = answer.AnswerRenderer(Predictor.from_pretrained(folder or name)).predictor
    _, needs = NOTES.get(predictor.name, ("", ""))
    card = render_card(
        "spaces/predictor",
        name=name,
        targets=list(predictor.targets),
        model="" if name in PREDICTORS else name,
        is_default=name == DEFAULT_PREDICTOR,
        sdk_version=space.SDK_VERSION,
    )
    extras = re.findall(r"pqpp\[(\w+)\]", needs)
    app = space.make_app("pqpp_models.demo", "serve_demo", name)
    return space.make_space_files(card, app, *extras)
