"""What the owner of a study sees and decides: progress, agreement, people, money, disputes."""
