"""`pqpp models autoload`: switch the registration at interpreter start on or off."""

from __future__ import annotations

from pqpp_cli.command import Command
from pqpp_files.options.option import NEEDED, option


class ModelsAutoload(Command):
    """Put the files into this environment that make load_dataset("pqpp") work without an import,
    take them away, or say which is the case.
    """

    EPILOG = """examples:
  pqpp models autoload status
  pqpp models autoload off   # `register()` of pqpp_datasets.registration, pqpp_metrics.registration
                             # and pqpp_models.registration then does it by hand
                             # stays off when pqpp is installed again
  pqpp models autoload on    # also for an editable install, which does not get the files

For one process, PQPP_NO_AUTOLOAD=1 switches it off.
"""
    action: str = option(NEEDED, "what to do", ("on", "off", "status"), word=True)

    def run(self) -> None:
        """Do what was asked, then say how things stand."""
        from pqpp_hub.start_up import site_folder, status, switch_off, switch_on

        folder = site_folder()
        if self.action == "on":
            switch_on(folder)
        elif self.action == "off":
            switch_off(folder)
        print(status(folder))
