"""What functions share and is not pure: HTTP in and out, the clock, clients, logs and metrics."""
