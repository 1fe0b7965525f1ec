"""What a prompt is made of: how hard its words make it, and whether they are English."""
