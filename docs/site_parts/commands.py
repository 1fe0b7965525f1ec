"""Generate one page per command from the parser of the command line."""

import argparse
import re

_WIDTH = 88


def make_pages() -> dict[str, str]:
    """Return the generated pages: reStructuredText or Markdown by path below `made`."""
    from pqpp_cli.commands import build_parser

    top = build_parser()
    pages = {}
    for name, parser in _list_children(top).items():
        pages[f"commands/{name}.md"] = f"# pqpp {name}\n\n" + "\n".join(_describe(parser, 2))
    return pages


def _list_children(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _describe(parser: argparse.ArgumentParser, level: int):
    formatter = argparse.HelpFormatter(parser.prog, width=_WIDTH)
    formatter.add_usage(parser.usage, parser._actions, parser._mutually_exclusive_groups, "")
    yield from (_format_paragraph(parser.description or ""), "")
    yield from ("```text", formatter.format_help().strip(), "```", "")
    for group in parser._action_groups:
        entries = [
            _format_entry(action, formatter)
            for action in group._group_actions
            if _is_visible(action)
        ]
        if entries:
            yield f"**{group.title[:1].upper()}{group.title[1:]}**\n"
            if group.description:
                yield _format_paragraph(group.description) + "\n"
            yield from entries
    if parser.epilog:
        yield from ("```text", parser.epilog.strip(), "```", "")
    for child in _list_children(parser).values():
        yield f"{'#' * level} {child.prog}\n"
        yield from _describe(child, level + 1)


def _is_visible(action: argparse.Action) -> bool:
    hidden = argparse.SUPPRESS, "==SUPPRESS=="
    return action.help not in hidden and not isinstance(
        action, argparse._HelpAction | argparse._SubParsersAction
    )


def _format_entry(action: argparse.Action, formatter: argparse.HelpFormatter) -> str:
    head = formatter._format_action_invocation(action)
    text = _format_paragraph(formatter._expand_help(action) if action.help else "")
    return f"`` {head} ``\n: {text or 'No words.'}\n"


def _format_paragraph(text: str) -> str:
    """Return help text as Markdown, with all markup escaped except backticks."""
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))
    return "".join(
        part if number % 2 else re.sub(r"([\\*_<>\[\]$|#{}~^])", r"\\\1", part)
        for number, part in enumerate(parts)
    )
