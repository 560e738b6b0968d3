"""What a log of attempts holds, readers of files, and the one gate that all logs pass."""
