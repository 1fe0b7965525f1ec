"""RichHF-18K."""
