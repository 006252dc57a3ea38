"""What a serving process says on its terminal and in its log."""
