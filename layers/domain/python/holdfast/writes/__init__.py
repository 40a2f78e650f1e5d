"""What a safe write is: plans of conditional writes, and how one commit is settled."""
