"""`pqpp assess vistar`: scores after VISTAR."""

import argparse

HELP = "six scores after VISTAR: text, light, scenes, characters, penetration, geometry"
EPILOG = """examples:
  pqpp assess vistar --image-dir generated --only text_rendering
  pqpp assess vistar --image-dir images --dataset vistar --data-dir DIR --split core
  pqpp assess vistar --image-dir images --model depth=OWNER/REPOSITORY
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
    "text_rendering": "pqpp_feedback.vistar.text_rendering:TextRendering",
    "light": "pqpp_feedback.vistar.light:Light",
    "composed_scene": "pqpp_feedback.vistar.composed_scene:ComposedScene",
    "characters": "pqpp_feedback.vistar.characters:Characters",
    "penetration": "pqpp_feedback.vistar.penetration:Penetration",
    "geometry": "pqpp_feedback.vistar.geometry:Geometry",
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what only this assessor has."""
    parser.add_argument(
        "--only",
        metavar="NAME[,...]",
        help=f"which: {', '.join(SCORES)} (default: all); text_rendering needs no download",
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


def open_assessors(options: argparse.Namespace) -> list:
    """Load the models of the wanted scores."""
    import importlib

    from pqpp_cli.errors import CommandError
    from pqpp_cli.options import names_of
    from pqpp_feedback.vistar.geometry import reference_files
    from pqpp_feedback.vistar.sight import ROLES, Sight

    wanted = names_of(options.only) or list(SCORES)
    for name in wanted:
        if name not in SCORES:
            raise CommandError(f"--only {name}: choose among {', '.join(SCORES)}")
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
        module, _, kind = SCORES[name].partition(":")
        score = getattr(importlib.import_module(module), kind)
        given = {"weighting": options.weighting} if name == "penetration" else {}
        if name == "geometry" and options.references:
            given["references"] = reference_files(options.references)
        found.append(score() if name == "text_rendering" else score(sight, **given))
    return found
