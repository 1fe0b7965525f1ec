"""`pqpp assess vistar`: scores after VISTAR."""

import argparse

from pqpp_cli.output import OutputFile

HELP = "six scores after VISTAR: text, light, scenes, characters, penetration, geometry"
EPILOG = r"""examples:
  pqpp assess vistar --image-dir generated --only text_rendering
  pqpp assess vistar --image-dir images --dataset vistar --data-dir DIR --split core
  pqpp assess vistar --image-dir images --model depth=OWNER/REPOSITORY
  pqpp assess vistar --image-dir images --only hwpq --chat-url http://localhost:8000/v1 \
    --chat-model NAME --questionnaires questionnaires --most-calls 1000
  pqpp assess vistar --evidence verdicts.parquet --output other.parquet

A score looks at a prompt that has what it needs; another row says what is lacking. Columns or
control parameters of a prompt: text; light; panels, subject, layout; count, postures, expressions;
objects. Every number that the paper does not print is in
pqpp_feedback/vistar/vistar_choices.yaml.
"""
AGREEMENT = (
    "How well these scores agree with people is not known: the paper prints 77 to 85 % of "
    "pairs for its own, of which it leaves many numbers open."
)
SCORES = {
    "text_rendering": "pqpp_feedback.vistar.text_rendering:TextRenderingScore",
    "light": "pqpp_feedback.vistar.light:Light",
    "composed_scene": "pqpp_feedback.vistar.composed_scene:ComposedScene",
    "characters": "pqpp_feedback.vistar.characters:Characters",
    "penetration": "pqpp_feedback.vistar.penetration:PenetrationScore",
    "geometry": "pqpp_feedback.vistar.geometry:Geometry",
}
HWPQ = "hwpq"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what only this assessor has."""
    parser.add_argument(
        "--only",
        metavar="NAME[,...]",
        help=f"which: {', '.join(SCORES)} (default: these), {HWPQ}; text_rendering needs no "
        "download",
    )
    parser.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="ROLE=NAME_OR_PATH",
        help="another model for a role: detector, segmenter, depth, similarity, features, pose, "
        "expression, anomaly; may be repeated",
    )
    parser.add_argument(
        "--weighting",
        choices=("corrected", "printed"),
        help="of penetration: with the confidences as the paper means it, or as it prints it "
        "(default: corrected)",
    )
    parser.add_argument(
        "--references",
        metavar="DIR",
        help="images without flaws, some hundred, for the sixth cue of geometry (default: it is "
        "left out)",
    )

    parser.add_argument(
        "--card",
        type=OutputFile,
        metavar="FILE",
        help="also write the card, which says every choice that the paper leaves open",
    )
    group = parser.add_argument_group("with --only hwpq")
    group.add_argument(
        "--chat-url",
        metavar="URL",
        help="an endpoint that speaks OpenAI's chat completions, up to /v1; its key comes from the "
        "variable PQPP_CHAT_KEY (default: the models run in this process)",
    )
    group.add_argument(
        "--chat-model",
        metavar="NAME",
        help="who answers: a name at the endpoint, or a folder or "
        "OWNER/REPOSITORY of a model of images and text",
    )
    group.add_argument(
        "--writer", metavar="NAME", help="who writes questionnaires (default: who answers)"
    )
    group.add_argument(
        "--questionnaires",
        metavar="DIR",
        help="where questionnaires are kept, one a prompt; none is ever replaced",
    )
    group.add_argument("--answers", metavar="DIR", help="where answers are kept (default: nowhere)")
    group.add_argument(
        "--votes", type=int, metavar="K", default=3, help="answers a question (default: 3)"
    )
    group.add_argument("--most-calls", type=int, metavar="N", help="how many calls are allowed")
    group.add_argument(
        "--most-money", type=float, metavar="SUM", help="how much may be spent, with --prices"
    )
    group.add_argument(
        "--prices",
        metavar="IN,OUT",
        help="what a million tokens of questions and of replies cost",
    )


def open_assessors(options: argparse.Namespace) -> list:
    """Load the models of the wanted scores."""
    import importlib

    from pqpp_cli.errors import CommandError
    from pqpp_cli.options import names_of
    from pqpp_feedback.vistar.geometry import reference_files
    from pqpp_feedback.vistar.sight import ROLES, Sight

    wanted = names_of(options.only) or list(SCORES)
    for name in wanted:
        if name not in (*SCORES, HWPQ):
            raise CommandError(f"--only {name}: choose among {', '.join(SCORES)}, {HWPQ}")
    names = {}
    for given in options.model:
        role, equals, name = given.partition("=")
        if not equals or not name or role not in ROLES:
            raise CommandError(
                f"--model {given}: write ROLE=NAME_OR_PATH; roles: {', '.join(ROLES)}"
            )
        names[role] = name
    sight = None if options.evidence else Sight(names, options.device, options.dtype)
    found = []
    for name in wanted:
        if name == HWPQ:
            found.append(_open_hwpq(options))
            continue
        module, _, kind = SCORES[name].partition(":")
        score = getattr(importlib.import_module(module), kind)
        given = {"weighting": options.weighting} if name == "penetration" else {}
        if name == "geometry" and options.references:
            given["references"] = reference_files(options.references)
        found.append(score() if name == "text_rendering" else score(sight, **given))
    return found


def _open_hwpq(options: argparse.Namespace):
    """Open the questionnaires and the models that write and answer them, within the limits."""
    from pqpp_cli.assess import prompts_of
    from pqpp_cli.errors import CommandError
    from pqpp_cli.options import chat_budget
    from pqpp_feedback.assess.pictures import find_pictures
    from pqpp_feedback.vistar.hwpq.answers import Answers
    from pqpp_feedback.vistar.hwpq.hwpq import HwpqScore, likely_request, planned_calls
    from pqpp_feedback.vistar.hwpq.questionnaires import Questionnaires

    if options.evidence:
        return HwpqScore()
    for name in ("chat_model", "questionnaires"):
        if not getattr(options, name):
            raise CommandError(f"--{name.replace('_', '-')}: --only hwpq needs it")
    if options.votes < 1:
        raise CommandError(f"--votes {options.votes}: 1 or more is needed")
    budget = options.budget = chat_budget(options)
    answerer = _chat(options.chat_model, options, budget)
    same = options.writer in (None, options.chat_model)
    writer = answerer if same else _chat(options.writer, options, budget)
    kept = Questionnaires(options.questionnaires, writer)
    pictures, _ = find_pictures(options.image_dir, prompts_of(options))
    budget.plan(planned_calls(pictures, kept, options.votes), likely_request())
    return HwpqScore(kept, Answers(answerer, options.votes, options.answers))


def _chat(name: str, options: argparse.Namespace, budget):
    if options.chat_url:
        from pqpp_models.chat.endpoint import Endpoint

        return Endpoint(options.chat_url, name, budget)
    from pqpp_models.chat.in_process import open_in_process

    return open_in_process(name, budget, options.device, options.dtype, sees=True)


def finish(options: argparse.Namespace) -> None:
    """Say what the calls were and cost, and write the card."""
    from pqpp_cli.assess import note
    from pqpp_cli.output import emit
    from pqpp_feedback.vistar.choices import card

    budget = getattr(options, "budget", None)
    if budget:
        note(budget.line())
    if options.card:
        emit(card(), options.card)
