"""What makes the votes of many people comparable: order, control items, admission."""
