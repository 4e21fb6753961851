"""What is read of a kernel before it runs: its text, its files, its machine code."""
