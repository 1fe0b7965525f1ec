"""`pqpp annotate demo`: open a complete small study on drawn pictures."""

from __future__ import annotations

from pqpp_cli.annotate.groups import needing_annotate
from pqpp_cli.command import Command
from pqpp_files.options.option import option


class AnnotateDemo(Command):
    """Draw pictures, let people made up judge a part of them, and serve the study."""

    EPILOG = """examples:
  pqpp annotate demo
  pqpp annotate demo --output /tmp/demo --port 8080 --no-browser

Two people made up are the control group, three have done a part of the work: two as well as they
can, one at random. The owner's page opens; the other link that is printed is yours to judge by. The
study stays in its folder, and is opened again by the same command.
"""
    output: str = option(
        "pqpp-annotation-demo", "the folder of the study", metavar="DIR", path="output"
    )
    port: int = option(8000, "port to listen at", metavar="N")
    browser: bool = option(True, "print the links only")

    def run(self) -> None:
        """Make the demo's study, or take the one that is there, and serve it."""
        with needing_annotate():
            from pqpp_annotation.demo import demo

        demo(self.output, self.port, opens=self.browser)
