"""What reports share: `report_base.html` to extend, macros in `report_parts.html`, their style."""
