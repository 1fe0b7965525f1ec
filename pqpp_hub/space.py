"""Create and serve the gradio pages of pqpp's Spaces.

Pages load nothing from other hosts, and visitors' texts are not logged or stored.
"""

import contextlib
import json
import logging
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pqpp_files.errors import PqppError
from pqpp_files.extras import list_pins, require_extra
from pqpp_hub.push import HubError

SDK_VERSION = "6.31.0"
"""The gradio that a Space runs; the cards of the metrics name it too."""

_LOG = logging.getLogger(__name__)
_FONT = ("system-ui", "-apple-system", "Segoe UI", "Roboto", "Noto Sans", "sans-serif")
_MONO = ("ui-monospace", "Consolas", "DejaVu Sans Mono", "monospace")
_CSS = Path(__file__).with_name("space.css")


def make_blocks(title: str) -> Any:
    """Return an empty gradio `Blocks` without telemetry.

    Raises:
        MissingExtraError: gradio is not installed.

    Example:
        >>> with make_blocks("Toy") as page:  # doctest: +SKIP
        ...     gradio.Markdown("# Toy")
    """
    with require_extra("this page", "demo"):
        import gradio
    return gradio.Blocks(title=title, analytics_enabled=False)


def make_status_box() -> Any:
    """Return an empty gradio `HTML` for messages, which screen readers announce."""
    import gradio

    return gradio.HTML(elem_id="status", js_on_load="element.setAttribute('aria-live', 'polite');")


def add_message(
    function: Callable[..., Any], refusals: tuple[type[Exception], ...] = ()
) -> Callable[..., tuple[Any, str]]:
    """Wrap a function so that it returns its value, or None after an error, and an HTML message.

    The message of a `PqppError` or a refusal is shown. Other errors are logged by type and location
    only, since their messages may contain the visitor's text.

    Args:
        refusals: Further errors whose messages are shown.

    Example:
        >>> add_message(lambda text: 1 / len(text))("ab")
        (0.5, '<p role="status">The answer is below.</p>')
        >>> add_message(float, refusals=(ValueError,))("a<b")
        (None, '<p role="alert">could not convert string to float: &#39;a&lt;b&#39;</p>')
    """
    from markupsafe import Markup

    alert = Markup('<p role="alert">{}</p>')
    shown_errors: tuple[type[Exception], ...] = (PqppError, *refusals)

    def answer(*inputs: Any) -> tuple[Any, str]:
        try:
            return function(*inputs), '<p role="status">The answer is below.</p>'
        except shown_errors as error:
            return None, str(alert.format(" ".join(str(error).split())))
        except Exception as error:
            _LOG.error(_describe_error(error))
            return None, str(alert.format("Something went wrong. Nothing was stored."))

    return answer


def serve_page(
    page: Any,
    host: str | None = None,
    port: int | None = None,
    css: tuple[Path, ...] = (),
    head: str = "",
) -> None:
    """Serve a page until Ctrl-C or SIGTERM.

    Args:
        page: A gradio `Blocks`.
        host: The address to listen on; default: GRADIO_SERVER_NAME, or else this machine only.
        port: The port, or 0 for any free one; default: GRADIO_SERVER_PORT, or else the first free
            one from 7860.
        css: Style sheets in addition to `space.css`.
        head: HTML for the head of the page.

    Raises:
        HubError: The server cannot listen on the address.
    """
    import gradio

    # The colours are set by space.css.
    theme = gradio.themes.Default(font=list(_FONT), font_mono=list(_MONO), primary_hue="blue")
    stopped = threading.Event()
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stopped.set())
    with _log_errors_without_content():
        try:
            # For an invalid host, gradio prints a traceback.
            socket.getaddrinfo(host or "127.0.0.1", port)
            if port == 0:
                with socket.create_server((host or "127.0.0.1", 0)) as server:
                    port = server.getsockname()[1]
            _, url, _ = page.launch(
                server_name=host,
                server_port=port,
                share=False,
                inline=False,
                quiet=True,
                prevent_thread_lock=True,
                ssr_mode=False,
                run_history=False,  # it would store visitors' input
                enable_monitoring=False,
                max_file_size="1b",  # no page accepts files
                footer_links=[],
                theme=theme,
                css_paths=[_CSS, *css],
                head=head,
            )
        except (OSError, OverflowError, UnicodeError):
            fault = f"the page cannot be served on {host or 'this machine'}, port {port or 7860}"
            raise HubError(f"{fault}; choose another `host` or `port`") from None
        sys.stderr.write(f"{url} - stop it with Ctrl-C\n")
        stopped.wait()
        page.close(verbose=False)


@contextlib.contextmanager
def _log_errors_without_content() -> Iterator[None]:
    """Make gradio and uvicorn log only the type and location of errors in a block."""

    def remove_content(record: logging.LogRecord) -> bool:
        if record.exc_info and record.exc_info[1]:
            record.msg, record.args = _describe_error(record.exc_info[1]), ()
            record.exc_info = record.exc_text = None
        return True

    print_exc, server = traceback.print_exc, logging.getLogger("uvicorn.error")
    traceback.print_exc = lambda *_, **__: _LOG.error(_describe_error(sys.exception()))
    server.addFilter(remove_content)
    try:
        yield
    finally:
        traceback.print_exc = print_exc
        server.removeFilter(remove_content)


def _describe_error(error: BaseException | None) -> str:
    """Return an error's type, and the file and line that raised it."""
    frames = traceback.extract_tb(error.__traceback__) if error else []
    where = f" in {frames[-1].filename}, line {frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{where}"


def make_space_files(card: str, app: str, *extras: str) -> dict[str, bytes]:
    """Return the content of a Space's files by name.

    Args:
        card: The content of README.md, whose front matter configures the Space.
        app: The content of app.py.
        *extras: The extras of pqpp to install.

    Example:
        >>> list(make_space_files("# Toy", "print()"))
        ['README.md', 'app.py', 'requirements.txt']
    """
    pins = "".join(f"{line}\n" for line in list_pins(*extras))
    return {"README.md": card.encode(), "app.py": app.encode(), "requirements.txt": pins.encode()}


def make_app(module: str, function: str, argument: str) -> str:
    """Return the content of an `app.py` that serves a page by calling a function of pqpp.

    Example:
        >>> print(make_app("pqpp_models.demo", "serve_demo", "static"), end="")
        from pqpp_models.demo import serve_demo
        <BLANKLINE>
        serve_demo("static")
    """
    return f"from {module} import {function}\n\n{function}({json.dumps(argument)})\n"
