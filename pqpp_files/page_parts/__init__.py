"""Shared parts of reports: `report_base.html` to extend, macros in `report_parts.html`, a style."""
