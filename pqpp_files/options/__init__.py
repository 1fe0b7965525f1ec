"""Options, typed and checked, of trainers, studies and commands: one mechanism."""
